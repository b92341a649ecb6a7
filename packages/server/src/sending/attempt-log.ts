/** The canonical log line of an attempt, and its outcome in metrics. Never content, never addresses. */
import type { Logger } from '../platform/log.ts'
import type { Claim } from './attempt.ts'
import type { Ending } from './ending.ts'
import type { Ended } from './finish-attempts.ts'

export interface AttemptLogDeps {
  readonly log: Logger
  readonly observe: (o: { outcome: string; durationMs: number }) => void
}

export function logAttempt(
  deps: AttemptLogDeps,
  ending: Ending,
  { isLost }: Ended,
  durationMs: number,
): void {
  const outcome = outcomeOf(ending)
  deps.observe({ outcome: isLost ? 'lost' : outcome, durationMs })
  deps.log.info(
    {
      ...idsOf(ending.claim),
      outcome,
      ...describe(ending),
      duration_ms: Math.round(durationMs),
      is_lost: isLost || undefined,
    },
    'attempt.finished',
  )
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

function describe(ending: Ending): Record<string, unknown> {
  if (ending.kind === 'undone') return { wait_ms: ending.undo.waitMs }
  if (ending.kind === 'stopped') return {}
  const { result, next, traceparent } = ending
  return {
    ...(result.kind === 'failed' ? { category: result.category } : {}),
    ...(next?.kind === 'retry' ? { wait_ms: next.waitMs } : {}),
    ...(next?.kind === 'give-up' ? { because: next.because } : {}),
    traceparent,
  }
}
