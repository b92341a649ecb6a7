/**
 * What logs are asked for, checked: each refusal names its parameter
 * (docs/reference/statuses.md#log-filters).
 */
import {
  type FieldError,
  type GetEmailLogsQuery,
  type RecipientFact,
  type RecipientStatus,
  recipientFacts,
} from '@postrider/contract'
import { validationError } from '../platform/errors.ts'
import { readSpan } from '../platform/http/read-span.ts'
import type { TimeSpan } from '../platform/values/date-time.ts'
import { type EmailSelection, readEmailFilters } from '../sending/index.ts'

export interface LogSelection extends EmailSelection {
  readonly status: RecipientStatus | undefined
  readonly fact: RecipientFact | undefined
  /** Undefined: delivered or not. */
  readonly delivered: TimeSpan | undefined
}

export function readLogsQuery(
  query: Omit<GetEmailLogsQuery, 'pageSize' | 'pageToken'>,
): LogSelection {
  const { status, startDeliveredDate, endDeliveredDate, ...filters } = query
  const errors: FieldError[] = []
  const selection = readEmailFilters(filters, '', errors)
  const delivered = readSpan({ startDeliveredDate }, { endDeliveredDate }, '', errors)
  if (errors.length > 0) throw validationError(...errors)
  const isAnyTime = startDeliveredDate === undefined && endDeliveredDate === undefined
  return {
    ...selection,
    ...(isFact(status) ? { status: undefined, fact: status } : { status, fact: undefined }),
    delivered: isAnyTime ? undefined : delivered,
  }
}

function isFact(status: GetEmailLogsQuery['status']): status is RecipientFact {
  return recipientFacts.some((fact) => fact === status)
}
