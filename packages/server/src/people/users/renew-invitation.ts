/**
 * The inviter of a user had the link, and may have set the password. So a user who gets rights that the inviter may
 * not give is invited anew, by the one who gives them (docs/reference/people.md#a-higher-role).
 */
import type { Tx } from '../../platform/db/index.ts'
import { ApiError } from '../../platform/errors.ts'
import { inviteUser, type LinkDeps } from '../invitations/invitations.ts'
import { deleteSessionsOf } from '../sessions/session-store.ts'
import { type Inviter, mayGiveAll, type Rights } from './grants.ts'
import type { StoredUser } from './user.ts'
import { removePassword, setInviter } from './user-store.ts'

/** Answers the new link, if there is one: the password and the sessions have ended then. */
export async function renewInvitation(
  tx: Tx,
  deps: LinkDeps,
  { userId, inviter }: StoredUser,
  { rights, by }: { readonly rights: Rights; readonly by: Inviter },
): Promise<string | undefined> {
  if (inviter === null || mayGiveAll(inviter, rights)) return undefined
  return await inviteAnew(tx, deps, userId, { rights, by })
}

/** The one who has the new link can set the password, and so must be one who may give all that the user has. */
export async function inviteAnew(
  tx: Tx,
  deps: LinkDeps,
  userId: string,
  { rights, by }: { readonly rights: Rights; readonly by: Inviter },
): Promise<string> {
  if (!mayGiveAll(by, rights))
    throw new ApiError('forbidden', {
      message:
        'With these rights the user needs a new invitation, and that is made by somebody who may give all rights of the user: ask the operator',
    })
  await removePassword(tx, userId)
  await deleteSessionsOf(tx, userId)
  await setInviter(tx, userId, by)
  return await inviteUser(tx, deps, userId)
}
