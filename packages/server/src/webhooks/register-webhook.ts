/**
 * registerWebhook (interface §4.1, §7). Checks come in the contract's order (§4): shape and rules,
 * already registered, address allowed, connects. The unique key has the last word when two
 * registrations race.
 */
import type { RegisterWebhookBody } from '@postrider/contract'
import { type Db, isUniqueViolation } from '../platform/db/index.ts'
import { bucketOf } from '../platform/db/leases.ts'
import { ApiError } from '../platform/errors.ts'
import { newId } from '../platform/ids.ts'
import type { KeyRing } from '../platform/secrets/index.ts'
import { checkReceiver, parseReceiverUrl, type ReceiverRules } from './check-receiver.ts'
import { checkHeaders, sealHeaders } from './custom-headers.ts'
import { insertStream } from './dispatch/stream-store.ts'
import { findSubscription, insertSubscription } from './store.ts'
import { togglesOf } from './subscription.ts'

export interface WebhookDeps {
  readonly db: Db
  readonly keyRing: KeyRing
  readonly receivers: ReceiverRules
}

export async function registerWebhook(
  deps: WebhookDeps,
  tenantId: string,
  body: RegisterWebhookBody,
): Promise<{ webhookId: string }> {
  const toggles = togglesOf(body)
  const headers = body.headers ?? {}
  checkHeaders(headers)
  const url = parseReceiverUrl(body.webhook_url)
  if ((await findSubscription(deps.db, tenantId, body.event)) !== undefined)
    throw new ApiError('webhook_exists')
  await checkReceiver(deps.receivers, url)

  const webhookId = newId('wh')
  const owner = { tenantId, webhookId }
  try {
    await deps.db.transaction(async (tx) => {
      await insertSubscription(tx, {
        ...owner,
        event: body.event,
        url: body.webhook_url,
        ...(toggles === undefined ? {} : { toggles }),
        headersSealed: sealHeaders(deps.keyRing, owner, Object.entries(headers)),
        headerNames: Object.keys(headers),
      })
      const mode = body.event === 'EMAIL_EVENT' ? 'array' : 'single'
      await insertStream(tx, { ...owner, bucket: bucketOf(webhookId), mode })
    })
  } catch (error) {
    if (!isUniqueViolation(error, 'webhooks_subscription_event_key')) throw error
    throw new ApiError('webhook_exists', { cause: error })
  }
  return { webhookId }
}
