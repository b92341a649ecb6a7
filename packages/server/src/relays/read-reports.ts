/**
 * A callback's reports, one by one. Providers post them as a JSON array; each is kept as it was
 * written, for parsing and writing again would change numbers that a double does not carry.
 */
import { createHash } from 'node:crypto'
import { parseJson } from '../platform/json.ts'

export interface Report {
  readonly value: unknown
  /** As received. */
  readonly raw: string
}

/** Undefined for what is not a JSON array. */
export function readReports(body: string): readonly Report[] | undefined {
  const values = parseJson(body)
  if (!Array.isArray(values)) return undefined
  const raws = splitArray(body)
  return values.map((value: unknown, i) => ({ value, raw: raws[i] ?? '' }))
}

/** Stands in for the id of a report that has none. */
export function digestOf({ raw }: Report): string {
  return createHash('sha256').update(raw).digest('base64url')
}

const [QUOTE, BACKSLASH, COMMA, BRACKET, BRACE, CLOSING_BRACKET, CLOSING_BRACE] =
  Buffer.from('"\\,[{]}')

/** The elements of a well-formed array, in linear time however they are nested. */
function splitArray(text: string): string[] {
  const elements: string[] = []
  let depth = 0
  let start = 0
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code === QUOTE) i = endOfText(text, i)
    else if (code === BRACKET || code === BRACE) {
      depth += 1
      if (depth === 1) start = i + 1
    } else if (code === CLOSING_BRACKET || code === CLOSING_BRACE) {
      depth -= 1
      if (depth === 0) elements.push(text.slice(start, i).trim())
    } else if (code === COMMA && depth === 1) {
      elements.push(text.slice(start, i).trim())
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
    let backslashes = 0
    while (text.charCodeAt(quote - backslashes - 1) === BACKSLASH) backslashes += 1
    if (backslashes % 2 === 0) return quote
  }
}
