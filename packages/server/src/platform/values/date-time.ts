/** RFC 3339 times as requests write them. */
const DATE_TIME =
  /^(\d{4})-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])[Tt](?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,9})?(?:[Zz]|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/

/** undefined: not RFC 3339, or a day that does not exist. */
export function parseDateTime(text: string): Date | undefined {
  const [, year, month, day] = DATE_TIME.exec(text) ?? []
  if (day === undefined) return undefined
  const lastDay = new Date(Date.UTC(Number(year), Number(month), 0)).getUTCDate()
  return Number(day) <= lastDay ? new Date(text.toUpperCase()) : undefined
}

/** Microseconds since 1970, from the first up to, not including, the last. */
export interface TimeSpan {
  readonly from: bigint
  readonly to: bigint
}

const DATE = /^\d{4}-\d{2}-\d{2}$/
const DAY_MICROS = 86_400_000_000n
const EARLIEST = 0n
/** The last that both a ULID and PostgreSQL can say: the end of the year 9999. */
const LATEST = 253_402_300_799_999_999n

export const allTime: TimeSpan = { from: EARLIEST, to: LATEST }

/**
 * What a time or a date names: the whole day (UTC), the millisecond, or the microsecond where it has as
 * many digits (docs/reference/http.md#times). What is stored has microseconds, and is shown by its
 * millisecond in most places: a time that was taken from there includes it. Nothing that is stored lies
 * before 1970 or after 9999; such times stand for those bounds.
 */
export function parseTimeSpan(text: string): TimeSpan | undefined {
  const isDate = DATE.test(text)
  const date = parseDateTime(isDate ? `${text}T00:00:00Z` : text)
  if (date === undefined) return undefined
  const fraction = /\.(\d+)/.exec(text)?.[1] ?? ''
  const micros = BigInt(fraction.padEnd(6, '0').slice(3, 6))
  const from = within(BigInt(date.getTime()) * 1000n + micros)
  const length = isDate ? DAY_MICROS : fraction.length > 3 ? 1n : 1_000n
  return { from, to: within(from + length) }
}

/** What is wrong with text that `parseTimeSpan` does not take. */
export function problemOfTimeSpan(text: string): string {
  // In a query a plus sign stands for a space.
  const isEncodedBadly = parseTimeSpan(text.replace(/ (?=\d\d:\d\d$)/, '+')) !== undefined
  const hint = isEncodedBadly ? '; the + of an offset is written %2B in a query' : ''
  return `must be an RFC 3339 time or a date such as 2026-01-02${hint}`
}

function within(micros: bigint): bigint {
  if (micros < EARLIEST) return EARLIEST
  return micros > LATEST ? LATEST : micros
}

const DAY_MS = 86_400_000
const DAYS_KEPT = 400
const days = new Map<number, string>()

/** The UTC day (`2026-01-02`) of a time in milliseconds, within the same bounds. */
export function dayAt(ms: number): string {
  const day = Math.floor(ms / DAY_MS)
  const known = days.get(day)
  if (known !== undefined) return known
  if (days.size >= DAYS_KEPT) days.clear()
  const written = new Date(Number(within(BigInt(ms) * 1000n) / 1000n)).toISOString().slice(0, 10)
  days.set(day, written)
  return written
}
