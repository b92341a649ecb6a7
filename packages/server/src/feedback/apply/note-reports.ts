/**
 * What is told of applied reports: counts of what recipients and their servers report, and the log line of each
 * bounce, with what it rests on and whether its address is suppressed. Never a local part.
 */
import type { RelayKind } from '@postrider/contract'
import { type Classified, hideAddresses } from '@postrider/mail'
import type { Logger } from '../../platform/log.ts'
import type { Metrics } from '../../platform/metrics.ts'
import type { RelayFact } from '../../relays/index.ts'

export interface LoggedBounce {
  readonly tenantId: string
  readonly refId: string
  readonly n: number
  readonly email: string
  readonly mailerId: string
  readonly traceparent: string
  /** Undefined: a mail server, by mail. */
  readonly relay: RelayKind | undefined
  readonly isHard: boolean | undefined
  readonly suppresses: RelayFact['suppresses'] | undefined
  readonly classified: Classified | undefined
}

const recipientReports = ['hard_bounce', 'soft_bounce', 'complaint', 'unsubscription'] as const
export type RecipientReport = (typeof recipientReports)[number]

/** Undefined for what says nothing against the recipient's address. */
export function recipientReportOf({
  kind,
  isHard,
}: Pick<RelayFact, 'kind' | 'isHard'>): RecipientReport | undefined {
  if (kind === 'bounced') return isHard === true ? 'hard_bounce' : 'soft_bounce'
  if (kind === 'complained') return 'complaint'
  return kind === 'unsubscribed' ? 'unsubscription' : undefined
}

/** After the commit. */
export type NoteReports = (applied: {
  readonly bounces: readonly LoggedBounce[]
  readonly recipientReports: readonly RecipientReport[]
}) => void

export function createReportNotes(deps: {
  readonly log: Logger
  readonly metrics: Metrics
}): NoteReports {
  const count = deps.metrics.counterOf(
    'recipient_reports_total',
    'Reports on recipients that were applied, of relay providers and by mail',
    'kind',
    recipientReports,
  )
  return ({ bounces, recipientReports: reports }) => {
    for (const kind of reports) count(kind)
    logBounces(deps.log, bounces)
  }
}

function logBounces(log: Logger, bounces: readonly LoggedBounce[]): void {
  for (const { email, classified, ...bounce } of bounces)
    log.info(
      {
        tenant_id: bounce.tenantId,
        ref_id: bounce.refId,
        n: bounce.n,
        mailer_id: bounce.mailerId,
        relay: bounce.relay,
        domain: email.slice(email.lastIndexOf('@') + 1),
        hard: bounce.isHard,
        suppressed: bounce.suppresses !== undefined,
        classified: classified && {
          ...classified,
          evidence: hideAddresses(classified.evidence, email),
        },
        traceparent: bounce.traceparent,
      },
      'bounce.reported',
    )
}
