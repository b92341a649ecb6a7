/**
 * Takes the values of a webhook's own headers out of what its receiver says before that is stored:
 * many a receiver echoes a request, and whoever may read deliveries is not to read credentials
 * (architecture invariant 10).
 *
 * A value is found as it was sent, as JSON, HTML and URLs write it, and in parts: the token behind a
 * scheme, what Basic encodes. Of a text that was cut off in the middle of one, the beginning of it
 * goes as well. Very short values are no secrets, and would leave nothing of a text.
 */
import type { CustomHeaders } from './custom-headers.ts'

const MASK = '***'
const VALUE_LENGTH_MIN = 4
const PART_LENGTH_MIN = 8

export function maskHeaderValues(text: string, headers: CustomHeaders): string {
  if (text.length < VALUE_LENGTH_MIN) return text
  const secrets = new Set(headers.flatMap(([, value]) => secretsIn(value)).flatMap(spellings))
  // Found before anything is replaced: they may overlap.
  const places = [...secrets].flatMap((secret) => placesOf(secret, text))
  places.sort((a, b) => a.from - b.from)
  let masked = ''
  let end = 0
  for (const { from, to } of places) {
    if (from >= end) masked += text.slice(end, from) + MASK
    end = Math.max(end, to)
  }
  return masked + text.slice(end)
}

function secretsIn(value: string): string[] {
  const parts = [...value.split(/\s+/), ...value.split(/[\s,;="']+/)].filter(
    (part) => part.length >= PART_LENGTH_MIN,
  )
  return [value, ...parts, ...basicSecrets(value)].filter((s) => s.length >= VALUE_LENGTH_MIN)
}

/** RFC 7617: user and password together, and the password. */
function basicSecrets(value: string): string[] {
  const encoded = /^basic +([A-Za-z0-9+/]+=*)$/i.exec(value)?.[1]
  if (encoded === undefined) return []
  const pair = Buffer.from(encoded, 'base64').toString()
  return [pair, pair.slice(pair.indexOf(':') + 1)]
}

function spellings(secret: string): string[] {
  const json = JSON.stringify(secret).slice(1, -1)
  return [
    secret,
    json,
    json.replaceAll('/', '\\/'),
    json.replace(/[<>&]/g, (sign) => `\\u00${sign.charCodeAt(0).toString(16)}`),
    secret.replace(/[&<>"']/g, (sign) => HTML[sign] ?? sign),
    encodeURIComponent(secret.toWellFormed()),
  ]
}

const HTML: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

interface Place {
  readonly from: number
  to: number
}

/**
 * Each occurrence, overlapping ones as one, and what of the secret ends the text (Knuth, Morris,
 * Pratt). In linear time: a tenant chooses both texts, and `indexOf` takes 70 ms over the worst.
 */
function placesOf(secret: string, text: string): Place[] {
  if (!text.includes(secret.slice(0, VALUE_LENGTH_MIN))) return []
  const borders = bordersOf(secret)
  const places: Place[] = []
  let matched = 0
  for (let at = 0; at < text.length; at += 1) {
    matched = advance(secret, borders, matched, text[at])
    if (matched < secret.length) continue
    const last = places.at(-1)
    if (last !== undefined && last.to > at - matched) last.to = at + 1
    else places.push({ from: at + 1 - matched, to: at + 1 })
    matched = borders[matched - 1] ?? 0
  }
  if (matched >= VALUE_LENGTH_MIN) places.push({ from: text.length - matched, to: text.length })
  return places
}

/** For each beginning of the text, how much of its end is a shorter beginning as well. */
function bordersOf(text: string): number[] {
  const borders = [0]
  for (let at = 1; at < text.length; at += 1)
    borders.push(advance(text, borders, borders[at - 1] ?? 0, text[at]))
  return borders
}

function advance(
  pattern: string,
  borders: readonly number[],
  matched: number,
  letter: string | undefined,
): number {
  let length = matched
  while (length > 0 && pattern[length] !== letter) length = borders[length - 1] ?? 0
  return pattern[length] === letter ? length + 1 : length
}
