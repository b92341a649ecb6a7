/**
 * Uses up a link and sets the password (docs/reference/people.md#invitations). The set-up link makes the first
 * user, an operator; it opens nothing once there is a user.
 */
import type { AcceptInvitationBody } from '@postrider/contract'
import type { ConcurrencyLimiter } from '@postrider/runtime/concurrency-limiter'
import type { Db, Tx } from '../../platform/db/index.ts'
import { ApiError, validationError } from '../../platform/errors.ts'
import { newId } from '../../platform/ids.ts'
import { networkOf } from '../../platform/limits/address-network.ts'
import type { FailureBudget } from '../../platform/limits/failure-budget.ts'
import { checkName } from '../../tenants/index.ts'
import { type CallOrigin, recordAccess } from '../record-access.ts'
import { hashPassword } from '../sessions/password.ts'
import { deleteSessionsOf } from '../sessions/session-store.ts'
import { hashToken } from '../sessions/token.ts'
import { readEmail } from '../users/read-email.ts'
import type { StoredUser } from '../users/user.ts'
import {
  findUser,
  hasAnyUser,
  insertUser,
  lockUser,
  lockUsers,
  noteLoginNetwork,
  setPassword,
} from '../users/user-store.ts'
import { findInvitation, type Invitation, takeInvitation } from './invitation-store.ts'

export interface AcceptDeps {
  readonly db: Db
  readonly hashing: ConcurrencyLimiter
  readonly wrongLinks: FailureBudget
}

export async function acceptInvitation(
  deps: AcceptDeps,
  body: AcceptInvitationBody,
  from: CallOrigin,
): Promise<StoredUser> {
  const tokenHash = hashToken(body.token)
  const network = networkOf(from.address)
  // The look-up waits for its turn, too: guesses leave the database to others.
  const { first, passwordHash, userId } = await deps.hashing.run(network, async () => {
    const invitation = await findInvitation(deps.db, tokenHash)
    if (invitation === undefined) throw deps.wrongLinks.note(from.address) ?? gone()
    const first = readFirstUser(body, invitation)
    return { ...invitation, first, passwordHash: await hashPassword(body.password) }
  })
  return await deps.db.transaction(async (tx) => {
    // Before the link's row: everybody locks users first, and nobody waits in a circle.
    await (userId === null ? lockUsers(tx) : lockUser(tx, userId))
    const taken = await takeInvitation(tx, tokenHash)
    if (taken === undefined) throw gone()
    const ownId =
      taken.userId === null
        ? await makeFirstUser(tx, { ...first, passwordHash })
        : await activate(tx, taken.userId, passwordHash)
    await noteLoginNetwork(tx, ownId, network)
    const user = await findUser(tx, ownId)
    if (user === undefined) throw gone()
    await recordAccess(tx, user, { operation: 'acceptInvitation', status: 200 }, { from })
    return user
  })
}

/** Sessions of before a new password end. */
async function activate(tx: Tx, userId: string, passwordHash: string): Promise<string> {
  await setPassword(tx, userId, passwordHash)
  await deleteSessionsOf(tx, userId)
  return userId
}

async function makeFirstUser(
  tx: Tx,
  o: { readonly email?: string; readonly name?: string; readonly passwordHash: string },
): Promise<string> {
  if (await hasAnyUser(tx)) throw gone()
  const { email = '', name = '', passwordHash } = o
  const userId = newId('user')
  const rights = { operatorRole: 'operator', content: true } as const
  await insertUser(tx, { userId, email, name, ...rights, passwordHash })
  return userId
}

/** Whom an invitation is for is known: only the set-up link asks. */
function readFirstUser(
  { email, name }: AcceptInvitationBody,
  { userId }: Invitation,
): { readonly email: string; readonly name: string } | undefined {
  const given = { email, name }
  if (userId === null) {
    if (email !== undefined && name !== undefined) {
      checkName(name)
      return { email: readEmail(email), name }
    }
    const missing = Object.entries(given).filter(([, value]) => value === undefined)
    throw validationError(
      ...missing.map(([field]) => ({ path: `/${field}`, message: 'is required by this link' })),
    )
  }
  const surplus = Object.entries(given).filter(([, value]) => value !== undefined)
  if (surplus.length === 0) return undefined
  throw validationError(
    ...surplus.map(([field]) => ({ path: `/${field}`, message: 'is not taken by an invitation' })),
  )
}

function gone(): ApiError {
  return new ApiError('not_found', {
    message: 'This link is unknown, was used, or has expired: ask for another one',
  })
}
