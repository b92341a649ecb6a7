/**
 * Reports of SparkPost's event webhook: a JSON array of `{ "msys": { "<class>": {…} } }`.
 *
 * An event is what its `type` says: the class around it was seen to differ from the documents. A ping
 * has no event. Types that are not known, and those of no consequence here, are kept as `other`:
 * SparkPost adds types as it likes, and opens and clicks are seen by our own tracker.
 */
import { memberOf } from '../../platform/values/json.ts'
import { mailRefName, readMailRef } from '../callbacks/mail-ref.ts'
import { digestOf, type Report, readReports, reportsMax } from '../callbacks/read-reports.ts'
import { idLengthMax, microsOf, storable, textOf, wordsMax } from '../callbacks/report-fields.ts'
import type { RelayFact } from '../relay.ts'
import { decideMeaning } from './decide-meaning.ts'

const ADDRESS_LENGTH_MAX = 320
const IP_LENGTH_MAX = 45
const USER_AGENT_LENGTH_MAX = 1_000

interface ClassedEvent {
  readonly className: string
  readonly event: unknown
  readonly report: Report
}

/** Undefined when nothing in it is one of SparkPost's, or there is more than it ever sends. */
export function readCallback(body: string): readonly RelayFact[] | undefined {
  const reports = readReports(body)
  if (reports === undefined) return undefined
  const isOurs = reports.length === 0 || reports.some(({ value }) => classesOf(value) !== undefined)
  const events = reports.reduce((sum, { value }) => sum + countOf(value), 0)
  return isOurs && events <= reportsMax ? reports.flatMap(eventsOf).map(toFact) : undefined
}

/** Several in one report are not documented to happen: each is then a report of its own. */
function eventsOf(report: Report): ClassedEvent[] {
  const classes = classesOf(report.value)
  if (classes === undefined) return [{ className: '', event: undefined, report }]
  const events = Object.entries(classes)
  return events.map(([className, event]) => ({
    className,
    event,
    report: events.length === 1 ? report : reportOf({ msys: { [className]: event } }),
  }))
}

function reportOf(value: object): Report {
  return { value, raw: JSON.stringify(value) }
}

function countOf(report: unknown): number {
  const classes = classesOf(report)
  return classes === undefined ? 1 : Object.keys(classes).length
}

function classesOf(report: unknown): object | undefined {
  const classes = memberOf(report, 'msys')
  return typeof classes === 'object' && classes !== null && !Array.isArray(classes)
    ? classes
    : undefined
}

function toFact(classed: ClassedEvent): RelayFact {
  const { event, report, className } = classed
  const type = textOf(event, 'type') ?? storable(className, idLengthMax)
  const reason = textOf(event, 'raw_reason', wordsMax) ?? textOf(event, 'reason', wordsMax) ?? ''
  const meaning = decideMeaning({
    type,
    bounceClass: textOf(event, 'bounce_class'),
    feedbackType: textOf(event, 'fbtype')?.toLowerCase(),
    reason,
  })
  return {
    factId: factIdOf(classed),
    type,
    ...meaning,
    atMicros: microsOf(memberOf(event, 'timestamp')),
    ref: readMailRef(memberOf(memberOf(event, 'rcpt_meta'), mailRefName)),
    ...present({
      providerMessageId: textOf(event, 'message_id'),
      providerSendId: textOf(event, 'transmission_id'),
      // `rcpt_to` is in lower case.
      email:
        textOf(event, 'raw_rcpt_to', ADDRESS_LENGTH_MAX) ??
        textOf(event, 'rcpt_to', ADDRESS_LENGTH_MAX),
      errorCode: textOf(event, 'error_code'),
      numRetries: textOf(event, 'num_retries'),
      ...(type === 'link_unsubscribe' ? visitorOf(event) : {}),
    }),
    reason,
    raw: report.raw,
  }
}

/** Unique, as it says; else what it is. */
function factIdOf({ event, report }: ClassedEvent): string {
  const id = memberOf(event, 'event_id')
  const isExact = typeof id === 'string' ? id.length <= idLengthMax : Number.isSafeInteger(id)
  return (isExact ? textOf(event, 'event_id') : undefined) ?? digestOf(report)
}

function visitorOf(event: unknown) {
  return {
    ip: textOf(event, 'ip_address', IP_LENGTH_MAX),
    userAgent: textOf(event, 'user_agent', USER_AGENT_LENGTH_MAX),
  }
}

type Present<Fields> = { [Name in keyof Fields]?: Exclude<Fields[Name], undefined> }

function present<Fields extends object>(fields: Fields): Present<Fields> {
  const said = Object.entries(fields).filter(([, value]) => value !== undefined)
  return Object.fromEntries(said) as Present<Fields>
}
