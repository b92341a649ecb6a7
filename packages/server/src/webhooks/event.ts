/**
 * An event as the log keeps it, and as a request carries it (interface §2.3, §6.2).
 *
 * The body is serialised once, when the event is recorded, with `details.webhook_id` empty: it is
 * the id of whichever subscription delivers the event, also when it is replayed to one registered
 * later (contract §4), and is put in when a request is made. An event recorded without that field
 * is sent as it is.
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

/** Every event of `MessageEventName` names its subscription and its time. */
export function serializeEvent(event: NewEvent, eventAtMicros: bigint): string {
  return JSON.stringify({
    event: event.event,
    success: event.success,
    details: { webhook_id: '', ...event.details, event_at: formatMicros(eventAtMicros) },
  })
}

/** Anchored: a tenant's own `custom_args` may hold the same text. */
const BEFORE_ID = /^\{"event":"[A-Z_]+",(?:"success":(?:true|false),)?"details":\{"webhook_id":"/

/** The stored body as one subscription sends it. */
export function addressEvent(body: string, webhookId: string): string {
  const at = BEFORE_ID.exec(body)?.[0].length
  return at === undefined ? body : body.slice(0, at) + webhookId + body.slice(at)
}

/** `array`: `EMAIL_EVENT`, also for one event. `single`: one object, of the one event. */
export function serializeRequest(
  mode: 'array' | 'single',
  events: readonly { readonly body: string }[],
  webhookId: string,
): string {
  const bodies = events.map((event) => addressEvent(event.body, webhookId)).join(',')
  return mode === 'array' ? `[${bodies}]` : bodies
}
