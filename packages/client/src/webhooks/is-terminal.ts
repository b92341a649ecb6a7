/**
 * Whether an event ends a send: after it, nothing more is tried for that recipient
 * (docs/reference/sending.md#attempts).
 *
 * - MAIL_DELIVERED ends it well. A server that took the email may still send a MAIL_BOUNCE later.
 * - SMTP_ERROR ends it only with `retry_scheduled: false`; never by its counters. It includes
 *   expiry and the attempt that deactivated its mailer.
 * - PHISHING stops it before it began.
 * - MAIL_BOUNCE, hard or soft, and the three refusals of a provider come from one that has given up.
 *
 * Opens, clicks, unsubscriptions and spam reports are facts beside the status; a mailer, a domain
 * or a mailbox is no send; of an event that is not known, nothing is known.
 *
 * A rescue starts a new series, with further attempts of the same `ref_id`.
 */
import type { ReceivedEvent } from './event-types.ts'

export function isTerminal(event: ReceivedEvent): boolean {
  switch (event.event) {
    case 'MAIL_DELIVERED':
    case 'MAIL_BOUNCE':
    case 'MAIL_POLICY_REJECTION':
    case 'MAIL_GENERATION_FAILURE':
    case 'MAIL_GENERATION_REJECTION':
    case 'PHISHING':
      return true
    case 'SMTP_ERROR':
      return !event.details.retry_scheduled
    default:
      return false
  }
}
