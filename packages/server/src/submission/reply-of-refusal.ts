/** The refusals of sendEmail as replies of SMTP (docs/submission.md#replies). */
import { type ApiError, refusalOf } from '../platform/errors.ts'
import type { Reply } from '../platform/smtp-server/smtp-listener.ts'

const TEXT_CHARS_MAX = 400
export const notNow: Reply = {
  code: 451,
  text: '4.3.0 Not possible at the moment, try again later',
}

/** Undefined for what is no refusal but a defect. */
export function replyOfRefusal(error: unknown): Reply | undefined {
  const refusal = refusalOf(error)
  if (refusal === undefined) return undefined
  const [code, enhanced] = codesOf(refusal)
  return { code, text: `${enhanced} ${textOf(refusal)}`.slice(0, TEXT_CHARS_MAX) }
}

function codesOf({ code, status, errors = [] }: ApiError): readonly [number, string] {
  switch (code) {
    case 'no_mailer':
    case 'mailer_inactive':
    case 'tenant_suspended':
    case 'forbidden':
      return [550, '5.7.1']
    case 'unauthorized':
      return [535, '5.7.8']
    case 'payload_too_large':
      return [552, '5.3.4']
    case 'quota_exceeded': {
      // Of these the end cannot be told: mail has to leave first.
      const isFull = errors.some(({ path }) => /queued_max|storage_bytes_max/.test(path))
      return isFull ? [452, '4.3.1'] : [451, '4.7.1']
    }
    case 'rate_limited':
    case 'idempotency_in_progress':
      return [451, '4.7.1']
    default:
      return status >= 500 ? [451, '4.3.0'] : [550, '5.6.0']
  }
}

function textOf({ message, errors = [] }: ApiError): string {
  if (errors.length === 0) return message
  return errors.map((one) => `${one.path} ${one.message}`.trim()).join('; ')
}
