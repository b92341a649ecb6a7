/**
 * Logs as CSV (RFC 4180), in UTF-8.
 *
 * A text that a spreadsheet would take for a formula gets an apostrophe in front: recipients and
 * their servers write into subjects, addresses and reasons.
 */
import { type EmailLog, emailLog } from '@postrider/contract'

const COLUMNS = Object.keys(emailLog.properties) as (keyof EmailLog)[]
const FORMULA = /^[=+\-@\t\r]/
const NEEDS_QUOTES = /[",\r\n]/

export const csvHeader = `${COLUMNS.join()}\r\n`

export function toCsv(log: EmailLog): string {
  return `${COLUMNS.map((name) => toField(log[name])).join()}\r\n`
}

function toField(value: string | number | null): string {
  if (typeof value !== 'string') return value === null ? '' : String(value)
  const text = FORMULA.test(value) ? `'${value}` : value
  return NEEDS_QUOTES.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
