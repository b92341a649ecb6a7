/**
 * The key by which a receiver recognises an event that it has had before
 * (docs/reference/webhooks.md#deduplication): a delivery may be repeated or replayed.
 *
 * Events of an email: `ref_id`, `event` and `event_at`, and `attempt` of a failed attempt, which
 * together are unique for ever. Never `webhook_id`, which a replay to a later subscription changes.
 *
 * The other events have no such key in the interface; they are named by what they report:
 *
 * - IMAP_ERROR: the mailer and `event_at`.
 * - INCOMING_EMAIL: `inbound_id`, which is of one message at one mailbox or route.
 * - MAILER_DEACTIVATED: the mailer, its type and the two reasons. A mailer that is deactivated
 *   again for the same reason, in the same words, has the same key.
 * - DOMAIN_VERIFICATION: the domain, its mailer and the result. A result that comes back has the
 *   same key. So of these two, keep keys only for as long as a delivery is repeated, or none: they
 *   report a state, and to set it once more does no harm.
 * - An event that is not known: as an email's where it has a `ref_id` and `event_at`; else all of
 *   its details, in the order in which they were sent.
 *
 * The key is a JSON array, so that no two lists of fields have the same text. All but the last
 * kind are bounded: of long fields, the first 256 characters and the length.
 */
import { isKnownName } from './check-event.ts'
import type { KnownEvent, ReceivedEvent, UnknownEvent } from './event-types.ts'

export function dedupKey(event: ReceivedEvent): string {
  const fields = isKnown(event) ? fieldsOf(event) : fieldsOfUnknown(event)
  return JSON.stringify([event.event, ...fields.map(bounded)])
}

type Field = string | number | boolean | undefined

function isKnown(event: ReceivedEvent): event is KnownEvent {
  return isKnownName(event.event)
}

function fieldsOf(event: KnownEvent): Field[] {
  switch (event.event) {
    case 'SMTP_ERROR': {
      const { ref_id, event_at, attempt } = event.details
      return [ref_id, event_at, attempt]
    }
    case 'MAILER_DEACTIVATED': {
      const { mailer_id, config_type, failed_reason, provider_error } = event.details
      return [mailer_id, config_type, failed_reason, provider_error]
    }
    case 'DOMAIN_VERIFICATION': {
      const { domain, mailer_id, verified } = event.details
      return [domain, mailer_id, verified]
    }
    case 'IMAP_ERROR':
      return [event.details.mailer_id, event.details.event_at]
    case 'INCOMING_EMAIL':
      return [event.details.inbound_id]
    case 'MAIL_DELIVERED':
    case 'MAIL_OPENED':
    case 'MAIL_CLICKED':
    case 'MAIL_UNSUBSCRIBED':
    case 'MAIL_BOUNCE':
    case 'MAIL_SPAM':
    case 'MAIL_POLICY_REJECTION':
    case 'MAIL_GENERATION_FAILURE':
    case 'MAIL_GENERATION_REJECTION':
    case 'PHISHING':
      return [event.details.ref_id, event.details.event_at]
  }
}

function fieldsOfUnknown({ details }: UnknownEvent): Field[] {
  const { ref_id, event_at, attempt, webhook_id: _, ...rest } = details
  if (typeof ref_id === 'string' && typeof event_at === 'string') {
    return typeof attempt === 'number' ? [ref_id, event_at, attempt] : [ref_id, event_at]
  }
  return [JSON.stringify({ ref_id, event_at, attempt, ...rest })]
}

const fieldLengthMax = 256

/** JSON has no `undefined`; null stands for a field that is absent. */
function bounded(field: Field): string | number | boolean | null {
  if (typeof field !== 'string') return field ?? null
  if (field.length <= fieldLengthMax) return field
  return `${field.slice(0, fieldLengthMax)}…${field.length}`
}
