/**
 * Reports of failed and of delayed deliveries. What they say is read in the order of read-reports.ts:
 * what the fields leave open is told by the text, and what the text leaves open by the subject.
 */
import { judgeBounce } from '../judge-bounce.ts'
import { namesAnother } from '../other-recipients.ts'
import { decodeHeaderText, headerOf } from '../parse/header-values.ts'
import type { MailReport } from './mail-report.ts'
import { originalMessageIdOf } from './original-message.ts'
import { type RecipientFields, readStatusPart, type StatusPart } from './read-status-part.ts'
import { type ReportWords, readWords } from './read-words.ts'
import { isOfMachine, kindOfReport, kindOfSubject } from './report-phrases.ts'
import type { ReportSource } from './report-source.ts'
import {
  addressIn,
  boundedText,
  microsOf,
  RECIPIENTS_MAX,
  replyIn,
  statusIn,
} from './report-text.ts'

type Kind = 'bounce' | 'deferral'

const BEGINNING_CHARS = 500
const NO_FIELDS: RecipientFields = {
  recipient: undefined,
  isForwarded: false,
  action: undefined,
  status: undefined,
  diagnostic: '',
  remoteHost: undefined,
}

/** None where the message is no such report. */
export function readBounce(source: ReportSource): readonly MailReport[] {
  const { headers } = source
  const part = readStatusPart(source)
  const ofSubject = kindOfSubject(decodeHeaderText(headerOf(headers, 'subject')))
  const failed = headerOf(headers, 'x-failed-recipients')
  const isReport = part !== undefined || failed !== '' || isFromServer(source, ofSubject)
  if (!isReport) return []
  const words = readWords(source)
  const ofWords = kindOfReport(words.text, ofSubject) ?? (failed === '' ? undefined : 'bounce')
  const named = namedRecipients(part, failed, words)
  const common = commonOf(source, part)
  return named.flatMap((fields) => {
    const kind = kindOf(fields, ofWords)
    if (kind === undefined) return []
    return { ...common, ...toReport(kind, fields, words, named.length === 1) }
  })
}

/** Automatic answers have no return-path either: of these the subject has to say so. */
function isFromServer({ headers }: ReportSource, ofSubject: Kind | undefined): boolean {
  if (isOfMachine(headerOf(headers, 'from'))) return true
  return ofSubject !== undefined && headerOf(headers, 'return-path').trim() === '<>'
}

/** By the fields, else by the header that Exim and Gmail write, else by the text; one of nobody else. */
function namedRecipients(
  part: StatusPart | undefined,
  failed: string,
  { said }: ReportWords,
): readonly RecipientFields[] {
  const fields = part?.recipients ?? []
  const inHeader = failed.split(',', RECIPIENTS_MAX).flatMap((one) => addressIn(one) ?? [])
  const others = unique(inHeader.length > 0 ? inHeader : [...said.keys()])
  const [only] = fields
  if (only?.recipient === undefined && fields.length === 1 && others.length === 1)
    return [{ ...NO_FIELDS, ...only, recipient: others[0] }]
  if (fields.length > 0) return fields
  if (others.length === 0) return [NO_FIELDS]
  return others.map((recipient) => ({ ...NO_FIELDS, recipient }))
}

function unique(addresses: readonly string[]): readonly string[] {
  return [...new Map(addresses.map((one) => [one.toLowerCase(), one])).values()]
}

function kindOf({ action, status }: RecipientFields, ofWords: Kind | undefined): Kind | undefined {
  if (action === 'none') return undefined
  if (action === 'bounce' || action === 'deferral') return action
  const statusClass = status?.[0]
  if (statusClass === '2') return undefined
  if (statusClass === '5') return 'bounce'
  return ofWords ?? (statusClass === '4' ? 'deferral' : undefined)
}

function commonOf(source: ReportSource, part: StatusPart | undefined) {
  const originalMessageId = originalMessageIdOf(source)
  const reportedAtMicros = microsOf(headerOf(source.headers, 'date'))
  const { reportingHost, envelopeId } = part ?? {}
  return {
    ...(originalMessageId === undefined ? {} : { originalMessageId }),
    ...(reportedAtMicros === undefined ? {} : { reportedAtMicros }),
    ...(reportingHost === undefined ? {} : { reportingHost }),
    ...(envelopeId === undefined ? {} : { envelopeId }),
  }
}

function toReport(
  kind: Kind,
  fields: RecipientFields,
  words: ReportWords,
  isAlone: boolean,
): Omit<MailReport, 'kind' | 'originalMessageId'> & { readonly kind: Kind } {
  const { recipient, remoteHost } = fields
  const reason = fields.diagnostic || boundedText(reasonOf(recipient, words, isAlone))
  const status = fields.status ?? statusIn(reason)
  // Of what a whole text says, nothing is known for good.
  const { isOfAddress, classified } = judgeBounce({ recipient, status, diagnostic: reason })
  const isClear =
    !fields.isForwarded && fields.action !== 'unknown' && !isAboutOther(recipient, words)
  return {
    kind,
    ...(kind === 'bounce' ? { isHard: isOfAddress && isClear, classified } : { isHard: false }),
    diagnostic: reason || boundedText(isAlone ? words.text.slice(0, BEGINNING_CHARS) : ''),
    ...(recipient === undefined ? {} : { recipient }),
    ...(status === undefined ? {} : { status }),
    ...(remoteHost === undefined ? {} : { remoteHost }),
  }
}

/** The text names another where it speaks of the recipient: `forwarded to`, `generated from`. */
function isAboutOther(recipient: string | undefined, { said }: ReportWords): boolean {
  const block = said.get(recipient?.toLowerCase() ?? '') ?? ''
  return (
    /\b(?:forward|redirect|generated from|alias|expand)/i.test(block) &&
    namesAnother(block, recipient)
  )
}

/** Whom a reply was given for may stand below it. */
const RECIPIENT_BELOW =
  /\n\s{0,20}(?:failed recipient\(s\):\s{0,20})?<?[^\s<>@]{1,64}@[^\s<>@]{1,255}>?\s{0,20}$/i

/** Without the next paragraph, which is no part of it. */
function withoutRest(reply: string): string {
  const [said = ''] = reply.split('\n\n', 1)
  return said.replace(RECIPIENT_BELOW, '')
}

/** What the text says of a recipient: a reply, else words. Of several, nobody knows whose reply a text holds. */
function reasonOf(
  recipient: string | undefined,
  { text, said, introduction }: ReportWords,
  isAlone: boolean,
): string {
  const block = said.get(recipient?.toLowerCase() ?? '') ?? ''
  const reply = replyIn(block) ?? (isAlone ? replyIn(text) : undefined)
  if (reply !== undefined) return withoutRest(reply)
  // `The following recipients are unknown:`
  const isSaid = judgeBounce({ recipient, status: undefined, diagnostic: introduction }).isOfAddress
  if (isAlone && isSaid) return introduction
  return block.trim() !== '' || !isAlone || recipient === undefined ? block : introduction
}
