/**
 * Makes a webhook and the stream through which its events leave: a tenant's, or the incoming one of
 * a mailbox or an inbound route in the transaction that makes its owner. What is given has been
 * checked.
 */
import type { Tx } from '../../platform/db/index.ts'
import { bucketOf } from '../../platform/db/leases.ts'
import { newId } from '../../platform/ids.ts'
import type { KeyRing } from '../../platform/secrets/index.ts'
import { insertStream } from '../dispatch/stream-store.ts'
import { type CustomHeaders, sealHeaders } from './custom-headers.ts'
import type { SubscriptionName, Toggles } from './subscription.ts'
import { insertSubscription } from './subscription-store.ts'

export interface NewSubscription extends SubscriptionName {
  readonly url: string
  readonly headers: CustomHeaders
  readonly toggles?: Toggles | undefined
}

/** Fails with a violation of `webhooks_subscription_event_key` when there is one already. */
export async function createSubscription(
  tx: Tx,
  keyRing: KeyRing,
  { tenantId, event, owner, url, headers, toggles }: NewSubscription,
): Promise<{ webhookId: string }> {
  const webhookId = newId('wh')
  const key = { tenantId, webhookId }
  await insertSubscription(tx, {
    ...key,
    event,
    owner,
    url,
    ...(toggles === undefined ? {} : { toggles }),
    headersSealed: sealHeaders(keyRing, key, headers),
    headerNames: headers.map(([name]) => name),
  })
  const mode = event === 'EMAIL_EVENT' ? 'array' : 'single'
  await insertStream(tx, { ...key, bucket: bucketOf(webhookId), mode })
  return { webhookId }
}
