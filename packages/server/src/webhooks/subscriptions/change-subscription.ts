/**
 * Changes a webhook (docs/reference/webhooks.md#changes): what is given replaces the old, what is left
 * out stays. Every request that starts afterwards uses the new values.
 *
 * active → inactive: the generation grows. What was queued before it belongs to an older one and is
 * discarded by the dispatcher, piece by piece: a backlog of any size is switched off in one short
 * transaction. Its events stay in the log and are had by replay. A request under way ends as it does.
 * inactive → active: gets what happens from then on, without the back-off of before.
 * Another URL or other headers: the receiver may have been fixed, so the next try is made at once.
 * Other toggles apply when an event is recorded, and once more when a request is made for the first time.
 */
import type { Tx } from '../../platform/db/index.ts'
import { bucketOf } from '../../platform/db/leases.ts'
import type { KeyRing } from '../../platform/secrets/index.ts'
import type { BucketedStream } from '../dispatch/stream-store.ts'
import { type CustomHeaders, sealHeaders } from './custom-headers.ts'
import type { Subscription, SubscriptionName, Toggles } from './subscription.ts'
import { lockSubscription, restartStream, updateSubscription } from './subscription-store.ts'

export interface SubscriptionChange {
  readonly url?: string | undefined
  readonly headers?: CustomHeaders | undefined
  readonly toggles?: Toggles | undefined
  readonly active?: boolean | undefined
}

/** The streams to be woken after the commit; undefined when there is no such webhook. */
export async function changeSubscription(
  tx: Tx,
  keyRing: KeyRing,
  name: SubscriptionName,
  change: SubscriptionChange,
): Promise<BucketedStream[] | undefined> {
  const old = await lockSubscription(tx, name)
  if (old === undefined) return undefined
  const changed = applyChange(keyRing, old, change)
  const isSwitched = changed.active !== old.active
  const isSameReceiver = changed.url === old.url && !isSwitched
  const isTriedAnew = !isSameReceiver || change.headers !== undefined
  // In one round trip; the stream last, because recording waits for it.
  await Promise.all([
    updateSubscription(tx, changed),
    ...(isTriedAnew ? [restartStream(tx, old, { isSameReceiver })] : []),
  ])
  const { tenantId, webhookId } = old
  return isTriedAnew ? [{ tenantId, webhookId, bucket: bucketOf(webhookId) }] : []
}

function applyChange(
  keyRing: KeyRing,
  old: Subscription,
  { url = old.url, active = old.active, headers, toggles }: SubscriptionChange,
): Subscription {
  const isSwitchedOff = old.active && !active
  return {
    ...old,
    url,
    active,
    generation: old.generation + (isSwitchedOff ? 1 : 0),
    ...(toggles === undefined ? {} : { toggles }),
    ...(headers === undefined
      ? {}
      : {
          headersSealed: sealHeaders(keyRing, old, headers),
          headerNames: headers.map(([name]) => name),
        }),
  }
}
