/**
 * The user of a checked ID token (docs/reference/people.md#oidc). The provider's `iss` and `sub` name the user;
 * an address names one only at the first login, and only if the provider has verified the address. The rights
 * follow the role claim at each login.
 */
import type { Db, Tx } from '../../platform/db/index.ts'
import { isForeignKeyViolation } from '../../platform/db/index.ts'
import { ApiError } from '../../platform/errors.ts'
import { hasContentByDefault } from '../../platform/http/sessions/decide-permission.ts'
import { newId } from '../../platform/ids.ts'
import type { Logger } from '../../platform/log.ts'
import { recordAudit } from '../../tenants/index.ts'
import { deleteInvitationsOf } from '../invitations/invitation-store.ts'
import { type CallOrigin, recordFailure } from '../record-access.ts'
import { deleteSessionsOf } from '../sessions/session-store.ts'
import { refuseUsedAddress } from '../users/change-users.ts'
import { readEmail } from '../users/read-email.ts'
import type { StoredUser } from '../users/user.ts'
import {
  findUser,
  findUserByEmail,
  findUserByOidc,
  insertUser,
  linkOidc,
  lockUser,
  removePassword,
  setMemberships,
  updateUserFields,
} from '../users/user-store.ts'
import { type ClaimedRights, decideRights } from './decide-rights.ts'

type Claims = Readonly<Record<string, unknown>>

interface Identity {
  readonly issuer: string
  readonly subject: string
  readonly email: string | undefined
  readonly isVerified: boolean
  readonly name: string | undefined
}

const NAME_CHARS_MAX = 200

export interface OidcLoginDeps {
  readonly db: Db
  readonly log: Logger
  readonly roleClaim: string
}

/** Of the audit log: it is no operation. */
export const oidcCallback = 'GET /ui/oidc/callback'

/** The user, who is made or changed as the claims say. */
export async function userOfClaims(
  deps: OidcLoginDeps,
  claims: Claims,
  from: CallOrigin,
): Promise<StoredUser> {
  const identity = readIdentity(claims)
  const work = (tx: Tx) => applyClaims(tx, identity, { claim: claims[deps.roleClaim], from })
  try {
    return await refuseUsedAddress(() => deps.db.transaction(work))
  } catch (error) {
    const refusal = isForeignKeyViolation(error)
      ? refuse('the role claim names a tenant that does not exist')
      : error
    if (refusal instanceof ApiError && refusal.code === 'forbidden')
      await endRefusedUser(deps, identity, from)
    throw refusal
  }
}

/** The provider names the user, and gives no rights any more: what is open ends, too. */
async function endRefusedUser(
  deps: OidcLoginDeps,
  identity: Identity,
  from: CallOrigin,
): Promise<void> {
  const user = await findUserByOidc(deps.db, identity)
  if (user === undefined) return
  await deleteSessionsOf(deps.db, user.userId)
  recordFailure(deps, user.email, { operation: oidcCallback, status: 403 }, from)
}

async function applyClaims(
  tx: Tx,
  identity: Identity,
  { claim, from }: { readonly claim: unknown; readonly from: CallOrigin },
): Promise<StoredUser> {
  const linked = await findUserByOidc(tx, identity)
  const known = linked ?? (await findByAddress(tx, identity))
  const user = known === undefined ? undefined : await lockUser(tx, known.userId)
  const own = user?.memberships.map(({ tenantId }) => tenantId) ?? []
  const rights = decideRights(claim, own)
  if (typeof rights === 'string') throw refuse(rights)
  const userId = user?.userId ?? newId('user')
  const fields = fieldsOf(identity, rights, user)
  if (user === undefined) await insertUser(tx, { ...fields, userId, email: emailOf(identity) })
  else await updateUserFields(tx, userId, fields)
  if (linked === undefined || user?.inviter != null) await endOtherLogins(tx, userId)
  await linkOidc(tx, userId, identity)
  await setMemberships(tx, userId, membershipsOf(rights, user))
  const after = await findUser(tx, userId)
  if (after === undefined) throw new Error('the user of a login is gone')
  await recordChange(tx, { before: user, after, from })
  return after
}

/** In each tenant where the role is another one, and the operator's for a role over all tenants. */
async function recordChange(
  tx: Tx,
  o: {
    readonly before: StoredUser | undefined
    readonly after: StoredUser
    readonly from: CallOrigin
  },
): Promise<void> {
  const { after, before, from } = o
  const roleIn = (user: StoredUser | undefined, tenantId: string) =>
    user?.memberships.find((one) => one.tenantId === tenantId)?.role
  const all = [...(before?.memberships ?? []), ...after.memberships].map((one) => one.tenantId)
  const changed = [...new Set(all)].filter((id) => roleIn(before, id) !== roleIn(after, id))
  const isOperators = (before?.operatorRole ?? null) !== after.operatorRole
  const operation = before === undefined ? 'createUser' : 'updateUser'
  const entry = { operation, status: 200 }
  const record = (tenantIds: readonly string[]) =>
    recordAudit(tx, {
      ...{ tenantIds, actor: 'oidc', ...entry, target: after.userId },
      ...{ from: from.address, requestId: from.requestId },
    })
  if (changed.length > 0) await record(changed)
  if (isOperators) await record([])
}

/** Who invited the user, before or anew, may have used the link: what was set by it must not get the rights. */
async function endOtherLogins(tx: Tx, userId: string): Promise<void> {
  await removePassword(tx, userId)
  await deleteInvitationsOf(tx, userId)
  await deleteSessionsOf(tx, userId)
}

async function findByAddress(tx: Tx, identity: Identity): Promise<StoredUser | undefined> {
  if (identity.email === undefined) return undefined
  const same = await findUserByEmail(tx, emailOf(identity))
  if (same === undefined) return undefined
  if (!identity.isVerified)
    throw refuse('there is a user with this address, which the provider has not verified')
  if (same.isLinked) throw refuse('the user with this address is another one at the provider')
  return same
}

function fieldsOf(identity: Identity, { operatorRole }: ClaimedRights, user?: StoredUser) {
  const isSame = user !== undefined && user.operatorRole === (operatorRole ?? null)
  return {
    name: identity.name ?? user?.name ?? identity.email ?? identity.subject,
    operatorRole: operatorRole ?? null,
    content: isSame ? user.content : operatorRole === 'operator',
  }
}

/** Whether content is read stays as it is, while the role does. */
function membershipsOf({ roles }: ClaimedRights, user?: StoredUser) {
  return [...roles].map(([tenantId, role]) => {
    const before = user?.memberships.find((one) => one.tenantId === tenantId)
    const content = before?.role === role ? before.content : hasContentByDefault(role)
    return { tenantId, role, content }
  })
}

function readIdentity({ iss, sub, email, email_verified, name }: Claims): Identity {
  if (typeof iss !== 'string' || typeof sub !== 'string') throw refuse('the token names nobody')
  const given =
    typeof name === 'string' ? name.replaceAll(/[\p{Cc}\p{Zl}\p{Zp}]/gu, ' ').trim() : ''
  return {
    issuer: iss,
    subject: sub,
    email: typeof email === 'string' ? email : undefined,
    isVerified: email_verified === true,
    name: given === '' ? undefined : given.slice(0, NAME_CHARS_MAX),
  }
}

function emailOf({ email }: Identity): string {
  if (email === undefined) throw refuse('the token has no email')
  try {
    return readEmail(email)
  } catch {
    throw refuse('the email of the token is no address')
  }
}

function refuse(why: string): ApiError {
  return new ApiError('forbidden', { message: `The login by OIDC is refused: ${why}` })
}
