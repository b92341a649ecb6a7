/**
 * The canonical log line of an attempt, its outcome in metrics, and its span: what was tried, at which host,
 * for which domain, and what the host replied. Never content, never a local part.
 */
import { classifiedOf, hideAddresses } from '@postrider/mail'
import type { Logger } from '../../platform/log.ts'
import { continueTrace } from '../../platform/trace.ts'
import type { SpanRecord, Tracing } from '../../platform/tracing/span.ts'
import { withoutStatus } from '../../relays/index.ts'
import { messageAttributes } from '../message-attributes.ts'
import { domainOf } from '../record/email.ts'
import type { Ending } from '../results/ending.ts'
import type { Ended } from '../results/finish-attempts.ts'
import type { AttemptFailed, Claim, ReadMailer } from './attempt.ts'

export interface AttemptLogDeps {
  readonly log: Logger
  readonly observe: (o: { outcome: string; durationMs: number }) => void
  readonly tracing?: Tracing | undefined
}

export interface LoggedAttempt {
  readonly ending: Ending
  readonly durationMs: number
  /** How long ago it ended, by a clock that cannot be set. */
  readonly endedAgoMs: number
  /** Of the acceptance of its email. */
  readonly traceparent: string
  /** Of the recipient. */
  readonly email: string
  readonly mailer: ReadMailer | undefined
}

export function logAttempt(deps: AttemptLogDeps, attempt: LoggedAttempt, { isLost }: Ended): void {
  const { ending, durationMs, email, mailer } = attempt
  const outcome = outcomeOf(ending)
  deps.observe({ outcome: isLost ? 'lost' : outcome, durationMs })
  deps.tracing?.record(spanOf(attempt, isLost ? 'lost' : outcome))
  deps.log.info(
    {
      ...idsOf(ending.claim),
      host: hostOf(mailer),
      domain: domainOf(email),
      outcome,
      ...describe(attempt),
      duration_ms: Math.round(durationMs),
      is_lost: isLost || undefined,
    },
    'attempt.finished',
  )
}

/** A child of the acceptance, in whatever process that was. */
function spanOf(attempt: LoggedAttempt, outcome: string): SpanRecord {
  const { ending, durationMs, endedAgoMs, mailer, traceparent } = attempt
  const { claim } = ending
  const isFailed = ending.kind === 'finished' && ending.result.kind === 'failed'
  const error = isFailed ? ending.result.category : undefined
  const isSmtp = typeof mailer === 'object' && mailer.kind === 'smtp'
  return {
    name: 'attempt',
    kind: 'client',
    traceparent: continueTrace(traceparent),
    parent: traceparent,
    ...{ endedAgoMs, durationMs, error },
    attributes: {
      ...messageAttributes(claim),
      'server.address': isSmtp ? mailer.host : undefined,
      'server.port': isSmtp ? mailer.port : undefined,
      'network.protocol.name': isSmtp ? 'smtp' : undefined,
      'postrider.relay': isSmtp ? undefined : hostOf(mailer),
      'postrider.mailer_id': claim.mailerId,
      'postrider.recipient': claim.n,
      'postrider.attempt': claim.attempt,
      'postrider.outcome': outcome,
      'error.type': error,
    },
  }
}

/** A mail server, or a relay provider. */
export function hostOf(mailer: ReadMailer | undefined): string | undefined {
  if (typeof mailer !== 'object') return undefined
  return mailer.kind === 'smtp' ? mailer.host : mailer.account.kind
}

export function idsOf(claim: Claim): Record<string, unknown> {
  return {
    tenant_id: claim.tenantId,
    ref_id: claim.refId,
    n: claim.n,
    mailer_id: claim.mailerId,
    attempt: claim.attempt,
    max_attempts: claim.maxAttempts,
  }
}

function outcomeOf(ending: Ending): string {
  if (ending.kind === 'undone') return 'undone'
  if (ending.kind === 'stopped') return ending.status
  if (ending.result.kind !== 'failed') return 'accepted'
  if (ending.result.isUncertain) return 'uncertain'
  return ending.next?.kind === 'retry' ? 'deferred' : 'failed'
}

function classifiedFor(
  { category, providerError }: AttemptFailed,
  { email, mailer }: LoggedAttempt,
) {
  const isRelay = typeof mailer === 'object' && mailer.kind !== 'smtp'
  const reply = isRelay ? withoutStatus(providerError) : providerError
  const { by, evidence } = classifiedOf(category, reply)
  return { by, evidence: hideAddresses(evidence, email) }
}

function describe(attempt: LoggedAttempt): Record<string, unknown> {
  const { ending, email } = attempt
  if (ending.kind === 'undone') return { wait_ms: ending.undo.waitMs }
  if (ending.kind === 'stopped') return {}
  const { result, next, traceparent } = ending
  return {
    ...(result.kind === 'failed'
      ? {
          category: result.category,
          classified: classifiedFor(result, attempt),
          reply: hideAddresses(result.providerError, email),
        }
      : {}),
    ...(next?.kind === 'retry' ? { wait_ms: next.waitMs } : {}),
    ...(next?.kind === 'give-up' ? { because: next.because } : {}),
    traceparent,
  }
}
