/** Users over all tenants, by the operator (docs/reference/people.md#users). */
import type { CreateUserBody, OperatorRole, UpdateUserBody, UserRole } from '@postrider/contract'
import { type Db, isUniqueViolation, type Tx } from '../../platform/db/index.ts'
import { ApiError, readFields, validationError } from '../../platform/errors.ts'
import { highestOf } from '../../platform/http/sessions/decide-permission.ts'
import type { Membership } from '../../platform/http/sessions/session.ts'
import { newId } from '../../platform/ids.ts'
import { checkName, findTenants } from '../../tenants/index.ts'
import { inviteUser, type LinkDeps } from '../invitations/invitations.ts'
import { decideStanding, type Grantor, type Inviter, type Rights } from './grants.ts'
import { readEmail } from './read-email.ts'
import { inviteAnew, renewInvitation } from './renew-invitation.ts'
import type { StoredUser } from './user.ts'
import {
  deleteUserRow,
  findUser,
  insertUser,
  lockUser,
  setMemberships,
  updateUserFields,
} from './user-store.ts'

export interface Invited {
  readonly user: StoredUser
  readonly invitationUrl: string
}

export async function createUser(
  deps: LinkDeps & { readonly db: Db },
  body: CreateUserBody,
  grantor: Grantor,
): Promise<Invited> {
  const { email, rights } = readFields({
    email: () => readEmail(body.email),
    name: () => checkName(body.name),
    rights: () => rightsOf(body.role, body.tenants ?? [], { content: body.content, grantor }),
  })
  await checkTenants(deps.db, body.tenants ?? [])
  const userId = newId('user')
  return await refuseUsedAddress(() =>
    deps.db.transaction(async (tx) => {
      const inviter = inviterOf(grantor)
      await insertUser(tx, { ...rights, userId, email, name: body.name, inviter })
      await setMemberships(tx, userId, rights.memberships)
      const invitationUrl = await inviteUser(tx, deps, userId)
      return { user: await reread(tx, userId), invitationUrl }
    }),
  )
}

export async function refuseUsedAddress<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    if (!isUniqueViolation(error, 'people_user_email_key')) throw error
    throw new ApiError('conflict', { message: 'There is a user with this address' })
  }
}

function inviterOf(grantor: Grantor): Inviter {
  return { ...grantor, tenantId: null }
}

export interface Changed {
  readonly user: StoredUser
  /** Where the user was invited by somebody who may not give the new rights. */
  readonly invitationUrl: string | undefined
}

/** What is left out stays as it is. A new role is for all tenants of the user. */
export async function updateUser(
  deps: LinkDeps & { readonly db: Db },
  userId: string,
  o: { readonly change: UpdateUserBody; readonly grantor: Grantor },
): Promise<Changed> {
  const { db } = deps
  const { change, grantor } = o
  if (change.name !== undefined) checkName(change.name)
  await checkTenants(db, change.tenants ?? [])
  return await db.transaction(async (tx) => {
    const user = await lockUser(tx, userId)
    if (user === undefined) throw new ApiError('not_found')
    const rights = changedRights(user, change, grantor)
    await updateUserFields(tx, userId, { ...rights, name: change.name ?? user.name })
    await setMemberships(tx, userId, rights.memberships)
    const by = inviterOf(grantor)
    const invitationUrl = await renewInvitation(tx, deps, user, { rights, by })
    return { user: await reread(tx, userId), invitationUrl }
  })
}

/** A new link, for one that was lost or has expired, and for a password that was forgotten. */
export async function inviteUserAnew(
  deps: LinkDeps & { readonly db: Db },
  userId: string,
  grantor: Grantor,
): Promise<Invited> {
  return await deps.db.transaction(async (tx) => {
    const rights = await lockUser(tx, userId)
    if (rights === undefined) throw new ApiError('not_found')
    const invitationUrl = await inviteAnew(tx, deps, userId, { rights, by: inviterOf(grantor) })
    return { user: await reread(tx, userId), invitationUrl }
  })
}

/** The sessions of the user end with it. */
export async function deleteUser({ db }: { readonly db: Db }, userId: string): Promise<void> {
  if (!(await deleteUserRow(db, userId))) throw new ApiError('not_found')
}

async function reread(tx: Tx, userId: string): Promise<StoredUser> {
  const user = await findUser(tx, userId)
  if (user === undefined) throw new ApiError('not_found')
  return user
}

interface Given {
  readonly content: boolean | undefined
  readonly grantor: Grantor
}

export function rightsOf(role: UserRole, tenants: readonly string[], o: Given): Rights {
  if (role === 'operator' || role === 'operator_viewer') {
    refuseTenantsOf(role, tenants)
    const { content } = decideStanding(o.grantor, role, o.content)
    return { operatorRole: role, content, memberships: [] }
  }
  if (tenants.length === 0)
    throw validationError({ path: '/tenants', message: `must name a tenant for the role ${role}` })
  const standing = decideStanding(o.grantor, role, o.content)
  const memberships = tenants.map((tenantId) => ({ tenantId, ...standing }))
  return { operatorRole: null, content: false, memberships }
}

function changedRights(user: StoredUser, change: UpdateUserBody, grantor: Grantor): Rights {
  const tenants = change.tenants ?? user.memberships.map(({ tenantId }) => tenantId)
  const { content, role } = change
  if (role !== undefined) {
    const isOperator = role === 'operator' || role === 'operator_viewer'
    return rightsOf(role, isOperator ? (change.tenants ?? []) : tenants, { content, grantor })
  }
  const { operatorRole } = user
  if (operatorRole !== null) {
    refuseTenantsOf(operatorRole, change.tenants ?? [])
    return content === undefined ? user : rightsOf(operatorRole, [], { content, grantor })
  }
  if (tenants.length === 0 && change.tenants !== undefined)
    throw validationError({ path: '/tenants', message: 'must name a tenant, or delete the user' })
  const memberships = tenants.map((tenantId) => changedMembership(user, tenantId, change, grantor))
  return { operatorRole: null, content: false, memberships }
}

/** In a further tenant, a user has the highest role of the others. */
function changedMembership(
  { memberships }: StoredUser,
  tenantId: string,
  change: UpdateUserBody,
  grantor: Grantor,
): Membership {
  const known = memberships.find((one) => one.tenantId === tenantId)
  if (known !== undefined && change.content === undefined) return known
  const role = known?.role ?? highestOf(memberships.map((one) => one.role))
  if (role === undefined)
    throw validationError({ path: '/role', message: 'is required for the first tenant of a user' })
  return { tenantId, ...decideStanding(grantor, role, change.content) }
}

function refuseTenantsOf(role: OperatorRole, tenants: readonly string[]): void {
  if (tenants.length === 0) return
  throw validationError({ path: '/tenants', message: `must be left out: ${role} has all tenants` })
}

async function checkTenants(db: Db, tenants: readonly string[]): Promise<void> {
  if (tenants.length === 0) return
  const known = await findTenants(db, tenants)
  const errors = tenants.flatMap((tenantId, i) => {
    const state = known.get(tenantId)?.state
    const path = `/tenants/${i}`
    if (state === undefined) return [{ path, message: `${tenantId} is not the id of a tenant` }]
    return state === 'deleting' ? [{ path, message: `${tenantId} is being deleted` }] : []
  })
  if (errors.length > 0) throw validationError(...errors)
}
