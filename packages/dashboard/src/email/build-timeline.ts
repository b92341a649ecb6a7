/** What happened to one recipient of an email, in the order of time, from its trace. */
import type { GetEmailAnswer } from '@postrider/client'

export type Trace = GetEmailAnswer['email']
export type TracedRecipient = Trace['recipients'][number]
export type TracedAttempt = TracedRecipient['attempts'][number]
export type TracedReport = TracedRecipient['feedback'][number]
export type TracedHit = TracedRecipient['hits'][number]
export type TracedDelivery = Trace['deliveries'][number]

export type TimelineEntry =
  | { readonly kind: 'accepted'; readonly at: string; readonly sendAt?: string }
  | { readonly kind: 'checked'; readonly at: string }
  | { readonly kind: 'blocked'; readonly at: string; readonly reason: string }
  | { readonly kind: 'suppressed'; readonly at: string }
  | { readonly kind: 'attempt'; readonly at: string; readonly attempt: TracedAttempt }
  | { readonly kind: 'report'; readonly at: string; readonly report: TracedReport }
  | { readonly kind: 'hit'; readonly at: string; readonly hit: TracedHit; readonly count: number }
  | {
      readonly kind: 'delivery'
      readonly at: string
      readonly delivery: TracedDelivery
      /** Names of the events of this recipient that it carries. */
      readonly events: readonly string[]
    }
  | { readonly kind: 'left_out'; readonly what: 'attempts' | 'reports' | 'hits' | 'deliveries' }
  | { readonly kind: 'cancelled' }
  | {
      readonly kind: 'next'
      readonly at: string
      readonly attempt: number
      readonly maxAttempts: number
      readonly isUnderWay: boolean
      readonly expiresAt: string
    }

type Timed = Extract<TimelineEntry, { readonly at: string }>

export function buildTimeline(email: Trace, recipient: TracedRecipient): TimelineEntry[] {
  const { attempts, feedback, hits, status, waiting } = recipient
  const events = email.events.filter((event) => isOf(event, recipient))
  const timed: Timed[] = [
    {
      kind: 'accepted',
      at: email.created_at,
      ...(status === 'scheduled' && waiting !== null && { sendAt: waiting.due_at }),
    },
    ...checksOf(email, recipient, events),
    ...attempts.map((attempt) => ({ kind: 'attempt', at: attempt.started_at, attempt }) as const),
    ...feedback.map((report) => ({ kind: 'report', at: report.at, report }) as const),
    ...gathered(hits),
    ...deliveriesOf(email, events),
  ]
  // Stable: what has the same time stays in this order.
  timed.sort((a, b) => Date.parse(a.at) - Date.parse(b.at))
  const leftOut = [
    ...(recipient.attempts_truncated ? (['attempts'] as const) : []),
    ...(recipient.feedback_truncated ? (['reports'] as const) : []),
    ...(recipient.hits_truncated ? (['hits'] as const) : []),
    ...(email.deliveries_truncated ? (['deliveries'] as const) : []),
  ].map((what) => ({ kind: 'left_out', what }) as const)
  const [first, ...rest] = timed
  return [
    ...(first === undefined ? [] : [first]),
    ...leftOut,
    ...rest,
    ...(isCancelled(recipient) ? [{ kind: 'cancelled' } as const] : []),
    ...nextOf(recipient),
  ]
}

/** A provider that refuses later reports it; without a report it was taken back. */
export function isCancelled({ status, feedback }: TracedRecipient): boolean {
  return status === 'rejected' && feedback.length === 0
}

type TracedEvent = Trace['events'][number]

function isOf({ details }: TracedEvent, { email }: TracedRecipient): boolean {
  const named = (details as { readonly email?: unknown }).email
  return !Array.isArray(named) || named.includes(email)
}

function checksOf(
  email: Trace,
  { status, attempts, failed_reason, waiting }: TracedRecipient,
  events: readonly TracedEvent[],
): Timed[] {
  if (status === 'suppressed') return [{ kind: 'suppressed', at: email.created_at }]
  if (status === 'blocked') {
    const event = events.find((one) => one.event === 'PHISHING')
    return [{ kind: 'blocked', at: event?.event_at ?? email.created_at, reason: failed_reason }]
  }
  const first = attempts[0]
  if (first === undefined || first.attempt > 1 || waiting?.attempt === 1) return []
  return [{ kind: 'checked', at: first.started_at }]
}

/** The same thing, done again and again within a minute, is one entry. */
function gathered(hits: readonly TracedHit[]): Timed[] {
  const entries: Extract<Timed, { kind: 'hit' }>[] = []
  for (const hit of hits) {
    const last = entries.at(-1)
    const isSame =
      last !== undefined &&
      last.hit.kind === hit.kind &&
      last.hit.bot === hit.bot &&
      last.hit.rule === hit.rule &&
      last.hit.url === hit.url &&
      last.hit.user_agent === hit.user_agent &&
      Date.parse(hit.at) - Date.parse(last.at) < 60_000
    if (isSame) entries[entries.length - 1] = { ...last, count: last.count + 1 }
    else entries.push({ kind: 'hit', at: hit.at, hit, count: 1 })
  }
  return entries
}

/** At their last request, or when they were made. */
function deliveriesOf(email: Trace, events: readonly TracedEvent[]): Timed[] {
  const names = new Map(events.map((event) => [event.event_id, event.event]))
  return email.deliveries.toReversed().flatMap((delivery) => {
    const own = delivery.event_ids.flatMap((id) => names.get(id) ?? [])
    if (own.length === 0 && delivery.event_ids.length > 0) return []
    const at = delivery.attempts.at(-1)?.at ?? delivery.created_at
    return [{ kind: 'delivery', at, delivery, events: [...new Set(own)] } as const]
  })
}

function nextOf({ status, waiting }: TracedRecipient): TimelineEntry[] {
  if (waiting === null) return []
  return [
    {
      kind: 'next',
      at: waiting.due_at,
      attempt: waiting.attempt,
      maxAttempts: waiting.max_attempts,
      isUnderWay: status === 'sending',
      expiresAt: waiting.expires_at,
    },
  ]
}
