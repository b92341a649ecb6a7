/**
 * Delivery reports (RFC 3464, with addresses of RFC 6533): one group of fields on the message, then one
 * for each recipient. Success, relaying and expansion are no news here.
 */
import { headerOf } from '../parse/header-values.ts'
import { decideHardness } from './decide-hardness.ts'
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
  replyIn,
  statusIn,
  typedAddress,
  typedText,
} from './report-text.ts'

const STATUS_PARTS: ReadonlySet<string> = new Set([
  'message/delivery-status',
  'message/global-delivery-status',
])
const TEXT_CHARS_MAX = 65_536
const BEGINNING_CHARS = 500

/** Undefined when the message is no such report. */
export function readDeliveryReport(source: ReportSource): readonly MailReport[] | undefined {
  const part = source.parts.find(({ type }) => STATUS_PARTS.has(type))
  if (part === undefined) return undefined
  const groups = readFieldGroups(part.content, RECIPIENTS_MAX + 1)
  const text = source.text.slice(0, TEXT_CHARS_MAX)
  const original = findOriginal(source, text)
  const ofRecipients = groups.filter(isOfRecipient)
  const ofMessage = groups.find((fields) => fieldOf(fields, 'reporting-mta') !== undefined) ?? []
  const reportedAtMicros = microsOf(headerOf(source.headers, 'date'))
  const reportingHost = boundedHost(typedText(fieldOf(ofMessage, 'reporting-mta')))
  const envelopeId = boundedId(fieldOf(ofMessage, 'original-envelope-id'))
  const common = {
    ...(original.messageId === undefined ? {} : { originalMessageId: original.messageId }),
    ...(reportedAtMicros === undefined ? {} : { reportedAtMicros }),
    ...(reportingHost === undefined ? {} : { reportingHost }),
    ...(envelopeId === undefined ? {} : { envelopeId }),
  }
  // Of several, nobody knows whose reply a text holds.
  const isAlone = ofRecipients.length === 1
  return ofRecipients.slice(0, RECIPIENTS_MAX).flatMap((fields) => {
    const kind = kindOf(fields)
    if (kind === undefined) return []
    const recipient = recipientOf(fields) ?? original.recipient
    const told = typedText(fieldOf(fields, 'diagnostic-code'))
    const reply = boundedText(told || (isAlone ? replyParagraph(text) : ''))
    const diagnostic = reply || boundedText(isAlone ? text.slice(0, BEGINNING_CHARS) : '')
    const status = statusIn(fieldOf(fields, 'status') ?? '') ?? statusIn(reply)
    const remoteHost = boundedHost(typedText(fieldOf(fields, 'remote-mta')))
    return {
      kind,
      isHard: kind === 'bounce' && decideHardness({ status, diagnostic: reply }),
      diagnostic,
      ...(recipient === undefined ? {} : { recipient }),
      ...(status === undefined ? {} : { status }),
      ...(remoteHost === undefined ? {} : { remoteHost }),
      ...common,
    }
  })
}

function replyParagraph(text: string): string {
  return (replyIn(text) ?? '').split('\n\n', 1)[0] ?? ''
}

/** Some put the fields of the message and those of its only recipient into one group. */
function isOfRecipient(fields: Fields): boolean {
  return ['final-recipient', 'original-recipient', 'action'].some(
    (name) => fieldOf(fields, name) !== undefined,
  )
}

function kindOf(fields: Fields): 'bounce' | 'deferral' | undefined {
  const [action = ''] = (fieldOf(fields, 'action') ?? '')
    .trim()
    .toLowerCase()
    .split(/[\s;(]/, 1)
  if (action.startsWith('fail')) return 'bounce'
  if (action.startsWith('delay')) return 'deferral'
  if (action !== '') return undefined
  const status = fieldOf(fields, 'status') ?? ''
  if (status.startsWith('5')) return 'bounce'
  return status.startsWith('4') ? 'deferral' : undefined
}

/** What we have sent to, which a server may have rewritten since. */
function recipientOf(fields: Fields): string | undefined {
  return (
    typedAddress(fieldOf(fields, 'original-recipient')) ??
    typedAddress(fieldOf(fields, 'final-recipient')) ??
    addressIn(fieldOf(fields, 'x-actual-recipient') ?? '')
  )
}
