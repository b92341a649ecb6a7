/** Fields of a report, in the forms in which providers write them. */
import { parseTimeSpan } from '../../platform/values/date-time.ts'
import { memberOf } from '../../platform/values/json.ts'

export const wordsMax = 2_000
export const idLengthMax = 255

/** Text, or a number as text; fit to be stored. Undefined where there is neither. */
export function textOf(report: unknown, name: string, lengthMax = idLengthMax): string | undefined {
  const value = memberOf(report, name)
  if (typeof value !== 'string' && typeof value !== 'number') return undefined
  const text = storable(String(value), lengthMax)
  return text === '' ? undefined : text
}

/** Fit for a PostgreSQL text column and for JSON. */
export function storable(text: string, lengthMax = wordsMax): string {
  return text.slice(0, lengthMax).toWellFormed().replaceAll('\u0000', '\ufffd')
}

/** Seconds since 1970 have ten digits until the year 2286; some have thirteen, of milliseconds. */
const SECONDS = /^(\d{9,10})(?:\.(\d{1,9}))?$/
const MILLISECONDS = /^\d{12,13}$/

/** Of seconds, milliseconds or RFC 3339, each also as text; in microseconds since 1970. */
export function microsOf(value: unknown): bigint | undefined {
  const text = typeof value === 'number' ? String(value) : value
  if (typeof text !== 'string') return undefined
  const [, seconds, fraction = ''] = SECONDS.exec(text) ?? []
  if (seconds !== undefined) return BigInt(seconds + fraction.padEnd(6, '0').slice(0, 6))
  if (MILLISECONDS.test(text)) return BigInt(text) * 1_000n
  return text.includes('T') ? parseTimeSpan(text)?.from : undefined
}
