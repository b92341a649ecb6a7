/**
 * Header lines of messages, folded and with their CRLF (RFC 5322 §2.2.3, RFC 2047, RFC 2231).
 *
 * What is plain is written as it is; what is not is encoded by nodemailer's functions. Characters
 * that no header can carry become encoded words, so that no value breaks out of its line.
 */
import {
  buildHeaderValue,
  encodeWord,
  encodeWords,
  foldLines,
  parseHeaderValue,
  quoteString,
} from 'nodemailer/lib/mime-funcs'

export interface Mailbox {
  /** In wire form. */
  readonly address: string
  readonly name?: string | undefined
}

const CRLF = '\r\n'
const LINE_CHARS = 76
const WORD_CHARS_MAX = 52
const PLAIN = /^[\t\x20-\x7e]*$/
const UNFOLDABLE = /(?<!\S)\S{900}/
const CONTROLS = /[^\P{Cc}\t\r\n]/u
/** Alone it cannot be mistaken for two, or for a name (RFC 5322 §3.4). */
const BARE_ADDRESS = /^[^\s"(),:;<>@[\\\]]+@[^\s"(),:;<>@[\\\]]+$/

export function headerLine(name: string, value: string): string {
  const line = `${name}: ${value}`
  return (line.length < LINE_CHARS ? line : foldLines(line, LINE_CHARS)) + CRLF
}

export function mailboxLine(name: string, mailboxes: readonly Mailbox[]): string {
  return headerLine(name, mailboxes.map(mailboxOf).join(', '))
}

/** Of an unstructured header; line ends become spaces. */
export function textLine(name: string, text: string): string {
  return headerLine(name, encodeHeaderText(text))
}

/** The value of an unstructured header on one line, ASCII only. */
export function encodeHeaderText(text: string): string {
  return encodeUnstructured(oneLine(text))
}

/** RFC 2183, with the name as parameters of RFC 2231 where it is not plain. */
export function dispositionLine(disposition: string, filename: string): string {
  const value = buildHeaderValue({ value: disposition, params: { filename } })
  return headerLine('Content-Disposition', value)
}

/** The name once more: some programs read it nowhere else, and as encoded words only. */
export function namedTypeLine(mediaType: string, filename: string): string {
  const { value, params } = parseHeaderValue(mediaType, { stripComments: true })
  const others = Object.entries(params).filter(([param]) => !/^name(\*|$)/i.test(param))
  const type = buildHeaderValue({ value, params: Object.fromEntries(others) })
  const word = encodeUnstructured(oneLine(filename))
  const name = /^[\w.+-]+$/.test(word) && !word.startsWith('-') ? word : quoteString(word)
  return headerLine('Content-Type', `${type}; name=${name}`)
}

function mailboxOf({ address: given, name = '' }: Mailbox): string {
  const address = given.replace(/[\p{Cc}<>]+/gu, ' ').trim()
  if (name.trim() === '') return BARE_ADDRESS.test(address) ? address : `<${address}>`
  return `${phraseOf(name)} <${address}>`
}

function phraseOf(name: string): string {
  if (/^[\w ]*$/.test(name)) return name
  if (/^[\x20-\x7e]*$/.test(name) && !name.includes('=?')) return quoteString(name)
  return encodeWord(name, encodingOf(name), WORD_CHARS_MAX)
}

function oneLine(text: string): string {
  return text.replace(/\r\n?|\n/g, ' ')
}

/** What cannot be folded at a space is cut into encoded words, too, and what might be read as one. */
function encodeUnstructured(text: string): string {
  if (PLAIN.test(text) && !text.includes('=?') && !UNFOLDABLE.test(text)) return text
  if (CONTROLS.test(text) || UNFOLDABLE.test(text) || mayHoldEncodedWord(text))
    return encodeWord(text, encodingOf(text), WORD_CHARS_MAX)
  return encodeWords(text, encodingOf(text), WORD_CHARS_MAX, true)
}

/** RFC 2047 §2, and what lenient readers take for one: a text that holds one is not to change. */
function mayHoldEncodedWord(text: string): boolean {
  return text.includes('=?') && /\?[bq]\?/i.test(text) && text.includes('?=')
}

/** The shorter of the two for most texts, and legible where it can be. */
function encodingOf(text: string): 'Q' | 'B' {
  const letters = text.match(/[A-Za-z]/g)?.length ?? 0
  const others = text.match(/[^\t\r\n\x20-\x7e]/g)?.length ?? 0
  return others < letters ? 'Q' : 'B'
}
