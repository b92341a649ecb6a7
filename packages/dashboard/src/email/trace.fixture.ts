/** A trace of an email to one recipient, for tests. */
import type { Trace, TracedAttempt, TracedRecipient } from './build-timeline.ts'

export const refId = '01JD4M8W6ZQ3V5T7X9Y2A4C6E8'

export function attemptOf(change: Partial<TracedAttempt> = {}): TracedAttempt {
  return {
    mailer_id: 'smtp_1',
    attempt: 1,
    max_attempts: 5,
    started_at: '2026-03-02T12:00:01.000Z',
    finished_at: '2026-03-02T12:00:02.000Z',
    outcome: 'accepted',
    failed_reason: '',
    provider_error: '',
    classified: null,
    retry_scheduled: false,
    next_attempt_at: null,
    ...change,
  }
}

export const waiting = {
  attempt: 2,
  max_attempts: 5,
  due_at: '2026-03-02T12:10:00.000Z',
  expires_at: '2026-03-05T12:00:00.000Z',
  mailer_id: 'smtp_1',
}

export function recipientOf(change: Partial<TracedRecipient> = {}): TracedRecipient {
  return {
    email: 'ada@example.com',
    type: 'to',
    status: 'delivered',
    failed_reason: '',
    message_id: `<${refId}.0@example.com>`,
    delivered_at: '2026-03-02T12:00:02.000Z',
    waiting: null,
    attempts: [attemptOf()],
    attempts_truncated: false,
    feedback: [],
    feedback_truncated: false,
    hits: [],
    hits_truncated: false,
    ...change,
  }
}

export function traceOf(recipient: TracedRecipient, change: Partial<Trace> = {}): Trace {
  return {
    ref_id: refId,
    from: 'news@example.com',
    subject: 'Hello',
    mailer_id: 'smtp_1',
    campaign_id: null,
    custom_args: null,
    template_id: null,
    template_version: null,
    traceparent: '00-1bd1b94817665f004c9e4a72edf5a3ac-aef34a2873fde0f9-01',
    created_at: '2026-03-02T12:00:00.000Z',
    test: false,
    recipients: [recipient],
    events: [],
    events_truncated: false,
    deliveries: [],
    deliveries_truncated: false,
    ...change,
  }
}
