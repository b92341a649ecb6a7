/** 429 `quota_exceeded`, with the quota's name (docs/reference/operator.md#quotas). */
import type { QuotaName } from '@postrider/contract'
import { ApiError } from '../../platform/errors.ts'
import type { OverQuota } from './decide-quota.ts'

const WORDS: Readonly<Record<QuotaName, string>> = {
  emails_per_second: 'recipients a second',
  emails_per_day: 'recipients a day (UTC)',
  queued_max: 'recipients in the queue',
  storage_bytes_max: 'bytes of stored emails',
}

type Refusal = Pick<OverQuota, 'quota' | 'max' | 'asked' | 'retryAfterS'>

export function overQuota({ quota, max, asked, retryAfterS }: Refusal): ApiError {
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
