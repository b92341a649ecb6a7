/**
 * Decides what follows a failed attempt (docs/reference/sending.md#attempts).
 *
 * `retry_scheduled` on the wire is this decision, never arithmetic on the counters: a permanent
 * failure gives up on attempt 1.
 */
export interface AttemptFailure {
  readonly retryable: boolean
  readonly attempt: number
  readonly maxAttempts: number
  /** The least wait that this failure asks for, such as greylisting's. */
  readonly retryAfterMsMin?: number
}

export type NextStep =
  | { readonly kind: 'retry'; readonly waitMs: number }
  | { readonly kind: 'give-up'; readonly because: 'permanent' | 'budget-exhausted' }

const JITTER = 0.2

/**
 * @param scheduleMs wait after attempt 1, 2, ...; the last repeats
 * @param random in [0, 1)
 */
export function decideNextStep(
  failure: AttemptFailure,
  scheduleMs: readonly number[],
  random: number,
): NextStep {
  if (!failure.retryable) return { kind: 'give-up', because: 'permanent' }
  if (failure.attempt >= failure.maxAttempts)
    return { kind: 'give-up', because: 'budget-exhausted' }
  const current = scheduleMs[failure.attempt - 1] ?? scheduleMs.at(-1) ?? 0
  const jittered = current * (1 - JITTER + 2 * JITTER * random)
  // What a failure asks for is honoured up to the schedule's longest wait.
  const asked = Math.min(failure.retryAfterMsMin ?? 0, Math.max(...scheduleMs))
  return { kind: 'retry', waitMs: Math.round(Math.max(jittered, asked)) }
}
