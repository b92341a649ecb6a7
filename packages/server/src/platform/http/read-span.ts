/**
 * The two ends of a span of time in a query or a body (docs/reference/http.md#times): a date stands for its whole
 * day, and both ends belong to the span. Each refusal names its path.
 */
import type { FieldError } from '@postrider/contract'
import { validationError } from '../errors.ts'
import { allTime, parseTimeSpan, problemOfTimeSpan, type TimeSpan } from '../values/date-time.ts'

/** Of `start` and `end`; all of time where neither is given. Throws when one does not fit. */
export function readStartAndEnd({
  start,
  end,
}: {
  readonly start?: string | undefined
  readonly end?: string | undefined
}): TimeSpan {
  const errors: FieldError[] = []
  const span = readSpan({ start }, { end }, '', errors)
  if (errors.length > 0) throw validationError(...errors)
  return span
}

/** From the beginning of the one to the end of the other, each named by its only key. */
export function readSpan(
  start: Readonly<Record<string, string | undefined>>,
  end: Readonly<Record<string, string | undefined>>,
  under: string,
  errors: FieldError[],
): TimeSpan {
  const [[startName = '', startText] = []] = Object.entries(start)
  const [[endName = '', endText] = []] = Object.entries(end)
  const parse = (name: string, text: string | undefined) => {
    if (text === undefined) return allTime
    const parsed = parseTimeSpan(text)
    if (parsed === undefined)
      errors.push({ path: `${under}/${name}`, message: problemOfTimeSpan(text) })
    return parsed
  }
  const first = parse(startName, startText)
  const last = parse(endName, endText)
  const isBoth = startText !== undefined && endText !== undefined
  if (isBoth && first !== undefined && last !== undefined && first.from >= last.to)
    errors.push({ path: `${under}/${startName}`, message: `must not be after ${endName}` })
  return { from: (first ?? allTime).from, to: (last ?? allTime).to }
}
