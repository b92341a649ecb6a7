/**
 * Reports of SendGrid's Event Webhook: a JSON array of flat objects, in which what was given along
 * with a mail stands beside SendGrid's own fields.
 *
 * What it says in `status` and `attempt` stays in the report: `error_code` and `num_retries` are
 * relayed from the other provider only (docs/reference/events.md#fields). Opens and clicks are seen by our
 * own tracker. Reports of mail that was not sent from here have no name of ours; they are facts of nothing,
 * and the matching of reports finds that out.
 */
import { memberOf } from '../../platform/values/json.ts'
import { mailRefName, readMailRef } from '../callbacks/mail-ref.ts'
import { digestOf, type Report, readReports } from '../callbacks/read-reports.ts'
import { microsOf, textOf, wordsMax } from '../callbacks/report-fields.ts'
import type { RelayFact, RelayFactKind } from '../relay.ts'

type Meaning = Pick<
  RelayFact,
  'kind' | 'isHard' | 'suppresses' | 'status' | 'providerSays' | 'classified'
>

const KINDS: ReadonlyMap<string, RelayFactKind> = new Map([
  ['processed', 'processed'],
  ['delivered', 'delivered'],
  ['deferred', 'deferred'],
  ['spamreport', 'complained'],
  ['unsubscribe', 'unsubscribed'],
  ['group_unsubscribe', 'unsubscribed'],
])

/**
 * Why it did not even try, which is the end of this mail as a bounce is. Its own lists are those of
 * the account: an address on one of them would be dropped again.
 */
const DROPPED: ReadonlyMap<string, Meaning> = new Map([
  ['bounced address', onList('Bounced Address')],
  ['invalid', onList('Invalid')],
  ['unsubscribed address', { kind: 'bounced', isHard: true, suppresses: 'unsubscribed' }],
  ['spam reporting address', { kind: 'bounced', isHard: true, suppresses: 'complained' }],
])

/** Of a refusal for good, what is no fault of the address (`bounce_classification`). */
const FAULT_OF_SENDER = /content|reputation|technical|frequency|volume/

/** Undefined when nothing in it is one of SendGrid's reports. */
export function readFacts(body: string): readonly RelayFact[] | undefined {
  const reports = readReports(body)
  if (reports === undefined) return undefined
  const isOurs = reports.length === 0 || reports.some(({ value }) => typeOf(value) !== '')
  return isOurs ? reports.map(toFact) : undefined
}

function toFact(report: Report): RelayFact {
  const { value, raw } = report
  const type = typeOf(value)
  const messageId = textOf(value, 'sg_message_id')
  const email = textOf(value, 'email', 320)
  const meaning = meaningOf(type.toLowerCase(), value)
  return {
    factId: textOf(value, 'sg_event_id') ?? digestOf(report),
    type,
    ...meaning,
    atMicros: microsOf(memberOf(value, 'timestamp')),
    ref: readMailRef(memberOf(value, mailRefName)),
    ...(messageId === undefined
      ? {}
      : { providerMessageId: messageId, providerSendId: sendIdOf(messageId) }),
    ...(email === undefined ? {} : { email }),
    reason: textOf(value, 'reason', wordsMax) ?? textOf(value, 'response', wordsMax) ?? '',
    ...(meaning.kind === 'unsubscribed' ? visitorOf(value) : {}),
    raw,
  }
}

function typeOf(report: unknown): string {
  const type = memberOf(report, 'event')
  return typeof type === 'string' ? (textOf(report, 'event', 100) ?? '') : ''
}

function meaningOf(type: string, report: unknown): Meaning {
  if (type === 'bounce' || type === 'blocked') return bounceOf(type, report)
  if (type === 'dropped') return droppedOf(report)
  const kind = KINDS.get(type) ?? 'other'
  if (kind === 'complained' || kind === 'unsubscribed') return { kind, suppresses: kind }
  return { kind }
}

/** `type` is `bounce` for good and `blocked` or `expired` for now; older reports have a status only. */
function bounceOf(event: string, report: unknown): Meaning {
  const type = textOf(report, 'type')?.toLowerCase() ?? (event === 'blocked' ? event : undefined)
  const isHard = type === undefined ? /^5/.test(textOf(report, 'status') ?? '') : type === 'bounce'
  const classification = textOf(report, 'bounce_classification')?.toLowerCase() ?? ''
  const isOfAddress = isHard && !FAULT_OF_SENDER.test(classification)
  const status = textOf(report, 'status')
  return {
    kind: 'bounced',
    isHard,
    ...(isOfAddress ? { suppresses: 'bounced' } : {}),
    ...(isHard && classification === 'invalid address' ? { providerSays: 'Invalid Address' } : {}),
    ...(status === undefined ? {} : { status }),
  }
}

function onList(evidence: string): Meaning {
  return {
    kind: 'bounced',
    isHard: true,
    suppresses: 'bounced',
    classified: { category: 'invalid_recipient', by: 'words', evidence },
  }
}

/** What it gives where it has none. */
const GENERAL_STATUS = '5.0.0'

function droppedOf(report: unknown): Meaning {
  const reasons = [textOf(report, 'reason'), textOf(report, 'type')]
  const found = reasons.flatMap((reason) => DROPPED.get(reason?.toLowerCase() ?? '') ?? [])[0]
  if (found?.suppresses !== 'bounced') return found ?? { kind: 'bounced', isHard: false }
  const status = textOf(report, 'status')
  return status === undefined || status === GENERAL_STATUS ? found : { ...found, status }
}

function visitorOf(report: unknown): Pick<RelayFact, 'ip' | 'userAgent'> {
  const ip = textOf(report, 'ip', 45)
  const userAgent = textOf(report, 'useragent', 1_000)
  return {
    ...(ip === undefined ? {} : { ip }),
    ...(userAgent === undefined ? {} : { userAgent }),
  }
}

/**
 * The id that Mail Send answered (`X-Message-Id`): what `sg_message_id` has in front of the name of the
 * machine that took the mail. An id that begins with such a name has none in it, and is kept whole: all
 * mail of that machine begins so.
 */
function sendIdOf(messageId: string): string {
  const machine = messageId.search(/(^|\.)[a-z]*(filter|recvd)/)
  const end = machine === -1 ? messageId.indexOf('.') : machine
  return end > 0 ? messageId.slice(0, end) : messageId
}
