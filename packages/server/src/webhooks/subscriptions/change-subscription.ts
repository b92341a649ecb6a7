/**
 * Changes a webhook (docs/reference/webhooks.md#changes): what is given replaces the old, what is left
 * out stays. Every request that starts afterwards uses the new values.
 *
 * active → inactive: the generation grows. What was queued before it belongs to an older one and is
 * discarded by the dispatcher, piece by piece: a backlog of any size is switched off in one short
 * transaction. Its events stay in the log and are had by replay. A request under way ends as it does.
 * inactive → active: gets what happens from then on, without the back-off of before.
 * Another URL, other headers, signing turned on or off: the receiver may have been fixed, so the next try is made at once.
 * Other toggles apply when an event is recorded, and once more when a request is made for the first time.
 */
import type { Tx } from '../../platform/db/index.ts'
import { bucketOf } from '../../platform/db/leases.ts'
import type { KeyRing } from '../../platform/secrets/index.ts'
import type { BucketedStream } from '../dispatch/stream-store.ts'
import { type CustomHeaders, checkCollision, sealHeaders } from './custom-headers.ts'
import { newSigning, type Signing, sealSigning } from './signing.ts'
import type { Subscription, SubscriptionName, Toggles } from './subscription.ts'
import { lockSubscription, restartStream, updateSubscription } from './subscription-store.ts'

export interface SubscriptionChange {
  readonly url?: string | undefined
  readonly headers?: CustomHeaders | undefined
  readonly toggles?: Toggles | undefined
  readonly active?: boolean | undefined
  /** True makes a secret where there is none; false forgets all of them. */
  readonly signing?: boolean | undefined
}

export interface ChangedSubscription {
  /** Streams to be woken after the commit. */
  readonly touched: BucketedStream[]
  /** When a secret was made: shown once. */
  readonly signingSecret?: string
}

/** Undefined when there is no such webhook. `at` is its path in the body that asks for the change. */
export async function changeSubscription(
  tx: Tx,
  keyRing: KeyRing,
  name: SubscriptionName,
  change: SubscriptionChange,
  at = '',
): Promise<ChangedSubscription | undefined> {
  const old = await lockSubscription(tx, name)
  if (old === undefined) return undefined
  const secret =
    change.signing === true && old.signingSealed === undefined ? newSigning() : undefined
  const changed = applyChange(keyRing, old, change, secret)
  checkCollision(changed, { at, areHeadersGiven: change.headers !== undefined })
  const isSwitched = changed.active !== old.active
  const isSameReceiver = changed.url === old.url && !isSwitched
  const isResigned = changed.signingSealed !== old.signingSealed
  const isTriedAnew = !isSameReceiver || change.headers !== undefined || isResigned
  // In one round trip; the stream last, because recording waits for it.
  await Promise.all([
    updateSubscription(tx, changed),
    ...(isTriedAnew ? [restartStream(tx, old, { isSameReceiver })] : []),
  ])
  const { tenantId, webhookId } = old
  return {
    touched: isTriedAnew ? [{ tenantId, webhookId, bucket: bucketOf(webhookId) }] : [],
    ...(secret === undefined ? {} : { signingSecret: secret.secret }),
  }
}

function applyChange(
  keyRing: KeyRing,
  old: Subscription,
  { url = old.url, active = old.active, headers, toggles, signing }: SubscriptionChange,
  secret: Signing | undefined,
): Subscription {
  const isSwitchedOff = old.active && !active
  return {
    ...old,
    url,
    active,
    generation: old.generation + (isSwitchedOff ? 1 : 0),
    ...(toggles === undefined ? {} : { toggles }),
    ...(signing === false ? { signingSealed: undefined } : {}),
    ...(secret === undefined ? {} : { signingSealed: sealSigning(keyRing, old, secret) }),
    ...(headers === undefined
      ? {}
      : {
          headersSealed: sealHeaders(keyRing, old, headers),
          headerNames: headers.map(([name]) => name),
        }),
  }
}
