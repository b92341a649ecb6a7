/**
 * Complaints (RFC 5965): what a recipient, by their provider, has called unwanted. What takes one back,
 * and what reports of authentication or of viruses, is none. Many providers hide whose it is; the
 * Message-ID tells all the same.
 */
import type { MailReport } from './mail-report.ts'
import { findOriginal } from './original-message.ts'
import { type Fields, fieldOf, readFieldGroups } from './read-field-groups.ts'
import type { ReportSource } from './report-source.ts'
import {
  addressIn,
  boundedHost,
  boundedId,
  boundedText,
  microsOf,
  RECIPIENTS_MAX,
  typedText,
} from './report-text.ts'

const NO_COMPLAINTS: ReadonlySet<string> = new Set([
  'not-spam',
  'auth-failure',
  'dmarc',
  'virus',
  'dkim',
])
const HIDDEN = /redact|hidden|removed|withheld|undisclosed/i

/** Undefined when the message is no such report. */
export function readComplaint(source: ReportSource): readonly MailReport[] | undefined {
  const part = source.parts.find(({ type }) => type === 'message/feedback-report')
  if (part === undefined) return undefined
  const [fields = []] = readFieldGroups(part.content, 1)
  const feedbackType = (fieldOf(fields, 'feedback-type') ?? 'other')
    .trim()
    .toLowerCase()
    .slice(0, 40)
  if (NO_COMPLAINTS.has(feedbackType)) return []
  const original = findOriginal(source, '')
  const recipients = recipientsOf(fields, original)
  const reportedAtMicros = microsOf(
    fieldOf(fields, 'arrival-date') ?? fieldOf(fields, 'received-date') ?? '',
  )
  const reportingHost = boundedHost(typedText(fieldOf(fields, 'reporting-mta')))
  const envelopeId = boundedId(fieldOf(fields, 'original-envelope-id'))
  const common = {
    kind: 'complaint' as const,
    isHard: false,
    feedbackType,
    diagnostic: boundedText(feedbackType),
    ...(original.messageId === undefined ? {} : { originalMessageId: original.messageId }),
    ...(reportedAtMicros === undefined ? {} : { reportedAtMicros }),
    ...(reportingHost === undefined ? {} : { reportingHost }),
    ...(envelopeId === undefined ? {} : { envelopeId }),
  }
  if (recipients.length === 0) return [common]
  return recipients.map((recipient) => ({ ...common, recipient }))
}

function recipientsOf(
  fields: Fields,
  original: { readonly recipient?: string; readonly fields: Fields },
): readonly string[] {
  const told = fields.flatMap(({ name, value }) =>
    /^(original-rcpt-to|removal-recipient)$/i.test(name) ? value : [],
  )
  const kept = [fieldOf(original.fields, 'x-hmxmroriginalrecipient'), original.recipient]
  const known = (values: readonly (string | undefined)[]) =>
    values
      .slice(0, RECIPIENTS_MAX)
      .flatMap((value) =>
        value === undefined || HIDDEN.test(value) ? [] : (addressIn(value) ?? []),
      )
  const named = known(told)
  return [...new Set(named.length > 0 ? named : known(kept).slice(0, 1))]
}
