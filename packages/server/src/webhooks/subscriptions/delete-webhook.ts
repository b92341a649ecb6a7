/** deleteWebhook (docs/reference/webhooks.md#changes): events are no longer sent. */
import type { WebhookEvent } from '@postrider/contract'
import { ApiError } from '../../platform/errors.ts'
import { deleteSubscription } from './delete-subscription.ts'
import type { WebhookDeps } from './register-webhook.ts'

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
