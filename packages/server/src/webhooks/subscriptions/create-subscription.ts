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
import { newSigning, sealSigning } from './signing.ts'
import type { SubscriptionName, Toggles } from './subscription.ts'
import { insertSubscription } from './subscription-store.ts'

export interface NewSubscription extends SubscriptionName {
  readonly url: string
  readonly headers: CustomHeaders
  readonly toggles?: Toggles | undefined
  /** Its requests are signed. */
  readonly signing?: boolean | undefined
}

export interface MadeSubscription {
  readonly webhookId: string
  /** Of one that is signed: shown once. */
  readonly signingSecret?: string
}

/** Fails with a violation of `webhooks_subscription_event_key` when there is one already. */
export async function createSubscription(
  tx: Tx,
  keyRing: KeyRing,
  { tenantId, event, owner, url, headers, toggles, signing: isSigned = false }: NewSubscription,
): Promise<MadeSubscription> {
  const webhookId = newId('wh')
  const key = { tenantId, webhookId }
  const signing = isSigned ? newSigning() : undefined
  await insertSubscription(tx, {
    ...key,
    event,
    owner,
    url,
    ...(toggles === undefined ? {} : { toggles }),
    headersSealed: sealHeaders(keyRing, key, headers),
    headerNames: headers.map(([name]) => name),
    ...(signing === undefined ? {} : { signingSealed: sealSigning(keyRing, key, signing) }),
  })
  const mode = event === 'EMAIL_EVENT' ? 'array' : 'single'
  await insertStream(tx, { ...key, bucket: bucketOf(webhookId), mode })
  return { webhookId, ...(signing === undefined ? {} : { signingSecret: signing.secret }) }
}
