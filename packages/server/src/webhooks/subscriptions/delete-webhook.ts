/** deleteWebhook (docs/reference/webhooks.md#changes): events are no longer sent. */
import type { WebhookEvent } from '@postrider/contract'
import type { Tx } from '../../platform/db/index.ts'
import { bucketOf } from '../../platform/db/leases.ts'
import { ApiError } from '../../platform/errors.ts'
import type { BucketedStream } from '../dispatch/stream-store.ts'
import type { WebhookDeps } from './register-webhook.ts'
import type { SubscriptionName } from './subscription.ts'
import { lockSubscription, removeSubscription, restartStream } from './subscription-store.ts'

export async function deleteWebhook(
  { db, wakeups }: Pick<WebhookDeps, 'db' | 'wakeups'>,
  tenantId: string,
  event: WebhookEvent,
): Promise<void> {
  const touched = await db.transaction((tx) =>
    deleteSubscription(tx, { tenantId, event, owner: '' }),
  )
  if (touched === undefined) throw new ApiError('webhook_not_found')
  wakeups.wake([touched])
}

/**
 * Deletes a webhook: a tenant's, or the incoming one of a mailbox or an inbound route in the
 * transaction that deletes its owner. No request starts afterwards.
 *
 * What waited is discarded by the dispatcher, piece by piece, and the stream goes last: a backlog of
 * any size is deleted in one short transaction. The events stay in the log and can be replayed to a
 * webhook registered later.
 *
 * Answers the stream to be woken after the commit; undefined when there is no such webhook.
 */
export async function deleteSubscription(
  tx: Tx,
  name: SubscriptionName,
): Promise<BucketedStream | undefined> {
  const subscription = await lockSubscription(tx, name)
  if (subscription === undefined) return undefined
  // In one round trip; the stream last, because recording waits for it.
  await Promise.all([
    removeSubscription(tx, subscription),
    restartStream(tx, subscription, { isSameReceiver: false, isDeleted: true }),
  ])
  const { tenantId, webhookId } = subscription
  return { tenantId, webhookId, bucket: bucketOf(webhookId) }
}
