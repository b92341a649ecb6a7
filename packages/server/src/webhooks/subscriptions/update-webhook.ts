/**
 * updateWebhook (docs/reference/webhooks.md#changes): given headers and filters replace the old ones; what is
 * left out stays. Another URL is checked as at registration.
 */
import type { UpdateWebhookBody } from '@postrider/contract'
import { ApiError } from '../../platform/errors.ts'
import { nullAs } from '../../platform/values/null-as.ts'
import { changeSubscription } from './change-subscription.ts'
import { checkReceiver, parseReceiverUrl } from './check-receiver.ts'
import { togglesOf } from './check-toggles.ts'
import { checkHeaders } from './custom-headers.ts'
import type { WebhookDeps } from './register-webhook.ts'
import { findSubscription } from './subscription-store.ts'

export async function updateWebhook(
  { db, keyRing, receivers, wakeups }: WebhookDeps,
  tenantId: string,
  body: UpdateWebhookBody,
): Promise<{ readonly signingSecret?: string }> {
  const { event } = body
  const webhook_options = nullAs(body.webhook_options, {})
  const toggles = webhook_options && togglesOf({ event, webhook_options })
  const headers = nullAs(body.headers, {})
  checkHeaders(headers ?? {}, { isSigned: body.signing })
  const url = body.webhook_url === undefined ? undefined : parseReceiverUrl(body.webhook_url)
  const name = { tenantId, event, owner: '' }
  const known = await findSubscription(db, name)
  if (known === undefined) throw new ApiError('webhook_not_found')
  if (url !== undefined && body.webhook_url !== known.url)
    await checkReceiver(receivers, tenantId, url)
  const changed = await db.transaction((tx) =>
    changeSubscription(tx, keyRing, name, {
      url: body.webhook_url,
      headers: headers && Object.entries(headers),
      toggles,
      active: body.active,
      signing: body.signing,
    }),
  )
  if (changed === undefined) throw new ApiError('webhook_not_found')
  const { touched, ...made } = changed
  wakeups.wake(touched)
  return made
}
