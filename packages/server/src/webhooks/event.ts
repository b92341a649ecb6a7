/**
 * An event as the log keeps it (interface §2.3, §6).
 *
 * The body is serialised once, when the event is recorded, without `details.webhook_id`: that is
 * the id of whichever subscription delivers it, also when it is replayed to one registered later
 * (contract §4), and is spliced in when a request is made.
 */
import type { MessageEventName } from '@postrider/contract'
import { formatMicros } from '../platform/clock.ts'

export interface NewEvent {
  readonly tenantId: string
  /** '' for an event of no email. */
  readonly refId: string
  readonly event: MessageEventName
  readonly success: boolean
  readonly eventAtMicros: bigint
  /** 1-based, on send failures. */
  readonly attempt?: number
  /** Everything of `details` but `webhook_id` and `event_at`. */
  readonly details: Readonly<Record<string, unknown>>
  /** The trace of the send, or of the request that caused the event. */
  readonly traceparent: string
}

const DETAILS = '"details":{'

export function serializeEvent(event: NewEvent, eventAtMicros: bigint): string {
  return JSON.stringify({
    event: event.event,
    success: event.success,
    details: { ...event.details, event_at: formatMicros(eventAtMicros) },
  })
}

/** The stored body as one subscription sends it. */
export function addressEvent(body: string, webhookId: string): string {
  // Nothing before `details` can hold this text: `event` is one of our names, `success` a boolean.
  const at = body.indexOf(DETAILS) + DETAILS.length
  return `${body.slice(0, at)}"webhook_id":"${webhookId}",${body.slice(at)}`
}

export interface StoredEvent {
  readonly eventId: string
  readonly eventAt: string
  readonly body: string
}

/** One request body: a JSON array, oldest first (interface §6.2). */
export function serializeBatch(events: readonly StoredEvent[], webhookId: string): string {
  return `[${events.map((event) => addressEvent(event.body, webhookId)).join(',')}]`
}
