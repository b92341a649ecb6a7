/**
 * Decides what follows a webhook request (docs/reference/webhooks.md#retries).
 *
 * A 2xx delivers. 400, 413, 415 and 422 refuse the content: the receiver is up, so its stream goes on,
 * and the events are divided until the offending one stands alone; that one is parked and tried again by
 * a schedule of its own. Everything else, redirects and 410 included, is a failure of the receiver: the
 * stream waits by the schedule, whose last wait repeats, and sends the same again. A receiver that
 * refuses one event after the other refuses everything, it seems: what it refuses is divided and parked
 * as ever, but after each event that it refuses for the first time its stream waits. These waits do not
 * grow: as many events may be at fault, with others behind them that would be accepted. A request that
 * met a closed connection is a failed attempt like any other, and is repeated at once, on a new one.
 *
 * After `retryForMs` a delivery is exhausted: kept, and had by replay. What waits behind it for as long is given
 * up by `clear-stream.ts`. `Retry-After` is honoured between the schedule's current wait and its longest.
 */
export interface DeliveryPolicy {
  readonly retryScheduleMs: readonly number[]
  readonly retryForMs: number
}

export type DeliveryOutcome =
  | { readonly kind: 'answered'; readonly status: number; readonly retryAfterMs?: number }
  /** `wasKept`: a kept connection was closed before a byte of the answer, perhaps before the request came. */
  | { readonly kind: 'failed'; readonly wasKept?: boolean }

export interface DeliveryFacts {
  /** Of this delivery, before this request. */
  readonly attempts: number
  /** Since the delivery was made. */
  readonly ageMs: number
  readonly events: number
  /** Of the request's body. */
  readonly bytes: number
  /** The events were queued a moment ago, not divided, parked or frozen before. */
  readonly isNewBatch: boolean
  /** Its only event was refused alone before. */
  readonly isParked: boolean
  /** Failures of the stream in a row before this one, and since when. */
  readonly failCount: number
  readonly failingMs: number
  /** Events that were parked since a request was last accepted. */
  readonly parkedInRow: number
}

export type DeliveryStep =
  /** With `endsProbe` the next batches are of full size again. */
  | { readonly kind: 'delivered'; readonly endsProbe: boolean }
  | { readonly kind: 'retry'; readonly waitMs: number }
  | { readonly kind: 'divided'; readonly batchBytesMax?: number }
  /** With `backOffMs` the stream waits for so long, since its receiver refuses everything. */
  | { readonly kind: 'parked'; readonly waitMs: number; readonly backOffMs?: number }
  /** Given up. The stream waits for so long before it tries the next events. */
  | { readonly kind: 'exhausted'; readonly isReceiverUp: boolean; readonly waitMs: number }

const JITTER = 0.2
const REFUSALS: ReadonlySet<number> = new Set([400, 413, 415, 422])
export const PARKED_IN_ROW_MAX = 10
/** No smaller size is learned: where one is needed, dividing finds it each time. */
const LEARNED_BYTES_MIN = 65_536
/** After so long a receiver is dormant: it is seldom asked. */
export const DORMANT_AFTER_MS = 5 * 86_400_000
const DORMANT_WAIT_MS = 6 * 3_600_000

/** @param random in [0, 1) */
export function decideDelivery(
  outcome: DeliveryOutcome,
  facts: DeliveryFacts,
  policy: DeliveryPolicy,
  random: number,
): DeliveryStep {
  const status = outcome.kind === 'answered' ? outcome.status : undefined
  if (status !== undefined && status >= 200 && status < 300)
    return { kind: 'delivered', endsProbe: facts.isNewBatch }
  const isOver = facts.ageMs >= policy.retryForMs
  const isRefused = status !== undefined && REFUSALS.has(status)
  if (!isRefused) {
    const waitMs = waitOfStream(outcome, facts, policy, random)
    return isOver ? { kind: 'exhausted', isReceiverUp: false, waitMs } : { kind: 'retry', waitMs }
  }
  if (!isOver && facts.events > 1)
    return status === 413
      ? { kind: 'divided', batchBytesMax: Math.max(LEARNED_BYTES_MIN, Math.floor(facts.bytes / 2)) }
      : { kind: 'divided' }
  const isUnseen = !facts.isParked && refusesAll(facts.parkedInRow)
  const backOffMs = isUnseen ? waitOf(outcome, 0, facts, policy, random) : 0
  if (isOver) return { kind: 'exhausted', isReceiverUp: true, waitMs: backOffMs }
  const waitMs = waitOf(outcome, facts.attempts, facts, policy, random)
  return { kind: 'parked', waitMs, ...(isUnseen ? { backOffMs } : {}) }
}

/** So many events were refused, each alone, and none was accepted in between. */
export function refusesAll(parkedInRow: number): boolean {
  return parkedInRow >= PARKED_IN_ROW_MAX
}

function waitOfStream(
  outcome: DeliveryOutcome,
  facts: DeliveryFacts,
  policy: DeliveryPolicy,
  random: number,
): number {
  if (outcome.kind === 'failed' && outcome.wasKept === true && facts.failCount === 0) return 0
  const waitMs = waitOf(outcome, facts.failCount, facts, policy, random)
  return facts.failingMs >= DORMANT_AFTER_MS ? Math.max(waitMs, DORMANT_WAIT_MS) : waitMs
}

function waitOf(
  outcome: DeliveryOutcome,
  failures: number,
  { ageMs }: DeliveryFacts,
  policy: DeliveryPolicy,
  random: number,
): number {
  const schedule = policy.retryScheduleMs
  const current = schedule[failures] ?? schedule.at(-1) ?? 0
  const asked = outcome.kind === 'answered' ? outcome.retryAfterMs : undefined
  const jittered = current * (1 - JITTER + 2 * JITTER * random)
  const waitMs = Math.round(
    asked === undefined ? jittered : Math.min(Math.max(asked, current), Math.max(...schedule)),
  )
  // The last attempt is made when the time is over, not a whole wait after it.
  return ageMs >= policy.retryForMs ? waitMs : Math.min(waitMs, policy.retryForMs - ageMs)
}

/** RFC 9110 §10.2.3: seconds, or a date; anything else reads as absent. */
export function parseRetryAfter(header: string | undefined, now: Date): number | undefined {
  if (header === undefined) return undefined
  if (/^[0-9]{1,9}$/.test(header)) return Number(header) * 1000
  if (!/^[A-Za-z]{3,9}, /.test(header)) return undefined
  const at = Date.parse(header)
  return Number.isNaN(at) ? undefined : Math.max(0, at - now.getTime())
}
