/**
 * deleteWebhook (interface §4.2): no request starts afterwards. What waited is discarded; the
 * events stay in the log and can be replayed to a webhook registered later.
 */
import type { WebhookEvent } from '@postrider/contract'
import type { Db } from '../platform/db/index.ts'
import { ApiError } from '../platform/errors.ts'
import { discardPending } from './dispatch/discard-pending.ts'
import { deleteStream } from './dispatch/stream-store.ts'
import { deleteSubscription, findSubscription, lockTenant } from './store.ts'

export async function deleteWebhook(
  deps: { readonly db: Db },
  tenantId: string,
  event: WebhookEvent,
): Promise<void> {
  await deps.db.transaction(async (tx) => {
    await lockTenant(tx, tenantId)
    const subscription = await findSubscription(tx, tenantId, event)
    if (subscription === undefined) throw new ApiError('webhook_not_found')
    await discardPending(tx, subscription)
    await deleteStream(tx, subscription)
    await deleteSubscription(tx, tenantId, subscription.webhookId)
  })
}
