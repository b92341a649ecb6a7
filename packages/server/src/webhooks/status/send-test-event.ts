/**
 * sendTestEvent (docs/reference/webhooks.md#test-events): one request of the kind that deliveries make, with the
 * same headers, guard and time-out. It is in no log, and says nothing about the webhook: what waits goes on
 * beside it. It is also sent to a webhook that is paused or inactive, as that is when somebody tests it.
 */
import { type EventName, eventNames, type TestDelivery } from '@postrider/contract'
import type { ConcurrencyLimiter } from '@postrider/runtime/concurrency-limiter'
import type { Db } from '../../platform/db/index.ts'
import { ApiError, validationError } from '../../platform/errors.ts'
import { newId } from '../../platform/ids.ts'
import type { RateLimit } from '../../platform/limits/rate-limit.ts'
import { toWebhookAttempt } from '../deliveries/delivery-wire.ts'
import type { RecordedAttempt } from '../deliveries/record-store.ts'
import { makeRequest, type RequestDeps } from '../dispatch/request/make-request.ts'
import type { StreamKey } from '../dispatch/stream-store.ts'
import { serializeEvent, serializeRequest } from '../events/event.ts'
import { subscriptionsOf } from '../events/select-subscription.ts'
import type { Subscription } from '../subscriptions/subscription.ts'
import { findSubscriptionById } from '../subscriptions/subscription-store.ts'
import { sampleEvent } from './sample-events.ts'

export interface TestEventDeps {
  readonly db: Db
  readonly tests: {
    readonly request: RequestDeps
    readonly limit: RateLimit
    readonly limiter: ConcurrencyLimiter
    /** SENDING=paused: this service makes no requests of this kind. */
    readonly isSendingPaused: boolean
  }
}

export async function sendTestEvent(
  { db, tests }: TestEventDeps,
  key: StreamKey,
  { event, traceparent }: { readonly event: EventName; readonly traceparent: string },
): Promise<TestDelivery> {
  const subscription = await findSubscriptionById(db, key)
  if (subscription === undefined) throw new ApiError('webhook_not_found')
  const taken = eventNames.filter((name) => subscriptionsOf(name).includes(subscription.event))
  if (!taken.includes(event))
    throw validationError({ path: '/event', message: `must be one of ${taken.join(', ')}` })
  if (tests.isSendingPaused)
    throw new ApiError('conflict', {
      message: 'This service sends nothing at the moment (POSTRIDER_SENDING=paused)',
    })
  await tests.limit.use(key.tenantId)
  const body = bodyOf(subscription, event, tests.request.clock.now())
  const { url, headersSealed, signingSealed } = subscription
  // In no log: nobody finds it by this id.
  const deliveryId = newId('dlv')
  const made = await tests.limiter.run(key.tenantId, () =>
    makeRequest(tests.request, {
      ...{ key, deliveryId, traceparent, body, target: { url, headersSealed, signingSealed } },
      signal: new AbortController().signal,
    }),
  )
  if (made === 'busy' || made === 'stopped')
    throw new ApiError('unavailable', { message: 'Too many names to look up', retryAfterS: 1 })
  const attempt = JSON.parse(made.record) as RecordedAttempt
  const headers = [...attempt.header_names]
  const { outcome } = made
  const accepted = outcome.kind === 'answered' && outcome.status >= 200 && outcome.status < 300
  return { accepted, ...toWebhookAttempt(attempt), request: { headers, body } }
}

function bodyOf(
  { event: kind, owner, webhookId, tenantId }: Subscription,
  event: EventName,
  now: Date,
) {
  const eventAtMicros = BigInt(now.getTime()) * 1000n
  const sample = sampleEvent(event, owner, now)
  const body = serializeEvent(
    { ...sample, tenantId, eventAtMicros, traceparent: '' },
    eventAtMicros,
  )
  return serializeRequest(kind === 'EMAIL_EVENT' ? 'array' : 'single', [{ body }], webhookId)
}
