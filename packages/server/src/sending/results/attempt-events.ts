/**
 * The events of direct sending in wire form (docs/reference/events.md#fields): the only place where this
 * capability writes their names.
 */
import { zeroTracking } from '@postrider/contract'
import { type NewEvent, testMark } from '../../webhooks/index.ts'
import type { AttemptFailed, Claim } from '../attempt/attempt.ts'

export interface EventSubject {
  readonly claim: Pick<Claim, 'tenantId' | 'refId' | 'mailerId' | 'attempt' | 'maxAttempts'>
  readonly email: string
  readonly messageId: string
  readonly customArgs: Readonly<Record<string, unknown>> | null
  readonly traceparent: string
  readonly atMicros: bigint
}

export function deliveredEvent(subject: EventSubject): NewEvent {
  return {
    ...envelope(subject),
    event: 'MAIL_DELIVERED',
    success: true,
    details: { ...common(subject, subject.messageId), failed_reason: '' },
  }
}

export function smtpErrorEvent(
  subject: EventSubject,
  failure: AttemptFailed,
  retryScheduled: boolean,
): NewEvent {
  const { attempt, maxAttempts } = subject.claim
  return {
    ...envelope(subject),
    event: 'SMTP_ERROR',
    success: false,
    attempt,
    details: {
      ...common(subject, failure.isBeforeMessage ? '' : subject.messageId),
      failed_reason: failure.failedReason,
      attempt,
      max_attempts: maxAttempts,
      retry_scheduled: retryScheduled,
      ...(failure.providerError === '' ? {} : { provider_error: failure.providerError }),
    },
  }
}

/** docs/reference/sending.md#phishing: no attempt metadata, and no message was made. */
export function phishingEvent(subject: EventSubject, failedReason: string): NewEvent {
  return {
    ...envelope(subject),
    event: 'PHISHING',
    success: false,
    details: { ...common(subject, ''), failed_reason: failedReason },
  }
}

function envelope({ claim, atMicros, traceparent }: EventSubject) {
  const { tenantId, refId } = claim
  return { tenantId, refId, eventAtMicros: atMicros, traceparent }
}

function common({ claim, email, customArgs }: EventSubject, messageId: string) {
  return {
    ref_id: claim.refId,
    mailer_id: claim.mailerId,
    email: [email],
    custom_args: customArgs,
    message_id: messageId,
    thread_id: '',
    tracking: zeroTracking,
    ...testMark(claim.mailerId),
  }
}
