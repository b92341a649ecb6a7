/**
 * A value as a field of CSV (RFC 4180), in UTF-8.
 *
 * A text that a spreadsheet would take for a formula gets an apostrophe in front: strangers write into
 * subjects, addresses and reasons. So does a text that begins with apostrophes and then such a sign: a reader that
 * takes one away has what was written.
 */
const FORMULA = /^'*[=+\-@\t\r]/
const MARKED = /^'+[=+\-@\t\r]/
const NEEDS_QUOTES = /[",\r\n]/

export function toCsvField(value: string | number | boolean | null): string {
  if (typeof value !== 'string') return value === null ? '' : String(value)
  const text = FORMULA.test(value) ? `'${value}` : value
  return NEEDS_QUOTES.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

/** What was written into a field, from what was read of it. */
export function withoutFormulaMark(text: string): string {
  return MARKED.test(text) ? text.slice(1) : text
}
