/**
 * A recorded delivery as the API shows it (docs/reference/webhooks.md#deliveries). `created_at` is the time
 * within its id, by which it is listed and found. That is from the dispatcher's clock, `finished_at` from the
 * database's, which may be behind: a delivery never ends before it began.
 */
import type { DeliveredEvent, WebhookAttempt, WebhookDelivery } from '@postrider/contract'
import { isId, isUlid, timeOfUlid } from '../../platform/ids.ts'
import type { MemberEvent, RecordedAttempt, RecordedDelivery } from './record-store.ts'

export function toWebhookDelivery(
  d: RecordedDelivery,
  members: ReadonlyMap<string, MemberEvent>,
  urls: ReadonlyMap<string, string>,
  attempts: readonly RecordedAttempt[],
): WebhookDelivery {
  const createdAt = timeOfUlid(d.deliveryId)
  return {
    delivery_id: d.deliveryId,
    webhook_id: d.webhookId,
    webhook_url: urls.get(d.webhookId) ?? null,
    status: d.status,
    events: d.eventIds.map((eventId) => toDeliveredEvent(eventId, members.get(eventId))),
    attempts: attempts.map(toWebhookAttempt),
    next_attempt_at: d.nextAttemptAt?.toISOString() ?? null,
    created_at: createdAt.toISOString(),
    finished_at: d.finishedAt === null ? null : later(createdAt, d.finishedAt).toISOString(),
    ...(d.dividedInto === null ? {} : { divided_into: [...d.dividedInto] }),
  }
}

function later(a: Date, b: Date): Date {
  return a > b ? a : b
}

/** Of an event that has left the log its id is all that is known. */
function toDeliveredEvent(eventId: string, event: MemberEvent | undefined): DeliveredEvent {
  if (event === undefined) return { event_id: eventId, event: null, ref_id: null, event_at: null }
  return {
    event_id: eventId,
    event: event.event,
    ref_id: isUlid(event.refId) ? event.refId : null,
    ...(isId('in', event.refId) ? { inbound_id: event.refId } : {}),
    event_at: event.eventAt,
    ...(event.attempt === 0 ? {} : { attempt: event.attempt }),
  }
}

export function toWebhookAttempt(a: RecordedAttempt): WebhookAttempt {
  return {
    at: new Date(a.at).toISOString(),
    status: a.status,
    duration_ms: a.duration_ms,
    timings: toTimings(a.timings),
    error: a.error,
    response: a.response,
  }
}

function toTimings(timings: RecordedAttempt['timings']): WebhookAttempt['timings'] {
  if (timings?.totalMs === undefined) return null
  const { dnsMs, connectMs, tlsMs, firstByteMs, totalMs } = timings
  return {
    ...(dnsMs === undefined ? {} : { dns_ms: dnsMs }),
    ...(connectMs === undefined ? {} : { connect_ms: connectMs }),
    ...(tlsMs === undefined ? {} : { tls_ms: tlsMs }),
    ...(firstByteMs === undefined ? {} : { first_byte_ms: firstByteMs }),
    total_ms: totalMs,
  }
}
