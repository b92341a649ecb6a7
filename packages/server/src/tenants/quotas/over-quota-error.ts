/** 429 `quota_exceeded`, with the quota's name (docs/reference/operator.md#quotas). */
import { ApiError } from '../../platform/errors.ts'
import type { OverQuota } from './decide-quota.ts'

const WORDS: Readonly<Record<OverQuota['quota'], string>> = {
  emails_per_second: 'recipients a second',
  emails_per_day: 'recipients a day (UTC)',
  queued_max: 'recipients in the queue',
  storage_bytes_max: 'bytes of stored emails',
  test_emails_per_day: 'recipients of test mail a day (UTC)',
}

type Refusal = Pick<OverQuota, 'quota' | 'max' | 'asked' | 'retryAfterS'>

export function overQuotaError({ quota, max, asked, retryAfterS }: Refusal): ApiError {
  const limit = `${max} ${WORDS[quota]}`
  const message =
    asked > max
      ? `allows ${limit}; this request alone has ${asked}, and never fits`
      : `allows ${limit}; with this request there would be more`
  return new ApiError('quota_exceeded', {
    retryAfterS,
    errors: [{ path: `/quotas/${quota}`, message }],
    bound: `quota-${quota.replaceAll('_', '-')}`,
  })
}
