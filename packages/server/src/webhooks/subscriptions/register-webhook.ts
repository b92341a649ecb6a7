/**
 * registerWebhook (docs/reference/webhooks.md#registration). Checks come in this order: shape
 * and rules, already registered, address allowed, connects. The unique key has the last word when two
 * registrations race.
 */
import type { RegisterWebhookBody } from '@postrider/contract'
import { type Db, isUniqueViolation } from '../../platform/db/index.ts'
import { ApiError } from '../../platform/errors.ts'
import type { KeyRing } from '../../platform/secrets/index.ts'
import type { Wakeups } from '../dispatch/schedule/wakeups.ts'
import { checkReceiver, parseReceiverUrl, type ReceiverRules } from './check-receiver.ts'
import { togglesOf } from './check-toggles.ts'
import { createSubscription, type MadeSubscription } from './create-subscription.ts'
import { checkHeaders } from './custom-headers.ts'
import { findSubscription } from './subscription-store.ts'

export interface WebhookDeps {
  readonly db: Db
  readonly keyRing: KeyRing
  readonly receivers: ReceiverRules
  readonly wakeups: Pick<Wakeups, 'wake'>
}

export async function registerWebhook(
  { db, keyRing, receivers }: Pick<WebhookDeps, 'db' | 'keyRing' | 'receivers'>,
  tenantId: string,
  body: RegisterWebhookBody,
): Promise<MadeSubscription> {
  const toggles = togglesOf(body)
  const headers = body.headers ?? {}
  checkHeaders(headers, { isSigned: body.signing })
  const url = parseReceiverUrl(body.webhook_url)
  const name = { tenantId, event: body.event, owner: '' }
  if ((await findSubscription(db, name)) !== undefined) throw new ApiError('webhook_exists')
  await checkReceiver(receivers, tenantId, url)
  try {
    return await db.transaction((tx) =>
      createSubscription(tx, keyRing, {
        ...name,
        url: body.webhook_url,
        headers: Object.entries(headers),
        toggles,
        signing: body.signing,
      }),
    )
  } catch (error) {
    if (!isUniqueViolation(error, 'webhooks_subscription_event_key')) throw error
    throw new ApiError('webhook_exists', { cause: error })
  }
}
