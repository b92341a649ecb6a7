/**
 * DELETE of a username: its local part is refused from then on, or taken by the domain, when it was the
 * last one. Mail that was accepted is still recorded.
 */
import { ApiError } from '../../../platform/errors.ts'
import { deleteIncoming } from '../../../webhooks/index.ts'
import type { InboundDeps } from '../configure-routing.ts'
import type { RoutedUsername } from '../domain.ts'
import { lockDomain } from '../domain-store.ts'
import { ownerOf } from '../owner.ts'
import { findUsername, readUsername } from './read-username.ts'
import { deleteUsername } from './username-store.ts'

/** As it was. */
export async function deleteInboundUsername(
  deps: Pick<InboundDeps, 'db' | 'wakeups'>,
  tenantId: string,
  names: { readonly domain: string; readonly username: string },
): Promise<RoutedUsername> {
  const { username: found } = await readUsername(deps.db, tenantId, names)
  const { deleted, touched } = await deps.db.transaction(async (tx) => {
    if ((await lockDomain(tx, found)) === undefined) throw new ApiError('not_found')
    const before = await findUsername(tx, found)
    await deleteUsername(tx, found)
    const owners = before.username.hasWebhook ? [ownerOf(found.domain, found.username)] : []
    return { deleted: before, touched: await deleteIncoming(tx, { tenantId, owners }) }
  })
  deps.wakeups.wake(touched)
  return deleted
}
