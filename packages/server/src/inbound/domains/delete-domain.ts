/**
 * DELETE of an inbound domain: no mail is accepted for it from then on, whichever tenant owns it next. Its usernames
 * go with it, and the webhooks of all of them, and it is no mailer's return path any more; mail that was accepted is still recorded.
 */
import { forgetReturnPath } from '../../mailers/index.ts'
import { ApiError } from '../../platform/errors.ts'
import { deleteIncoming } from '../../webhooks/index.ts'
import type { InboundDeps } from './configure-routing.ts'
import type { RoutedDomain } from './domain.ts'
import { deleteDomain, lockDomain } from './domain-store.ts'
import { ownerOf } from './owner.ts'
import { readDomain, withWebhook } from './read-domain.ts'
import { usernamesWithWebhooks } from './usernames/username-store.ts'

/** As it was. */
export async function deleteInboundDomain(
  deps: Pick<InboundDeps, 'db' | 'log' | 'wakeups'>,
  tenantId: string,
  name: string,
): Promise<RoutedDomain> {
  const { domain: found } = await readDomain(deps.db, tenantId, name)
  const { deleted, touched, mailers } = await deps.db.transaction(async (tx) => {
    const locked = await lockDomain(tx, found)
    if (locked === undefined) throw new ApiError('not_found')
    const before = await withWebhook(tx, locked)
    const { domain } = locked
    const usernames = await usernamesWithWebhooks(tx, locked, { isFollowing: false })
    const owners = ['', ...usernames].map((username) => ownerOf(domain, username))
    const streams = await deleteIncoming(tx, { tenantId, owners })
    await deleteDomain(tx, locked)
    const unset = await forgetReturnPath(tx, locked)
    return { deleted: before, touched: streams, mailers: unset }
  })
  if (mailers.length > 0)
    deps.log.info(
      { tenant_id: tenantId, domain: found.domain, without_return_path: mailers },
      'inbound_domain.deleted',
    )
  deps.wakeups.wake(touched)
  return deleted
}
