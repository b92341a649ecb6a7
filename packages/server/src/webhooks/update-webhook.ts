/**
 * updateWebhook (interface §4.2, contract §4, §5): given headers and filters replace the old ones;
 * what is left out stays. Every request that starts afterwards uses the new values.
 *
 * A webhook that is switched off delivers nothing more: what waits for it is discarded (kept in
 * the log, had by replay), so that switching it on again begins with what happens from then on.
 */
import type { UpdateWebhookBody } from '@postrider/contract'
import type { Tx } from '../platform/db/index.ts'
import { ApiError } from '../platform/errors.ts'
import type { KeyRing } from '../platform/secrets/index.ts'
import { checkReceiver, parseReceiverUrl } from './check-receiver.ts'
import { checkHeaders, sealHeaders } from './custom-headers.ts'
import { discardPending } from './dispatch/discard-pending.ts'
import { expediteStream } from './dispatch/stream-store.ts'
import type { WebhookDeps } from './register-webhook.ts'
import { findSubscription, lockTenant, updateSubscription } from './store.ts'
import { type Subscription, type Toggles, togglesOf } from './subscription.ts'

export async function updateWebhook(
  deps: WebhookDeps,
  tenantId: string,
  body: UpdateWebhookBody,
): Promise<void> {
  const toggles = body.webhook_options === undefined ? undefined : togglesOf(body)
  checkHeaders(body.headers ?? {})
  const url = body.webhook_url === undefined ? undefined : parseReceiverUrl(body.webhook_url)
  if ((await findSubscription(deps.db, tenantId, body.event)) === undefined)
    throw new ApiError('webhook_not_found')
  if (url !== undefined) await checkReceiver(deps.receivers, url)

  await deps.db.transaction(async (tx) => {
    await lockTenant(tx, tenantId)
    const old = await findSubscription(tx, tenantId, body.event)
    if (old === undefined) throw new ApiError('webhook_not_found')
    const changed = applyChange(deps.keyRing, old, body, toggles)
    await updateSubscription(tx, changed)
    await steerStream(tx, old, changed)
  })
}

function applyChange(
  keyRing: KeyRing,
  old: Subscription,
  body: UpdateWebhookBody,
  toggles: Toggles | undefined,
): Subscription {
  return {
    ...old,
    url: body.webhook_url ?? old.url,
    active: body.active ?? old.active,
    ...(toggles === undefined ? {} : { toggles }),
    ...(body.headers === undefined
      ? {}
      : {
          headersSealed: sealHeaders(keyRing, old, Object.entries(body.headers)),
          headerNames: Object.keys(body.headers),
        }),
  }
}

async function steerStream(tx: Tx, old: Subscription, changed: Subscription): Promise<void> {
  if (!changed.active) return discardPending(tx, changed)
  const isElsewhere = changed.url !== old.url || changed.headersSealed !== old.headersSealed
  if (isElsewhere) await expediteStream(tx, changed)
}
