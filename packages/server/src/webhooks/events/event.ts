/**
 * An event as the log keeps it, and as a request carries it (docs/reference/events.md#fields).
 *
 * The body is serialised once, when the event is recorded, with `details.webhook_id` empty: it is
 * the id of whichever subscription delivers the event, also when it is replayed to one registered
 * later (docs/reference/events.md#fields), and is put in when a request is made. An event recorded without
 * that field is sent as it is.
 */
import type { PostriderEvent } from '@postrider/contract'
import { formatMicros } from '../../platform/clock.ts'
import { isTestId } from '../../platform/ids.ts'

export type EventName = PostriderEvent['event']

export interface NewEvent {
  readonly tenantId: string
  /** Of its email; of a received message, that one's id; '' for an event of neither. */
  readonly refId: string
  readonly event: EventName
  /** Absent for DOMAIN_VERIFICATION alone. */
  readonly success?: boolean
  readonly eventAtMicros: bigint
  /** 1-based, on send failures. */
  readonly attempt?: number
  /** Everything of `details` but `webhook_id` and `event_at`. */
  readonly details: Readonly<Record<string, unknown>>
  /** The trace of the send, or of the request that caused the event. */
  readonly traceparent: string
  /** The mailbox or inbound route whose own webhook takes the event; absent: the tenant's. */
  readonly owner?: string
}

/** What `details` say more of mail of test mode (docs/reference/test-mode.md#how-test-mail-is-told). */
export function testMark(mailerId: string): { readonly test?: true } {
  return isTestId(mailerId) ? { test: true } : {}
}

/** docs/reference/events.md#mailer-deactivated: what leaves out a field that every message event has. */
const WITHOUT_ID: ReadonlySet<EventName> = new Set([
  'MAILER_DEACTIVATED',
  'IMAP_ERROR',
  'INCOMING_EMAIL',
])
const WITHOUT_TIME: ReadonlySet<EventName> = new Set([
  'MAILER_DEACTIVATED',
  'DOMAIN_VERIFICATION',
  'INCOMING_EMAIL',
])

export function serializeEvent(event: NewEvent, eventAtMicros: bigint): string {
  return JSON.stringify({
    event: event.event,
    ...(event.success === undefined ? {} : { success: event.success }),
    details: {
      ...(WITHOUT_ID.has(event.event) ? {} : { webhook_id: '' }),
      ...event.details,
      ...(WITHOUT_TIME.has(event.event) ? {} : { event_at: formatMicros(eventAtMicros) }),
    },
  })
}

/** Anchored: a tenant's own `custom_args` may hold the same text. */
const BEFORE_ID = /^\{"event":"[A-Z_]+",(?:"success":(?:true|false),)?"details":\{"webhook_id":"/

/** Of a stored body. */
export function nameOfEvent(body: string): string {
  return body.slice(BEFORE_NAME.length, body.indexOf('"', BEFORE_NAME.length))
}

const BEFORE_NAME = '{"event":"'

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
