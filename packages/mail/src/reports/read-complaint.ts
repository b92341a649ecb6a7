/**
 * Complaints (RFC 5965): what a recipient, by their provider, has called unwanted. What takes one back,
 * and what reports of authentication or of viruses, is none. Many providers hide whose it is.
 *
 * Hotmail's have no fields of their own: the message is returned with a field in front that Hotmail has
 * added, with the recipient in it.
 */
import { headerOf } from '../parse/header-values.ts'
import type { MailReport } from './mail-report.ts'
import { originalMessageIdOf, returnedFieldsOf } from './original-message.ts'
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
const OF_HOTMAIL = 'x-hmxmroriginalrecipient'

/** Undefined when the message is no such report. */
export function readComplaint(source: ReportSource): readonly MailReport[] | undefined {
  const part = source.parts.find(({ type }) => type === 'message/feedback-report')
  const recipientAtHotmail = fieldOf(returnedFieldsOf(source), OF_HOTMAIL)
  if (part === undefined && recipientAtHotmail === undefined) return undefined
  const [fields = []] = part === undefined ? [] : readFieldGroups(part.content, 1)
  const feedbackType = feedbackTypeOf(
    part === undefined ? 'abuse' : fieldOf(fields, 'feedback-type'),
  )
  if (NO_COMPLAINTS.has(feedbackType)) return []
  const originalMessageId = originalMessageIdOf({ ...source, text: '' })
  const reportedAtMicros = microsOf(
    fieldOf(fields, 'arrival-date') ??
      fieldOf(fields, 'received-date') ??
      (part === undefined ? headerOf(source.headers, 'date') : ''),
  )
  const reportingHost = boundedHost(typedText(fieldOf(fields, 'reporting-mta')))
  const envelopeId = boundedId(fieldOf(fields, 'original-envelope-id'))
  const common = {
    kind: 'complaint' as const,
    isHard: false,
    feedbackType,
    diagnostic: boundedText(feedbackType),
    ...(originalMessageId === undefined ? {} : { originalMessageId }),
    ...(reportedAtMicros === undefined ? {} : { reportedAtMicros }),
    ...(reportingHost === undefined ? {} : { reportingHost }),
    ...(envelopeId === undefined ? {} : { envelopeId }),
  }
  const recipients = recipientsOf(fields, recipientAtHotmail)
  if (recipients.length === 0) return [common]
  return recipients.map((recipient) => ({ ...common, recipient }))
}

function feedbackTypeOf(value = 'other'): string {
  return value.trim().toLowerCase().slice(0, 40)
}

function recipientsOf(fields: Fields, atHotmail: string | undefined): readonly string[] {
  const told = fields.flatMap(({ name, value }) =>
    /^(original-rcpt-to|removal-recipient)$/i.test(name) ? value : [],
  )
  const known = (values: readonly (string | undefined)[]) =>
    values
      .slice(0, RECIPIENTS_MAX)
      .flatMap((value) =>
        value === undefined || HIDDEN.test(value) ? [] : (addressIn(value) ?? []),
      )
  const named = known(told)
  return [...new Set(named.length > 0 ? named : known([atHotmail]))]
}
