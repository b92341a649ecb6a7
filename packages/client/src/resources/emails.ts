/** Sending (spec §4.3; contract §3.1). */
import type {
  CancelScheduledEmailAnswer,
  RescueEmailsAnswer,
  RescueEmailsBody,
  RescueFilter,
  SendEmailAnswer,
  SendEmailBody,
} from '@postrider/contract'
import type { RequestOptions, Send } from '../core/request.ts'
import type { WithTimes } from '../core/times.ts'

export type SendEmailInput = WithTimes<SendEmailBody, 'send_at'>
export type RescueEmailsInput = Omit<RescueEmailsBody, 'filter'> & {
  filter?: WithTimes<RescueFilter, 'startCreatedAt' | 'endCreatedAt'>
}

/**
 * Always under one `Idempotency-Key`, the caller's or a fresh one: an answer that got lost does
 * not mean that the email was not accepted, and a repetition must not send it twice.
 */
export function sendEmail(
  send: Send,
  body: SendEmailInput,
  options: RequestOptions = {},
): Promise<SendEmailAnswer> {
  const idempotencyKey = options.idempotencyKey ?? randomKey()
  return send(
    { method: 'POST', path: '/v1/email/send', body, honoursIdempotencyKey: true },
    { ...options, idempotencyKey },
  )
}

/** Repeated safely: what was taken back stays so. */
export function cancelScheduledEmail(
  send: Send,
  refId: string,
  options?: RequestOptions,
): Promise<CancelScheduledEmailAnswer> {
  return send(
    { method: 'DELETE', path: '/v1/email/{ref_id}/schedule', parameters: { ref_id: refId } },
    options,
  )
}

/** Not repeated by itself: what failed again meanwhile would be rescued twice. */
export function rescueEmails(
  send: Send,
  body: RescueEmailsInput,
  options?: RequestOptions,
): Promise<RescueEmailsAnswer> {
  return send({ method: 'POST', path: '/v1/email/rescue', body }, options)
}

/** 128 random bits. Not `randomUUID`, which browsers have on https pages only. */
function randomKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16))
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}
