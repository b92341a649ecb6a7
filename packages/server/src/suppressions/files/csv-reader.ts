/**
 * Reads CSV (RFC 4180) piece by piece: quoted fields with commas, quotes and line breaks, lines that end in
 * LF or CRLF, blank lines passed over.
 *
 * A record that is not well formed costs its first line alone: reading goes on with the next one. So does a
 * quote that is never closed, once its record is longer than `recordCharsMax`: the rest of the file is not
 * lost behind it. What is held is one record and one piece.
 *
 * What a record that is not well formed was looked for in is read again line by line: there, no field goes
 * beyond its line. So each character is looked at a few times, whatever the file holds.
 */
export interface CsvRecord {
  /** Where it begins, in lines of the file, from 1. */
  readonly line: number
  readonly fields: readonly string[]
}

export interface CsvFlaw {
  readonly line: number
  readonly problem: string
}

export interface CsvReader {
  /** The records that are complete now, to be read to their end. One at a time: few of them are held. */
  push(text: string): Iterable<CsvRecord | CsvFlaw>
  /** The file is over. */
  end(): Iterable<CsvRecord | CsvFlaw>
}

export const recordCharsMax = 64 * 1024
/** Fewer wait for more: the beginning of a record is read again with each piece. */
const PIECE_CHARS_MIN = 16 * 1024

export function createCsvReader(charsMax = recordCharsMax): CsvReader {
  let rest = ''
  let unread = 0
  let line = 1
  /** The rest of a line that was too long is passed over. */
  let isSkipping = false
  /** Of the text that is read: up to here, no field goes beyond its line. */
  let byLineUntil = 0

  function* read(text: string, isEnd: boolean): Generator<CsvRecord | CsvFlaw, void, undefined> {
    let at = 0
    // Sought again only behind it: a piece of many short lines is looked through once, not once for each.
    let quote = text.indexOf('"')
    rest = ''
    while (at < text.length) {
      const lineEnd = text.indexOf('\n', at)
      if (quote >= 0 && quote < at) quote = text.indexOf('"', at)
      if (isSkipping) {
        if (lineEnd < 0) {
          byLineUntil -= text.length
          return
        }
        isSkipping = false
        line += 1
        at = lineEnd + 1
        continue
      }
      const isByLine = at < byLineUntil
      const scanned = scanRecord(text, { at, lineEnd, quote, isEnd, charsMax, isByLine })
      if (scanned === 'more') {
        rest = text.slice(at)
        byLineUntil -= at
        return
      }
      const began = line
      if ('fields' in scanned) {
        line += scanned.lines
        at = scanned.next
        if (!isBlank(scanned.fields)) yield { line: began, fields: scanned.fields }
        continue
      }
      line += 1
      byLineUntil = Math.max(byLineUntil, scanned.lookedTo)
      at = lineEnd < 0 ? text.length : lineEnd + 1
      isSkipping = lineEnd < 0 && !isEnd
      if (isSkipping) line = began
      yield { line: began, problem: scanned.problem }
    }
    byLineUntil -= text.length
  }

  return {
    push(text) {
      rest += text
      unread += text.length
      if (unread < PIECE_CHARS_MIN) return []
      unread = 0
      return read(rest, false)
    },
    end: () => read(rest, true),
  }
}

interface ScannedRecord {
  readonly fields: readonly string[]
  /** Where the next one begins. */
  readonly next: number
  /** Of the file, that it takes. */
  readonly lines: number
}

interface ScannedFlaw {
  readonly problem: string
  /** How far the record was looked for. */
  readonly lookedTo: number
}

interface Place {
  readonly at: number
  /** Of the first line; -1: it is not there yet. */
  readonly lineEnd: number
  /** The next one, also of a later line; -1: there is none. */
  readonly quote: number
  readonly isEnd: boolean
  readonly charsMax: number
  /** No field goes beyond the line. */
  readonly isByLine: boolean
}

/** `more`: it may go on in the next piece. */
function scanRecord(text: string, place: Place): ScannedRecord | ScannedFlaw | 'more' {
  const { at, lineEnd, quote, isEnd, charsMax, isByLine } = place
  const end = lineEnd < 0 ? text.length : lineEnd
  const isOpen = lineEnd < 0 && !isEnd
  if (end - at > charsMax)
    return { problem: `is longer than ${charsMax} characters`, lookedTo: end }
  if (quote < 0 || quote >= end) {
    if (isOpen) return 'more'
    return { fields: withoutCr(text, at, end).split(','), next: end + 1, lines: 1 }
  }
  if (isByLine && isOpen) return 'more'
  return scanQuoted(text, place, isByLine ? end : at + charsMax)
}

function withoutCr(text: string, at: number, end: number): string {
  return text.slice(at, end > at && text[end - 1] === '\r' ? end - 1 : end)
}

/**
 * With quotes in it, which may take it over several lines.
 *
 * @param until no field ends behind it
 */
function scanQuoted(
  text: string,
  { at: start, isEnd, charsMax }: Place,
  until: number,
): ScannedRecord | ScannedFlaw | 'more' {
  const fields: string[] = []
  let lines = 1
  for (let at = start; ; ) {
    if (at - start > charsMax)
      return { problem: `is longer than ${charsMax} characters`, lookedTo: at }
    const field = text[at] === '"' ? scanQuotedField(text, at, until) : scanPlainField(text, at)
    if (field === undefined) {
      if (text.length > until || isEnd)
        return { problem: 'has a quote that is not closed', lookedTo: until }
      return 'more'
    }
    lines += field.lines
    const after = text[field.end] ?? ''
    if (after === '' && !isEnd) return 'more'
    fields.push(field.value)
    if (after === ',') at = field.end + 1
    else if (after === '' || after === '\n') return { fields, next: field.end + 1, lines }
    else if (after === '\r' && text[field.end + 1] === '\n')
      return { fields, next: field.end + 2, lines }
    else if (after === '\r' && field.end + 1 === text.length)
      return isEnd ? { fields, next: field.end + 1, lines } : 'more'
    else return { problem: 'has text behind a quoted field', lookedTo: field.end }
  }
}

interface ScannedField {
  readonly value: string
  readonly end: number
  /** Line breaks in it. */
  readonly lines: number
}

/** Undefined when its closing quote is not there, up to `until`. */
function scanQuotedField(text: string, start: number, until: number): ScannedField | undefined {
  for (let from = start + 1; ; ) {
    const quote = text.indexOf('"', from)
    if (quote < 0 || quote >= until) return undefined
    if (text[quote + 1] === '"') {
      from = quote + 2
      continue
    }
    const inside = text.slice(start + 1, quote)
    return { value: inside.replaceAll('""', '"'), end: quote + 1, lines: countOf(inside, '\n') }
  }
}

/** A quote within one stands for itself, as spreadsheets read it. */
function scanPlainField(text: string, start: number): ScannedField {
  let end = start
  while (end < text.length && text[end] !== ',' && text[end] !== '\n') end += 1
  const value = withoutCr(text, start, end)
  return { value, end: start + value.length, lines: 0 }
}

function countOf(text: string, what: string): number {
  let count = 0
  for (let at = text.indexOf(what); at >= 0; at = text.indexOf(what, at + 1)) count += 1
  return count
}

function isBlank(fields: readonly string[]): boolean {
  return fields.every((field) => field.trim() === '')
}
