/**
 * DELETE of an inbound domain: no mail is accepted for it from then on, whoever may claim it next. Its usernames
 * go with it, and the webhooks of all of them; mail that was accepted is still recorded.
 */
import { ApiError } from '../platform/errors.ts'
import { deleteIncoming } from '../webhooks/index.ts'
import type { InboundDeps } from './configure-routing.ts'
import type { RoutedDomain } from './domain.ts'
import { deleteDomain, lockDomain } from './domain-store.ts'
import { ownerOf } from './owner.ts'
import { readDomain, withWebhook } from './read-domain.ts'
import { usernamesWithWebhooks } from './username-store.ts'

/** As it was. */
export async function deleteInboundDomain(
  deps: Pick<InboundDeps, 'db' | 'wakeups'>,
  tenantId: string,
  name: string,
): Promise<RoutedDomain> {
  const { domain: found } = await readDomain(deps.db, tenantId, name)
  const { deleted, touched } = await deps.db.transaction(async (tx) => {
    const locked = await lockDomain(tx, found)
    if (locked === undefined) throw new ApiError('not_found')
    const before = await withWebhook(tx, locked)
    const { domain } = locked
    const usernames = await usernamesWithWebhooks(tx, locked, { isFollowing: false })
    const owners = ['', ...usernames].map((username) => ownerOf(domain, username))
    const streams = await deleteIncoming(tx, { tenantId, owners })
    await deleteDomain(tx, locked)
    return { deleted: before, touched: streams }
  })
  deps.wakeups.wake(touched)
  return deleted
}
