/**
 * Values of header fields taken apart: parameters (RFC 2045 §5.1, RFC 2231), encoded words (RFC 2047),
 * mailboxes with groups dissolved (RFC 5322 §3.4), and message ids. Everything is linear in what it
 * reads, and that is bounded.
 */
import { addressParser, decodeWords } from 'postal-mime'
import { cleanText } from './clean-text.ts'
import { decodeText } from './decode-text.ts'
import type { MessageHeader, ParsedMailbox } from './parsed-message.ts'

const PARAMETERS_CHARS_MAX = 16_384
/** Joining encoded words takes time that grows with the square of their length. */
const WORDS_CHARS_MAX = 65_536
const IDS_MAX = 1_000
/** Groups within groups take time that grows with the square of their number. */
const ADDRESSES_CHARS_MAX = 65_536

/** The first of a name, as all of them should be read (RFC 5322 §3.6 wants one). */
export function headerOf(headers: readonly MessageHeader[], name: string): string {
  return headers.find((one) => one.name.toLowerCase() === name)?.value ?? ''
}

export function headersOf(headers: readonly MessageHeader[], name: string): readonly string[] {
  return headers.flatMap((one) => (one.name.toLowerCase() === name ? one.value : []))
}

export function decodeHeaderText(value: string): string {
  return cleanText(decodeWords(value.slice(0, WORDS_CHARS_MAX)))
}

export function mailboxesOf(values: readonly string[]): readonly ParsedMailbox[] {
  return values
    .flatMap((value) => addressParser(boundedList(value), { flatten: true }))
    .flatMap(({ address = '', name }) => {
      const mailbox = { email: cleanText(address), name: cleanText(name) }
      return mailbox.email === '' && mailbox.name === '' ? [] : mailbox
    })
}

/** Up to the last comma of what is read. */
function boundedList(value: string): string {
  if (value.length <= ADDRESSES_CHARS_MAX) return value
  return value.slice(0, value.lastIndexOf(',', ADDRESSES_CHARS_MAX) + 1 || ADDRESSES_CHARS_MAX)
}

/** With their angle brackets; of a value without any, its first word. */
export function messageIdsOf(value: string): readonly string[] {
  const ids = value.match(/<[^<>\s]+>/g)?.slice(0, IDS_MAX)
  if (ids !== undefined) return ids
  const [word = ''] = value.split(/\s/, 1)
  return word === '' ? [] : [word]
}

export interface StructuredValue {
  /** In lower case. */
  readonly value: string
  /** Names in lower case. */
  readonly parameters: ReadonlyMap<string, string>
}

const PARAMETER = /;\s*([^\s=;"]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)|([^;]*))/g

export function readStructured(text: string): StructuredValue {
  const bounded = text.slice(0, PARAMETERS_CHARS_MAX)
  const [head = ''] = bounded.split(';', 1)
  const written = new Map<string, string>()
  for (const [, name = '', quoted, token = ''] of bounded.matchAll(PARAMETER)) {
    const key = name.toLowerCase()
    const value = quoted === undefined ? token.trim() : quoted.replace(/\\(.)/g, '$1')
    if (!written.has(key)) written.set(key, value)
  }
  return { value: withoutComments(head), parameters: joinContinued(written) }
}

function withoutComments(text: string): string {
  return text
    .replace(/\([^()]*\)/g, '')
    .replaceAll('"', '')
    .trim()
    .toLowerCase()
}

/** `name*0*=utf-8''a; name*1=b` becomes `name`; it counts more than a plain `name` beside it. */
function joinContinued(written: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
  const joined = new Map<string, string>()
  const sections = new Map<
    string,
    { readonly n: number; readonly is8Bit: boolean; text: string }[]
  >()
  for (const [key, text] of written) {
    const found = /^([^*]+)(?:\*(\d{1,4}))?(\*)?$/.exec(key)
    const [, name = key, n, star] = found ?? []
    if (n === undefined && star === undefined) joined.set(name, decodeHeaderText(text))
    else
      sections.set(name, [
        ...(sections.get(name) ?? []),
        { n: Number(n ?? 0), is8Bit: star !== undefined, text },
      ])
  }
  for (const [name, parts] of sections) {
    parts.sort((a, b) => a.n - b.n)
    const [first] = parts
    const [, charset, rest] = /^([^']*)'[^']*'(.*)$/s.exec(first?.text ?? '') ?? []
    if (first?.is8Bit === true && rest !== undefined) first.text = rest
    const bytes = parts.map(({ text, is8Bit }) =>
      is8Bit ? decodePercents(text) : Buffer.from(text),
    )
    joined.set(name, cleanText(decodeText(Buffer.concat(bytes), charset)))
  }
  return joined
}

function decodePercents(text: string): Buffer {
  const bytes = Buffer.from(text).toString('latin1')
  const plain = bytes.replace(/%([\da-f]{2})/gi, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  )
  return Buffer.from(plain, 'latin1')
}
