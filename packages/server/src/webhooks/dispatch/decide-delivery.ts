/**
 * Decides what follows a webhook request (contract §1 `WEBHOOK_RETRY_*`, §4, §5).
 *
 * 2xx delivers. Everything else, redirects and 410 included, is tried again by the schedule, whose
 * last wait repeats until `retryForMs` have passed since the delivery was made; then it is
 * exhausted: kept, and had by replay. `Retry-After` is honoured between the schedule's current
 * wait and its longest.
 */
export interface DeliveryPolicy {
  readonly retryScheduleMs: readonly number[]
  readonly retryForMs: number
}

export type DeliveryOutcome =
  | { readonly kind: 'answered'; readonly status: number; readonly retryAfterMs?: number }
  | { readonly kind: 'failed' }

export type DeliveryStep =
  | { readonly kind: 'delivered' }
  | { readonly kind: 'retry'; readonly waitMs: number }
  /** Given up; the stream still waits before it tries the next events on the same receiver. */
  | { readonly kind: 'exhausted'; readonly waitMs: number }

const JITTER = 0.2

/**
 * @param failCount failures of this stream in a row before this one
 * @param ageMs since the delivery was made
 * @param random in [0, 1)
 */
export function decideDelivery(
  outcome: DeliveryOutcome,
  o: { readonly failCount: number; readonly ageMs: number; readonly random: number },
  policy: DeliveryPolicy,
): DeliveryStep {
  if (outcome.kind === 'answered' && outcome.status >= 200 && outcome.status < 300)
    return { kind: 'delivered' }
  const schedule = policy.retryScheduleMs
  const last = schedule.at(-1) ?? 0
  const current = schedule[o.failCount] ?? last
  const asked = outcome.kind === 'answered' ? outcome.retryAfterMs : undefined
  const longest = Math.max(...schedule)
  const jittered = current * (1 - JITTER + 2 * JITTER * o.random)
  const waitMs = Math.round(
    asked === undefined ? jittered : Math.min(Math.max(asked, current), longest),
  )
  if (o.ageMs >= policy.retryForMs) return { kind: 'exhausted', waitMs }
  // The last attempt is made when the time is over, not a whole wait after it.
  return { kind: 'retry', waitMs: Math.min(waitMs, Math.max(0, policy.retryForMs - o.ageMs)) }
}

/** RFC 9110 §10.2.3: seconds, or a date; anything else reads as absent. */
export function parseRetryAfter(header: string | undefined, now: Date): number | undefined {
  if (header === undefined) return undefined
  if (/^[0-9]{1,9}$/.test(header)) return Number(header) * 1000
  if (!/^[A-Za-z]{3,9}, /.test(header)) return undefined
  const at = Date.parse(header)
  return Number.isNaN(at) ? undefined : Math.max(0, at - now.getTime())
}
