/**
 * Links by which a person sets a password (docs/reference/people.md#invitations): an invitation, or the set-up
 * link, which makes the first user.
 */
import type { Db, Tx } from '../../platform/db/index.ts'
import { newToken } from '../sessions/token.ts'
import { lockUser, lockUsers } from '../users/user-store.ts'
import { insertInvitation, insertSetupLink } from './invitation-store.ts'

const INVITATION_TTL_MS = 7 * 24 * 3_600_000
const SETUP_TTL_MS = 3_600_000

export interface LinkDeps {
  readonly publicUrl: string
}

/** Earlier links of the user open nothing any more. */
export async function inviteUser(tx: Tx, { publicUrl }: LinkDeps, userId: string): Promise<string> {
  const { token, tokenHash } = newToken()
  await lockUser(tx, userId)
  await insertInvitation(tx, { tokenHash, userId, ttlMs: INVITATION_TTL_MS })
  return linkOf(publicUrl, 'invitation', token)
}

/** A further link, for a user who lost the first one or the password. */
export async function inviteAgain(
  deps: LinkDeps & { readonly db: Db },
  userId: string,
): Promise<string> {
  return await deps.db.transaction((tx) => inviteUser(tx, deps, userId))
}

/** Undefined when there is a user already. */
export async function createSetupLink(
  deps: LinkDeps & { readonly db: Db },
): Promise<string | undefined> {
  const { token, tokenHash } = newToken()
  const isMade = await deps.db.transaction(async (tx) => {
    await lockUsers(tx)
    return await insertSetupLink(tx, { tokenHash, ttlMs: SETUP_TTL_MS })
  })
  return isMade ? linkOf(deps.publicUrl, 'setup', token) : undefined
}

/** Behind `#`, so that no server and no log of one sees the token. */
function linkOf(publicUrl: string, page: 'invitation' | 'setup', token: string): string {
  return `${publicUrl.replace(/\/+$/, '')}/app/${page}#${token}`
}
