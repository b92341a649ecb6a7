/**
 * `start` and `end` of a query or a body (docs/reference/statuses.md#log-filters): a date stands for its
 * whole day, both ends belong to the range. Each refusal names its path.
 */
import type { FieldError } from '@postrider/contract'
import { validationError } from '../../platform/errors.ts'
import {
  allTime,
  parseTimeSpan,
  problemOfTimeSpan,
  type TimeSpan,
} from '../../platform/values/date-time.ts'

export interface SelectionText {
  readonly start?: string
  readonly end?: string
}

/** The range in microseconds; all of time where no end is given. */
export function readSelection(given: SelectionText): TimeSpan {
  const errors: FieldError[] = []
  const span = (path: string, text: string | undefined) => {
    if (text === undefined) return allTime
    const parsed = parseTimeSpan(text)
    if (parsed === undefined) errors.push({ path, message: problemOfTimeSpan(text) })
    return parsed ?? allTime
  }
  const { from } = span('/start', given.start)
  const { to } = span('/end', given.end)
  if (given.start !== undefined && given.end !== undefined && from >= to)
    errors.push({ path: '/start', message: 'must not be after end' })
  if (errors.length > 0) throw validationError(...errors)
  return { from, to }
}
