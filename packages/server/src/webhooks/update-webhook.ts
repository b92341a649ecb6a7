/**
 * updateWebhook (interface §4.2, contract §4, §5): given headers and filters replace the old ones;
 * what is left out stays. Every request that starts afterwards uses the new values.
 *
 * A webhook that is switched off delivers nothing more: what waits for it is discarded (kept in
 * the log, had by replay), so that switching it on again begins with what happens from then on.
 */
import type { UpdateWebhookBody } from '@postrider/contract'
import { ApiError, validationError } from '../platform/errors.ts'
import { checkReceiver, parseReceiverUrl } from './check-receiver.ts'
import { checkHeaders, sealHeaders } from './custom-headers.ts'
import { togglesOf, type WebhookDeps } from './register-webhook.ts'
import { findSubscription, lockSubscription, updateSubscription } from './store.ts'
import { discardPending, expediteStream } from './stream-store.ts'

export async function updateWebhook(
  deps: WebhookDeps,
  tenantId: string,
  body: UpdateWebhookBody,
): Promise<{ webhookId: string }> {
  const toggles = body.webhook_options === undefined ? undefined : togglesOf(body)
  const problems = body.headers === undefined ? [] : checkHeaders(body.headers)
  if (problems.length > 0) throw validationError(...problems)
  const url = body.webhook_url === undefined ? undefined : parseReceiverUrl(body.webhook_url)
  if ((await findSubscription(deps.db, tenantId, body.event)) === undefined)
    throw new ApiError('webhook_not_found')
  if (url !== undefined) await checkReceiver(deps.receivers, url)

  return deps.db.transaction(async (tx) => {
    const old = await lockSubscription(tx, tenantId, body.event)
    if (old === undefined) throw new ApiError('webhook_not_found')
    const active = body.active ?? old.active
    await updateSubscription(tx, {
      ...old,
      url: body.webhook_url ?? old.url,
      active,
      ...(toggles === undefined ? {} : { toggles }),
      ...(body.headers === undefined
        ? {}
        : {
            headersSealed: sealHeaders(deps.keyRing, old, Object.entries(body.headers)),
            headerNames: Object.keys(body.headers),
          }),
    })
    if (!active) await discardPending(tx, old)
    else if (body.webhook_url !== undefined || body.headers !== undefined)
      await expediteStream(tx, old)
    return { webhookId: old.webhookId }
  })
}
