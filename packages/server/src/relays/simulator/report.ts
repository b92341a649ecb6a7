/** The simulator's reports, read like a provider's: as text that was kept, for some time perhaps. */
import { memberOf } from '../../platform/values/json.ts'
import { mailRefName, readMailRef } from '../callbacks/mail-ref.ts'
import { digestOf, type Report, readReports } from '../callbacks/read-reports.ts'
import { microsOf, textOf, wordsMax } from '../callbacks/report-fields.ts'
import type { RelayFact, RelayFactKind } from '../relay.ts'

const kinds = [
  'delivered',
  'deferred',
  'bounced',
  'complained',
  'unsubscribed',
  'policy_rejected',
  'generation_failed',
  'generation_rejected',
] as const satisfies RelayFactKind[]

const suppressions = ['bounced', 'complained', 'unsubscribed'] as const

export interface SimulatedReport {
  readonly id: string
  readonly event: (typeof kinds)[number]
  readonly time: string
  readonly message_id: string
  readonly email: string
  readonly [mailRefName]: string
  readonly reason: string
  readonly hard?: boolean
  readonly suppresses?: (typeof suppressions)[number]
  readonly error_code?: string
  readonly num_retries?: string
  readonly ip?: string
  readonly user_agent?: string
}

export function readFacts(body: string): readonly RelayFact[] | undefined {
  return readReports(body)?.map(toFact)
}

function toFact(report: Report): RelayFact {
  const { value, raw } = report
  const isHard = memberOf(value, 'hard')
  const suppresses = suppressions.find((one) => one === memberOf(value, 'suppresses'))
  return {
    factId: textOf(value, 'id') ?? digestOf(report),
    kind: kinds.find((one) => one === memberOf(value, 'event')) ?? 'other',
    type: textOf(value, 'event', 100) ?? '',
    atMicros: microsOf(memberOf(value, 'time')),
    ref: readMailRef(memberOf(value, mailRefName)),
    reason: textOf(value, 'reason', wordsMax) ?? '',
    ...(typeof isHard === 'boolean' ? { isHard } : {}),
    ...(suppresses === undefined ? {} : { suppresses }),
    ...optional(value),
    raw,
  }
}

const OPTIONAL = [
  ['providerMessageId', 'message_id'],
  ['providerSendId', 'message_id'],
  ['email', 'email'],
  ['errorCode', 'error_code'],
  ['numRetries', 'num_retries'],
  ['ip', 'ip'],
  ['userAgent', 'user_agent'],
] as const

function optional(value: unknown): Partial<Record<(typeof OPTIONAL)[number][0], string>> {
  return Object.fromEntries(
    OPTIONAL.flatMap(([name, written]) => {
      const text = textOf(value, written)
      return text === undefined ? [] : [[name, text]]
    }),
  )
}
