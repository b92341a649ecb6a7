/**
 * The events of reports in wire form (docs/reference/events.md#fields): the only place where this
 * capability writes their names.
 */
import {
  isSuccessEvent,
  type SuppressionEventName,
  type Tracking,
  zeroTracking,
} from '@postrider/contract'
import type { UserAgent } from '@postrider/mail'
import { formatMicros } from '../../platform/clock.ts'
import type { RelayFact, RelayFactKind } from '../../relays/index.ts'
import type { ReportedRecipient } from '../../sending/index.ts'
import { type NewEvent, testMark } from '../../webhooks/index.ts'

const EVENTS = {
  delivered: 'MAIL_DELIVERED',
  bounced: 'MAIL_BOUNCE',
  complained: 'MAIL_SPAM',
  unsubscribed: 'MAIL_UNSUBSCRIBED',
  policy_rejected: 'MAIL_POLICY_REJECTION',
  generation_failed: 'MAIL_GENERATION_FAILURE',
  generation_rejected: 'MAIL_GENERATION_REJECTION',
} as const satisfies Partial<Record<RelayFactKind, NewEvent['event']>>
export type ToldKind = keyof typeof EVENTS

/** Whether there is an event of it. */
export function isTold(kind: RelayFactKind): kind is ToldKind {
  return Object.hasOwn(EVENTS, kind)
}

const SUPPRESSING = {
  bounced: 'MAIL_BOUNCE',
  complained: 'MAIL_SPAM',
  unsubscribed: 'MAIL_UNSUBSCRIBED',
  policy_rejected: 'MAIL_POLICY_REJECTION',
  generation_rejected: 'MAIL_GENERATION_REJECTION',
} as const satisfies Partial<Record<RelayFactKind, SuppressionEventName>>

/** The event of what suppresses an address; undefined for what does not. */
export function suppressingEvent(kind: RelayFactKind): SuppressionEventName | undefined {
  return Object.entries(SUPPRESSING).find(([name]) => name === kind)?.[1]
}

/** What `failed_reason` says where the report has no words of the receiving server. */
export const WORDLESS: Readonly<Partial<Record<RelayFactKind, string>>> = {
  bounced: 'The email bounced',
  complained: 'The recipient reported the email as spam',
  policy_rejected: 'The relay provider rejected the email by its policy',
  generation_failed: 'The relay provider could not generate the email',
  generation_rejected: 'The relay provider rejected the content of the email',
}

export function failedReasonOf({ kind, reason }: Pick<RelayFact, 'kind' | 'reason'>): string {
  const sentence = WORDLESS[kind]
  if (sentence === undefined) return ''
  return reason === '' ? sentence : reason
}

export interface ToldReport {
  readonly recipient: ReportedRecipient
  readonly messageId: string
  readonly fact: RelayFact & { readonly kind: ToldKind }
  readonly atMicros: bigint
}

export function reportEvent(tenantId: string, told: ToldReport, userAgent: UserAgent): NewEvent {
  const { recipient, messageId, fact, atMicros } = told
  const { refId, mailerId, email, customArgs, traceparent } = recipient
  const event = EVENTS[fact.kind]
  return {
    tenantId,
    refId,
    event,
    success: isSuccessEvent(event),
    eventAtMicros: atMicros,
    traceparent,
    details: {
      ref_id: refId,
      mailer_id: mailerId,
      email: [email],
      custom_args: customArgs,
      message_id: messageId,
      thread_id: '',
      tracking: fact.kind === 'unsubscribed' ? trackingOf(told, userAgent) : zeroTracking,
      failed_reason: failedReasonOf(fact),
      ...(fact.kind === 'bounced' ? bounceDetails(fact) : {}),
      ...testMark(mailerId),
    },
  }
}

/** Verbatim, and absent where the provider said nothing (docs/reference/events.md#fields). */
function bounceDetails({ errorCode, numRetries }: RelayFact) {
  return {
    ...(errorCode === undefined ? {} : { error_code: errorCode }),
    ...(numRetries === undefined ? {} : { num_retries: numRetries }),
  }
}

function trackingOf({ fact, atMicros }: ToldReport, userAgent: UserAgent): Tracking {
  return {
    ...zeroTracking,
    time: formatMicros(atMicros),
    ip: fact.ip ?? '',
    user_agent: userAgent.text,
    browser_name: userAgent.browserName,
    browser_version: userAgent.browserVersion,
    os: userAgent.os,
    device_type: userAgent.deviceType,
    platform: userAgent.platform,
    bot: userAgent.isKnownRobot,
  }
}
