/** The trace of an email as the API shows it (docs/reference/sending.md#trace). */
import {
  type TracedAttempt,
  type TracedDelivery,
  type TracedEmail,
  type TracedEvent,
  type TracedHit,
  type TracedReport,
  type TracedWait,
  tracedEventsMax,
  type WebhookDelivery,
} from '@postrider/contract'
import { classifierOf } from '@postrider/mail'
import type { RecordedFact } from '../feedback/index.ts'
import { isId, isTestId, timeOfUlid } from '../platform/ids.ts'
import { withoutStatus } from '../relays/index.ts'
import {
  layOver,
  type RecordedAttempt,
  type RecordedRecipient,
  type RecordedWait,
  type ShownOwn,
  type WholeEmail,
} from '../sending/index.ts'
import type { RecordedHit } from '../tracking/index.ts'
import type { EventOfEmail } from '../webhooks/index.ts'

export interface FoundTrace {
  readonly email: WholeEmail
  /** Newest first. */
  readonly recipients: readonly RecordedRecipient[]
  /** What recipients have of their own, by `refId.n`. */
  readonly own: ReadonlyMap<string, ShownOwn>
  /** Of each recipient, oldest first, one more than `attemptsMax` where there are more. */
  readonly attempts: readonly RecordedAttempt[]
  readonly attemptsMax: number
  /** The same of what was reported of them. */
  readonly facts: readonly RecordedFact[]
  readonly factsMax: number
  /** And of what they did. */
  readonly hits: readonly RecordedHit[]
  readonly hitsMax: number
  /** Where the links lead to that were clicked, by their numbers. */
  readonly urls: ReadonlyMap<number, string>
  /** Of those who wait, or are sent to, by their numbers. */
  readonly waits: ReadonlyMap<number, RecordedWait>
  /** Oldest first, one more than are shown where there are more. */
  readonly events: readonly EventOfEmail[]
  /** Of the email. */
  readonly deliveries: readonly WebhookDelivery[]
  readonly nextPageToken?: string
  /** It is about one recipient. */
  readonly isOne: boolean
}

/** Of one trace: some milliseconds of work, whatever servers write. */
const REPLIES_READ_MAX = 200

export function toTracedEmail(found: FoundTrace): TracedEmail {
  const { email, recipients, events } = found
  const attempts = Map.groupBy(found.attempts, ({ n }) => n)
  const facts = Map.groupBy(found.facts, ({ n }) => n)
  const hits = Map.groupBy(found.hits, ({ n }) => n)
  const classify = classifierOf(REPLIES_READ_MAX)
  const shown = events.slice(-tracedEventsMax)
  const eventIds = new Set(shown.map(({ eventId }) => eventId))
  return {
    ref_id: email.refId,
    from: email.from,
    subject: email.subject,
    mailer_id: email.mailerId,
    campaign_id: email.campaignId,
    custom_args: email.customArgs,
    template_id: email.templateId,
    template_version: email.templateVersion,
    traceparent: email.traceparent,
    created_at: timeOfUlid(email.refId).toISOString(),
    test: isTestId(email.mailerId),
    recipients: recipients.toReversed().map((r) => {
      const own = attempts.get(r.n) ?? []
      const reported = facts.get(r.n) ?? []
      const done = hits.get(r.n) ?? []
      // A provider that rejects mail later reports that.
      const isCancelled = r.status === 'rejected' && reported.length === 0
      const last = own.at(-1)
      return {
        email: r.email,
        type: r.type,
        status: r.status,
        ...toOwn(email, found.own.get(`${r.refId}.${r.n}`)),
        failed_reason: r.failedReason,
        message_id: r.messageId,
        delivered_at: r.deliveredAt?.toISOString() ?? null,
        ...(isCancelled ? { cancelled: true } : {}),
        waiting: toWait(found.waits.get(r.n)),
        attempts: own.slice(-found.attemptsMax).map((one) => {
          const isTakenBack = isCancelled && one === last
          const attempt = isTakenBack ? { ...one, retryScheduled: false, nextAttemptAt: null } : one
          return toAttempt(attempt, classify)
        }),
        attempts_truncated: own.length > found.attemptsMax,
        feedback: reported.slice(-found.factsMax).map(toReport),
        feedback_truncated: reported.length > found.factsMax,
        hits: done.slice(-found.hitsMax).map((hit) => toHit(hit, found.urls)),
        hits_truncated: done.length > found.hitsMax,
      }
    }),
    events: shown.map(toEvent),
    events_truncated: shown.length < events.length,
    deliveries: deliveriesOf(found).map((one) => toDelivery(one, eventIds)),
    deliveries_truncated: found.nextPageToken !== undefined,
  }
}

function toOwn({ customArgs }: WholeEmail, own: ShownOwn | undefined) {
  const { subject, customArgs: above = null } = own ?? {}
  const merged = above === null ? null : layOver(customArgs, above)
  return {
    ...(subject === undefined ? {} : { subject }),
    ...(merged === null ? {} : { custom_args: merged }),
  }
}

/** Those that carried any of the events, where these are one recipient's. */
function deliveriesOf({ deliveries, events, isOne }: FoundTrace): readonly WebhookDelivery[] {
  if (!isOne) return deliveries
  const ids = new Set(events.map(({ eventId }) => eventId))
  return deliveries.filter((delivery) => delivery.events.some(({ event_id: id }) => ids.has(id)))
}

function toDelivery(
  {
    delivery_id,
    webhook_id,
    status,
    created_at,
    next_attempt_at,
    attempts,
    events,
  }: WebhookDelivery,
  shown: ReadonlySet<string>,
): TracedDelivery {
  const event_ids = events.map(({ event_id: id }) => id).filter((id) => shown.has(id))
  return { delivery_id, webhook_id, status, created_at, next_attempt_at, event_ids, attempts }
}

function toWait(wait: RecordedWait | undefined): TracedWait | null {
  if (wait === undefined) return null
  const { attempt, maxAttempts, dueAt, expiresAt, mailerId } = wait
  return {
    attempt,
    max_attempts: maxAttempts,
    due_at: dueAt.toISOString(),
    expires_at: expiresAt.toISOString(),
    mailer_id: mailerId,
  }
}

function toAttempt(a: RecordedAttempt, classify: ReturnType<typeof classifierOf>): TracedAttempt {
  return {
    mailer_id: a.mailerId,
    attempt: a.attempt,
    max_attempts: a.maxAttempts,
    started_at: a.startedAt.toISOString(),
    finished_at: a.finishedAt.toISOString(),
    outcome: a.outcome,
    failed_reason: a.failedReason,
    provider_error: a.providerError,
    classified: a.category === null ? null : classify(a.category, replyOf(a)),
    retry_scheduled: a.retryScheduled,
    next_attempt_at: a.nextAttemptAt?.toISOString() ?? null,
  }
}

function replyOf({ mailerId, providerError }: RecordedAttempt): string {
  return isId('domain', mailerId) ? withoutStatus(providerError) : providerError
}

function toReport(f: RecordedFact): TracedReport {
  return {
    type: f.type,
    meaning: f.kind,
    relay: f.relay,
    at: f.at.toISOString(),
    received_at: f.receivedAt.toISOString(),
    reason: f.reason,
    hard: f.isHard,
    error_code: f.errorCode,
    num_retries: f.numRetries,
    classified: f.classified,
  }
}

function toHit(hit: RecordedHit, urls: FoundTrace['urls']): TracedHit {
  const { kind, link, at, ip, userAgent, bot, rule } = hit
  const url = link === null ? undefined : urls.get(link)
  const shown = { kind, at: at.toISOString(), ip, user_agent: userAgent, bot, rule }
  return url === undefined ? shown : { ...shown, url }
}

function toEvent({ eventId, event, eventAt, body }: EventOfEmail): TracedEvent {
  // As `serializeEvent` has written it.
  const { success, details } = JSON.parse(body) as Pick<TracedEvent, 'success' | 'details'>
  const { webhook_id: _, ...shown } = details
  return { event_id: eventId, event, event_at: eventAt, success, details: shown }
}
