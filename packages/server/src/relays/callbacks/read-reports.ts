/**
 * A callback's reports, one by one. Providers post them as a JSON array; each is kept as it was
 * written, for parsing and writing again would change numbers that a double does not carry. Ids are
 * such numbers: in a report's value, they are text.
 *
 * What is nested without end, or in more parts than any provider sends, is read by nobody.
 */
import { createHash } from 'node:crypto'
import { memberOf, parseJson } from '../../platform/values/json.ts'

export interface Report {
  readonly value: unknown
  /** As received. */
  readonly raw: string
}

/** A callback of SparkPost has a few hundred, one of SendGrid a few thousand. */
export const reportsMax = 10_000
/**
 * Values in all reports together: a report of either provider has 20 to 60. Each value costs time of the
 * event loop, so four megabytes of small ones would hold everybody up.
 */
export const reportValuesMax = 150_000
export const reportDepthMax = 64

/** Undefined for what is not a JSON array, or beyond these bounds. */
export function readReports(body: string): readonly Report[] | undefined {
  const raws = splitArray(body)
  const values = raws && parseArray(body)
  return values?.map((value, i) => ({ value, raw: raws?.[i] ?? '' }))
}

/** Looking at each number takes several times as long. */
const LONG_NUMBER = /[:[,\s]-?\d{16}/

function parseArray(body: string): readonly unknown[] | undefined {
  const values = parseJson(body, LONG_NUMBER.test(body) ? keepInteger : undefined)
  return Array.isArray(values) ? values : undefined
}

function keepInteger(_name: string, value: unknown, ...rest: readonly unknown[]): unknown {
  if (typeof value !== 'number' || Number.isSafeInteger(value)) return value
  const source = memberOf(rest[0], 'source')
  return typeof source === 'string' && /^-?\d+$/.test(source) ? source : value
}

/** Stands in for the id of a report that has none. */
export function digestOf({ raw }: Report): string {
  return createHash('sha256').update(raw).digest('base64url')
}

const [QUOTE, BACKSLASH, COMMA, BRACKET, BRACE, CLOSING_BRACKET, CLOSING_BRACE] =
  Buffer.from('"\\,[{]}')

/** The elements of a well-formed array, in linear time; of other text, any. */
function splitArray(text: string): string[] | undefined {
  const elements: string[] = []
  let depth = 0
  let start = 0
  let values = 0
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code === COMMA || code === BRACKET || code === BRACE) values += 1
    if (values > reportValuesMax) return undefined
    if (code === QUOTE) i = endOfText(text, i)
    else if (code === BRACKET || code === BRACE) {
      depth += 1
      if (depth > reportDepthMax) return undefined
      if (depth === 1) start = i + 1
    } else if (code === CLOSING_BRACKET || code === CLOSING_BRACE) {
      depth -= 1
      if (depth === 0) elements.push(text.slice(start, i).trim())
    } else if (code === COMMA && depth === 1) {
      elements.push(text.slice(start, i).trim())
      if (elements.length === reportsMax) return undefined
      start = i + 1
    }
  }
  return elements
}

/** Of each closing quotation mark only the backslashes right before it are looked at. */
function endOfText(text: string, start: number): number {
  let quote = start
  for (;;) {
    quote = text.indexOf('"', quote + 1)
    if (quote === -1) return text.length
    let backslashes = 0
    while (text.charCodeAt(quote - backslashes - 1) === BACKSLASH) backslashes += 1
    if (backslashes % 2 === 0) return quote
  }
}
