/**
 * SQL of users and of their roles in tenants. Users are the operator's: a statement without a tenant is one
 * about the user itself. What a tenant sees and changes names the tenant.
 */
import type { OperatorRole } from '@postrider/contract'
import { type Queryable, statement, type Tx } from '../../platform/db/index.ts'
import type { Membership } from '../../platform/http/sessions/session.ts'
import { isTenantThere } from '../../tenants/index.ts'
import { deleteSetupLinks } from '../invitations/invitation-store.ts'
import type { Inviter } from './grants.ts'
import type { StoredUser } from './user.ts'

/** Without tenants that are being deleted: nobody calls for these any more. */
export const MEMBERSHIPS = `(select coalesce(json_agg(json_build_object(
      'tenantId', m.tenant_id, 'role', m.role, 'content', m.content) order by m.tenant_id), '[]')
     from people_member m
    where m.user_id = u.user_id and ${isTenantThere('m.tenant_id')}) as memberships`

const COLUMNS = `u.user_id as "userId", u.email, u.name, u.operator_role as "operatorRole", u.content, u.inviter,
  u.created_at as "createdAt", u.activated_at as "activatedAt", ${MEMBERSHIPS}`

export async function hasAnyUser(q: Queryable): Promise<boolean> {
  const { rows } = await q.query('select from people_user limit 1')
  return rows.length > 0
}

/** Until the transaction ends nobody else makes one, so "there is none" stays true. */
export async function lockUsers(tx: Tx): Promise<void> {
  await tx.query('lock table people_user in share row exclusive mode')
}

export interface NewUser {
  readonly userId: string
  readonly email: string
  readonly name: string
  readonly operatorRole: OperatorRole | null
  readonly content: boolean
  /** Undefined: nobody else has a link. */
  readonly inviter?: Inviter
  readonly passwordHash?: string
}

/** Once there is a user, no set-up link opens anything, whatever becomes of the user. */
export async function insertUser(tx: Tx, user: NewUser): Promise<void> {
  await tx.query(
    `insert into people_user (user_id, email, name, operator_role, content, password_hash, inviter, activated_at)
     values ($1, $2, $3, $4, $5, $6, $7, case when $6::text is null then null else now() end)`,
    [
      ...[user.userId, user.email, user.name, user.operatorRole, user.content],
      ...[user.passwordHash ?? null, user.inviter === undefined ? null : toJson(user.inviter)],
    ],
  )
  await deleteSetupLinks(tx)
}

function toJson({ tenantId, isOwner, scopes }: Inviter): string {
  return JSON.stringify({ tenantId, isOwner, scopes })
}

/** The one who has the next link. */
export async function setInviter(tx: Tx, userId: string, inviter: Inviter): Promise<void> {
  const values = [userId, toJson(inviter)]
  await tx.query('update people_user set inviter = $2 where user_id = $1', values)
}

/** Replaces what there is. */
export async function setMemberships(
  tx: Tx,
  userId: string,
  memberships: readonly Membership[],
): Promise<void> {
  await tx.query(
    'delete from people_member where user_id = $1 and not (tenant_id = any($2::text[]))',
    [userId, memberships.map(({ tenantId }) => tenantId)],
  )
  for (const membership of memberships) await putMembership(tx, userId, membership)
}

export async function putMembership(
  tx: Tx,
  userId: string,
  { tenantId, role, content }: Membership,
): Promise<void> {
  await tx.query(
    `insert into people_member (tenant_id, user_id, role, content) values ($1, $2, $3, $4)
     on conflict (tenant_id, user_id) do update set role = excluded.role, content = excluded.content`,
    [tenantId, userId, role, content],
  )
}

export async function deleteMembership(
  tx: Tx,
  { tenantId, userId }: { readonly tenantId: string; readonly userId: string },
): Promise<void> {
  await tx.query('delete from people_member where tenant_id = $1 and user_id = $2', [
    tenantId,
    userId,
  ])
}

export async function updateUserFields(
  tx: Tx,
  userId: string,
  o: Pick<NewUser, 'name' | 'operatorRole' | 'content'>,
): Promise<void> {
  await tx.query(
    'update people_user set name = $2, operator_role = $3, content = $4 where user_id = $1',
    [userId, o.name, o.operatorRole, o.content],
  )
}

export async function deleteUserRow(q: Queryable, userId: string): Promise<boolean> {
  return (await q.query('delete from people_user where user_id = $1', [userId])).rowCount === 1
}

const FIND_USER = statement(
  'people.find_user',
  `select ${COLUMNS} from people_user u where u.user_id = $1`,
)

export async function findUser(q: Queryable, userId: string): Promise<StoredUser | undefined> {
  return (await q.query<StoredUser>(FIND_USER, [userId])).rows[0]
}

/** Changes of one user take turns. Before any other lock, so that nobody waits in a circle. */
export async function lockUser(tx: Tx, userId: string): Promise<StoredUser | undefined> {
  await tx.query('select from people_user where user_id = $1 for update', [userId])
  return await findUser(tx, userId)
}

const FIND_BY_EMAIL = statement(
  'people.find_user_by_email',
  `select ${COLUMNS}, u.password_hash as "passwordHash", u.login_networks as "loginNetworks",
          u.oidc_subject is not null as "isLinked"
     from people_user u where u.email = $1`,
)

export interface LoginUser extends StoredUser {
  readonly passwordHash: string | null
  readonly loginNetworks: readonly string[]
  /** The user logs in by OIDC. */
  readonly isLinked: boolean
}

export async function findUserByEmail(q: Queryable, email: string): Promise<LoginUser | undefined> {
  return (await q.query<LoginUser>(FIND_BY_EMAIL, [email])).rows[0]
}

export async function listUserRows(
  q: Queryable,
  o: { readonly before: string | undefined; readonly limit: number },
): Promise<StoredUser[]> {
  const { rows } = await q.query<StoredUser>(
    `select ${COLUMNS} from people_user u
      where $1::text is null or u.user_id < $1 order by u.user_id desc limit $2`,
    [o.before ?? null, o.limit],
  )
  return rows
}

export async function listMemberRows(
  q: Queryable,
  tenantId: string,
  o: { readonly before: string | undefined; readonly limit: number },
): Promise<StoredUser[]> {
  const { rows } = await q.query<StoredUser>(
    `select ${COLUMNS} from people_member own join people_user u using (user_id)
      where own.tenant_id = $1 and ($2::text is null or own.user_id < $2)
      order by own.user_id desc limit $3`,
    [tenantId, o.before ?? null, o.limit],
  )
  return rows
}

/** Counts no further than `max`. */
export async function countMembers(q: Queryable, tenantId: string, max: number): Promise<number> {
  const { rows } = await q.query<{ readonly count: number }>(
    `select count(*)::int as count from (
       select from people_member where tenant_id = $1 limit $2) members`,
    [tenantId, max],
  )
  return rows[0]?.count ?? 0
}

/** The owners of a tenant who can log in; until the transaction ends nobody else changes them. */
export async function lockOwners(tx: Tx, tenantId: string): Promise<readonly string[]> {
  const { rows } = await tx.query<{ readonly userId: string }>(
    `select m.user_id as "userId" from people_member m join people_user u using (user_id)
      where m.tenant_id = $1 and m.role = 'owner' and u.activated_at is not null
      order by m.user_id for update of m`,
    [tenantId],
  )
  return rows.map(({ userId }) => userId)
}

export async function setPassword(tx: Tx, userId: string, passwordHash: string): Promise<void> {
  await tx.query(
    `update people_user set password_hash = $2, activated_at = coalesce(activated_at, now())
      where user_id = $1`,
    [userId, passwordHash],
  )
}

/** The user is invited from then on, until a password is set or the provider names the user. */
export async function removePassword(tx: Tx, userId: string): Promise<void> {
  await tx.query(
    'update people_user set password_hash = null, activated_at = null where user_id = $1',
    [userId],
  )
}

const NETWORKS_MAX = 10

/** The newest first. */
export async function noteLoginNetwork(q: Queryable, userId: string, network: string) {
  await q.query(
    `update people_user
        set login_networks = (array_prepend($2::text, array_remove(login_networks, $2)))[1:${NETWORKS_MAX}]
      where user_id = $1 and login_networks[1] is distinct from $2`,
    [userId, network],
  )
}

export interface OidcIdentity {
  readonly issuer: string
  readonly subject: string
}

export async function findUserByOidc(
  q: Queryable,
  { issuer, subject }: OidcIdentity,
): Promise<StoredUser | undefined> {
  const { rows } = await q.query<StoredUser>(
    `select ${COLUMNS} from people_user u where u.oidc_issuer = $1 and u.oidc_subject = $2`,
    [issuer, subject],
  )
  return rows[0]
}

export async function linkOidc(tx: Tx, userId: string, o: OidcIdentity): Promise<void> {
  await tx.query(
    `update people_user
        set oidc_issuer = $2, oidc_subject = $3, activated_at = coalesce(activated_at, now()),
            inviter = null
      where user_id = $1`,
    [userId, o.issuer, o.subject],
  )
}

const NOTE_FAILURE = statement(
  'people.note_login_failure',
  `update people_user set login_failure_noted_at = now()
    where email = $1
      and (login_failure_noted_at is null or login_failure_noted_at < now() - interval '1 hour')
   returning user_id as "userId"`,
)

/** Answers the user of the address, when none was noted for an hour. */
export async function noteLoginFailure(tx: Tx, email: string): Promise<string | undefined> {
  return (await tx.query<{ readonly userId: string }>(NOTE_FAILURE, [email])).rows[0]?.userId
}
