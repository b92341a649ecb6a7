/**
 * The fields of a delivery report (RFC 3464 §2, with addresses of RFC 6533): one group on the message,
 * then one for each recipient. Some put both into one group, and some leave half of the fields out.
 */
import { isSameRecipient } from '../other-recipients.ts'
import type { MailReport } from './mail-report.ts'
import { type Fields, fieldOf, readFieldGroups } from './read-field-groups.ts'
import type { ReportSource } from './report-source.ts'
import {
  addressIn,
  boundedHost,
  boundedId,
  boundedText,
  RECIPIENTS_MAX,
  statusIn,
  typedAddress,
  typedText,
} from './report-text.ts'

export interface StatusPart {
  readonly reportingHost: string | undefined
  readonly envelopeId: string | undefined
  /** At most `RECIPIENTS_MAX`. */
  readonly recipients: readonly RecipientFields[]
}

export interface RecipientFields {
  /** What we have sent to, which a server may have rewritten since. */
  readonly recipient: string | undefined
  /** Who failed is another: mail to the recipient was forwarded, and not to them alone. */
  readonly isForwarded: boolean
  /** `none`: it was delivered, relayed or expanded. Undefined: its action is missing. */
  readonly action: MailReport['kind'] | 'none' | 'unknown' | undefined
  readonly status: string | undefined
  /** Of `Diagnostic-Code`; '' without. */
  readonly diagnostic: string
  readonly remoteHost: string | undefined
}

const TYPES: ReadonlySet<string> = new Set([
  'message/delivery-status',
  'message/global-delivery-status',
])

/** Undefined when the message has none. */
export function readStatusPart({ parts }: ReportSource): StatusPart | undefined {
  const part = parts.find(({ type }) => TYPES.has(type))
  if (part === undefined) return undefined
  const groups = readFieldGroups(part.content, RECIPIENTS_MAX + 1)
  const ofMessage = groups.find((fields) => fieldOf(fields, 'reporting-mta') !== undefined) ?? []
  return {
    reportingHost: boundedHost(typedText(fieldOf(ofMessage, 'reporting-mta'))),
    envelopeId: boundedId(fieldOf(ofMessage, 'original-envelope-id')),
    recipients: groups.filter(isOfRecipient).slice(0, RECIPIENTS_MAX).map(readRecipient),
  }
}

function isOfRecipient(fields: Fields): boolean {
  return ['final-recipient', 'original-recipient', 'action'].some(
    (name) => fieldOf(fields, name) !== undefined,
  )
}

function readRecipient(fields: Fields): RecipientFields {
  const original = typedAddress(fieldOf(fields, 'original-recipient'))
  const final = typedAddress(fieldOf(fields, 'final-recipient'))
  return {
    recipient: original ?? final ?? addressIn(fieldOf(fields, 'x-actual-recipient') ?? ''),
    isForwarded: original !== undefined && final !== undefined && !isSameRecipient(original, final),
    action: actionOf(fieldOf(fields, 'action') ?? ''),
    status: statusIn(fieldOf(fields, 'status') ?? ''),
    diagnostic: boundedText(typedText(fieldOf(fields, 'diagnostic-code')) ?? ''),
    remoteHost: boundedHost(typedText(fieldOf(fields, 'remote-mta'))),
  }
}

function actionOf(value: string): RecipientFields['action'] {
  const action = value.trim().toLowerCase()
  if (action.startsWith('fail')) return 'bounce'
  if (action.startsWith('delay')) return 'deferral'
  if (/^(deliver|relay|expand)/.test(action)) return 'none'
  return action === '' ? undefined : 'unknown'
}
