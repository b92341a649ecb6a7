/**
 * Takes the values of a webhook's own headers out of what its receiver says before that is stored:
 * many a receiver echoes a request, and readers of deliveries must not read credentials
 * (architecture invariant 10).
 *
 * A value is found in whatever letter case, as it was sent and as JSON, HTML, URLs, base64 and
 * hexadecimal digits write it, also one in the other, and in parts: the token behind a scheme, what
 * Basic encodes. Of a text that was cut off in the middle of one, the beginning of it goes as well.
 * Very short values are no secrets, and would leave nothing of a text. A value that is wrapped into
 * lines is not found.
 *
 * A tenant chooses both the values and the text. So the values become one automaton, made once
 * (Aho and Corasick), and a text costs a few steps for each of its characters, however many values
 * there are. Where they are too large for that, nothing of a text is shown.
 */
import type { CustomHeaders } from '../../subscriptions/custom-headers.ts'
import { type Decoded, readings, readPlain, unescaped } from './decode-text.ts'
import { areTooLong, createTextFinder, type TextFinder } from './text-finder.ts'

export interface HeaderMask {
  /** What it occupies. */
  readonly octets: number
  hide(text: string): string
}

const MASK = '***'
/** In place of a text, when there is more to be hidden than can be looked for. */
export const WITHHELD = '(withheld: the headers of the webhook are too large to be found in it)'
const VALUE_LENGTH_MIN = 4
const PART_LENGTH_MIN = 8

export function createHeaderMask(headers: CustomHeaders): HeaderMask {
  const secrets = [...new Set(headers.flatMap(([, value]) => secretsIn(value)))]
  // Known before the longest of them are read.
  const finder = areTooLong(secrets) ? undefined : createTextFinder(wordsOf(secrets))
  if (finder === undefined) return { octets: 0, hide: (text) => (text === '' ? '' : WITHHELD) }
  return { octets: finder.octets, hide: (text) => hide(text, finder) }
}

function secretsIn(value: string): string[] {
  const parts = [...value.split(/\s+/), ...value.split(/[\s,;="']+/)].filter(
    (part) => part.length >= PART_LENGTH_MIN,
  )
  const inJson = value.replaceAll('\t', '\\t')
  return [value, inJson, ...parts, ...basicSecrets(value)]
}

/** RFC 7617: user and password together, and the password. */
function basicSecrets(value: string): string[] {
  const encoded = /^basic +([A-Za-z0-9+/]+=*)$/i.exec(value)?.[1]
  if (encoded === undefined) return []
  const pair = Buffer.from(encoded, 'base64').toString()
  return [pair, pair.slice(pair.indexOf(':') + 1)]
}

function wordsOf(secrets: readonly string[]): string[] {
  const words = new Set(secrets.flatMap((secret) => [secret, plain(secret)]))
  return [...words].filter((word) => word.length >= VALUE_LENGTH_MIN)
}

/** As the text is read, so that a value that looks escaped itself is found as well. */
function plain(secret: string): string {
  if (!/[\\%&]/.test(secret)) return secret
  return String.fromCharCode(...unescaped(readPlain(secret)).codes)
}

interface Place {
  readonly from: number
  readonly to: number
}

function hide(text: string, finder: TextFinder): string {
  if (text.length < VALUE_LENGTH_MIN) return text
  // Found before anything is replaced: they may overlap.
  const places = readings(text).flatMap((reading) => placesIn(reading, finder, text))
  places.sort((a, b) => a.from - b.from)
  let masked = ''
  let end = 0
  for (const { from, to } of places) {
    if (from >= end) masked += text.slice(end, from) + MASK
    end = Math.max(end, to)
  }
  return masked + text.slice(end)
}

/** An escape sequence that the end of the text has cut. */
const CUT_ESCAPE = /(?:\\(?:u[\da-f]{0,3}|x[\da-f]?)?|%[\da-f]?|&#?[\da-z]{0,7})$/i

function placesIn({ codes, from, to }: Decoded, finder: TextFinder, text: string): Place[] {
  const places: Place[] = []
  const cutAt = CUT_ESCAPE.exec(text.slice(-10))?.[0].length ?? 0
  let state = 0
  for (let at = 0; at < codes.length; at += 1) {
    state = finder.next(state, codes[at] ?? 0)
    const length = finder.foundAt(state)
    if (length > 0) places.push({ from: from[at + 1 - length] ?? 0, to: to[at] ?? 0 })
    const begun = finder.begunAt(state)
    const end = to[at] ?? 0
    if (begun >= VALUE_LENGTH_MIN && (end === text.length || end === text.length - cutAt))
      places.push({ from: from[at + 1 - begun] ?? 0, to: text.length })
  }
  return places
}
