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
import { deleteInvitationsOf } from '../invitations/invitation-store.ts'
import { deleteSessionsOf } from '../sessions/session-store.ts'
import { refuseUsedAddress } from '../users/change-users.ts'
import { readEmail } from '../users/read-email.ts'
import type { StoredUser } from '../users/user.ts'
import {
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

/** Answers the id of the user, who is made or changed as the claims say. */
export async function userOfClaims(
  { db, roleClaim }: { readonly db: Db; readonly roleClaim: string },
  claims: Claims,
): Promise<string> {
  const identity = readIdentity(claims)
  const work = (tx: Tx) => applyClaims(tx, identity, claims[roleClaim])
  return await refuseUsedAddress(() => db.transaction(work)).catch((error: unknown) => {
    if (!isForeignKeyViolation(error)) throw error
    throw refuse('the role claim names a tenant that does not exist')
  })
}

async function applyClaims(tx: Tx, identity: Identity, claim: unknown): Promise<string> {
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
  if (linked === undefined) await endOtherLogins(tx, userId)
  await linkOidc(tx, userId, identity)
  await setMemberships(tx, userId, membershipsOf(rights, user))
  return userId
}

/** An owner who invited the address may have used the link: what was set by it must not get the rights. */
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
