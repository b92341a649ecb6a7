/**
 * The members of one tenant, by its owners (docs/reference/people.md#members). A tenant sees and changes the
 * role in that tenant alone, whatever other tenants the user has.
 */
import { type CreateMemberBody, membersMax, type UpdateMemberBody } from '@postrider/contract'
import type { Db, Tx } from '../../platform/db/index.ts'
import { ApiError, readFields } from '../../platform/errors.ts'
import type { Membership } from '../../platform/http/sessions/session.ts'
import { newId } from '../../platform/ids.ts'
import { checkName } from '../../tenants/index.ts'
import { inviteUser, type LinkDeps } from '../invitations/invitations.ts'
import { type Changed, type Invited, refuseUsedAddress } from './change-users.ts'
import { decideStanding, type Grantor, type Inviter } from './grants.ts'
import { readEmail } from './read-email.ts'
import { inviteAnew, renewInvitation } from './renew-invitation.ts'
import type { StoredUser } from './user.ts'
import {
  countMembers,
  deleteMembership,
  deleteUserRow,
  findUser,
  insertUser,
  lockOwners,
  lockUser,
  putMembership,
} from './user-store.ts'

export interface MemberKey {
  readonly tenantId: string
  readonly userId: string
}

export interface MemberChange {
  readonly grantor: Grantor
  /** The operator may leave a tenant without an owner. */
  readonly isOperators: boolean
}

export async function createMember(
  deps: LinkDeps & { readonly db: Db },
  tenantId: string,
  o: MemberChange & { readonly body: CreateMemberBody },
): Promise<Invited & { readonly membership: Membership }> {
  const { body, grantor } = o
  const { email } = readFields({
    email: () => readEmail(body.email),
    name: () => checkName(body.name),
  })
  const membership = { tenantId, ...decideStanding(grantor, body.role, body.content) }
  // Two at once may make one too many.
  if ((await countMembers(deps.db, tenantId, membersMax)) >= membersMax)
    throw new ApiError('conflict', { message: `A tenant may have ${membersMax} members` })
  const userId = newId('user')
  return await refuseUsedAddress(() =>
    deps.db.transaction(async (tx) => {
      const fields = { userId, email, name: body.name, operatorRole: null, content: false }
      await insertUser(tx, { ...fields, inviter: inviterOf(tenantId, o) })
      await putMembership(tx, userId, membership)
      const invitationUrl = await inviteUser(tx, deps, userId)
      const user = await findUser(tx, userId)
      if (user === undefined) throw new ApiError('not_found')
      return { user, membership, invitationUrl }
    }),
  )
}

function inviterOf(tenantId: string, { grantor, isOperators }: MemberChange): Inviter {
  return { ...grantor, tenantId: isOperators ? null : tenantId }
}

export async function updateMember(
  deps: LinkDeps & { readonly db: Db },
  { tenantId, userId }: MemberKey,
  o: MemberChange & { readonly change: UpdateMemberBody },
): Promise<Changed & { readonly membership: Membership }> {
  const { change, grantor, isOperators } = o
  return await deps.db.transaction(async (tx) => {
    const user = await lockUser(tx, userId)
    const owners = await lockOwners(tx, tenantId)
    if (user === undefined) throw new ApiError('not_found')
    const known = membershipIn(user, tenantId)
    const role = change.role ?? known.role
    // A new role has its own default; what was given before stays with the role.
    const content = change.content ?? (change.role === undefined ? known.content : undefined)
    const isSame = role === known.role && content === known.content
    const membership = isSame ? known : { tenantId, ...decideStanding(grantor, role, content) }
    if (role !== 'owner' && !isOperators) refuseLastOwner(owners, userId)
    await putMembership(tx, userId, membership)
    const others = user.memberships.filter((one) => one.tenantId !== tenantId)
    const rights = { ...user, memberships: [...others, membership] }
    const by = inviterOf(tenantId, o)
    const invitationUrl = await renewInvitation(tx, deps, user, { rights, by })
    return { user: (await findUser(tx, userId)) ?? user, membership, invitationUrl }
  })
}

/** A new link for a person who has no password yet. One who has may be in use: the operator invites such a user. */
export async function inviteMemberAnew(
  deps: LinkDeps & { readonly db: Db },
  { tenantId, userId }: MemberKey,
  o: MemberChange,
): Promise<Invited & { readonly membership: Membership }> {
  return await deps.db.transaction(async (tx) => {
    const user = await lockUser(tx, userId)
    const membership = membershipIn(user, tenantId)
    if (user === undefined) throw new ApiError('not_found')
    if (user.activatedAt !== null)
      throw new ApiError('conflict', {
        message:
          'This person has set a password already: ask the operator for a new invitation, or remove the person and invite again',
      })
    const invitationUrl = await inviteAnew(tx, deps, userId, {
      rights: user,
      by: inviterOf(tenantId, o),
    })
    return { user, membership, invitationUrl }
  })
}

/** A user without a tenant left is deleted, so that the address can be invited again. */
export async function deleteMember(
  { db }: { readonly db: Db },
  key: MemberKey,
  { isOperators }: Pick<MemberChange, 'isOperators'>,
): Promise<void> {
  const { tenantId, userId } = key
  await db.transaction(async (tx: Tx) => {
    const user = await lockUser(tx, userId)
    const owners = await lockOwners(tx, tenantId)
    membershipIn(user, tenantId)
    if (!isOperators) refuseLastOwner(owners, userId)
    if (user?.memberships.length === 1 && user.operatorRole === null)
      await deleteUserRow(tx, userId)
    else await deleteMembership(tx, key)
  })
}

function membershipIn(user: StoredUser | undefined, tenantId: string): Membership {
  const membership = user?.memberships.find((one) => one.tenantId === tenantId)
  if (membership === undefined) throw new ApiError('not_found')
  return membership
}

function refuseLastOwner(owners: readonly string[], userId: string): void {
  if (owners.length !== 1 || owners[0] !== userId) return
  throw new ApiError('conflict', {
    message: 'This is the last owner who can log in. Make another owner first, or ask the operator',
  })
}
