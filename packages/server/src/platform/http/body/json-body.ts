/**
 * Request bodies: JSON in UTF-8 and nothing else (docs/reference/http.md#requests).
 *
 * What JSON allows and the rest of the service cannot carry is refused here, by path, before any
 * schema sees it: nesting without end, NUL and lone surrogates (PostgreSQL stores neither),
 * keys that would reach an object's prototype, numbers that a double does not carry (the
 * caller would get other ones back), and names that an object has twice, of which all values but the
 * last would be dropped silently.
 *
 * How many values a body holds is counted on its bytes, before anything is made of them: 40 MiB of
 * `0,0,0,…` parse into gigabytes and seconds, for everybody.
 */
import { isUtf8 } from 'node:buffer'
import type { IncomingHttpHeaders } from 'node:http'
import type { FieldError } from '@postrider/contract'
import { ApiError, validationError } from '../../errors.ts'
import { countJson, findRepeatedName } from './scan-json.ts'

export const jsonDepthMax = 64
/** An email to 1,000 recipients has about 3,000. */
export const jsonValuesMax = 100_000
/** Of all names together: twice what `template_data` may hold. Names cost more than texts. */
export const jsonNameCharsMax = 2 * 1024 * 1024
/** Of one object: checking 75,000 against a schema takes 0.15 s, of which each refused one is a part. */
export const jsonObjectNamesMax = 10_000

/** Exactly `application/json`, with no parameter but `charset=utf-8`. */
const JSON_TYPE = /^application\/json(?:[ \t]*;[ \t]*charset=(?:utf-8|"utf-8"))?$/i

export function isJsonContentType(header: string | undefined): boolean {
  return header === 'application/json' || (header !== undefined && JSON_TYPE.test(header))
}

/** A compressed body, which its type does not show (RFC 9110 §8.4, §15.5.16). */
export function refuseEncoded(headers: IncomingHttpHeaders): ApiError | undefined {
  const { 'content-encoding': encoding = 'identity' } = headers
  if (encoding.toLowerCase() === 'identity') return undefined
  return new ApiError('unsupported_media_type', {
    message: 'Content-Encoding is not supported: send the body uncompressed, without this header',
    headers: { 'accept-encoding': 'identity' },
  })
}

export function parseJson(bytes: Buffer): unknown {
  if (!isUtf8(bytes)) throw new ApiError('invalid_json')
  const counts = countJson(bytes, jsonValuesMax)
  if (counts.values > jsonValuesMax)
    throw validationError({ path: '', message: `must not hold more than ${jsonValuesMax} values` })
  const text = bytes.toString('utf8')
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new ApiError('invalid_json') // The parser's message quotes the body: it stays here.
  }
  // Raw text is valid UTF-8 and JSON forbids a raw NUL, so only an escape can smuggle one in.
  const walk = { hasEscapes: text.includes('\\u'), members: 0, nameChars: 0 }
  const flaw =
    findFlaw(value, walk, 0) ??
    (walk.members === counts.members ? undefined : findRepetition(bytes))
  if (flaw !== undefined) throw validationError(toFieldError(flaw))
  return value
}

export function bodyMissing(): ApiError {
  return new ApiError('invalid_json', { message: 'A JSON body is required' })
}

/** A caller's own name is shown so far: an error does not repeat a megabyte of it. */
const NAME_LENGTH_SHOWN = 100

/** JSON Pointer (RFC 6901) of a path given from the root; of a very long name its beginning. */
export function jsonPointer(segments: readonly (string | number)[]): string {
  return segments
    .map((s) => `/${cutName(String(s)).replaceAll('~', '~0').replaceAll('/', '~1')}`)
    .join('')
}

/** Likewise, of a pointer that is written already. */
export function cutPointer(pointer: string): string {
  return pointer.split('/').map(cutName).join('/')
}

/** Neither in the middle of a character nor of an escape. */
function cutName(name: string): string {
  if (name.length <= NAME_LENGTH_SHOWN) return name
  return `${name.slice(0, NAME_LENGTH_SHOWN).replace(/[\ud800-\udbff~]$/, '')}…`
}

const TOO_DEEP = `must not be nested deeper than ${jsonDepthMax} levels`

const TOO_MANY_NAMES = `must not hold names of more than ${jsonNameCharsMax} characters together`

const TOO_MANY_MEMBERS = `must not have more than ${jsonObjectNamesMax} names`

interface Flaw {
  /** From the flaw outwards: written while unwinding, so that sound bodies cost no path. */
  readonly segments: (string | number)[]
  readonly message: string
}

interface Walk {
  readonly hasEscapes: boolean
  /** Of all objects so far. */
  members: number
  /** Of all names so far. */
  nameChars: number
}

function findFlaw(value: unknown, walk: Walk, depth: number): Flaw | undefined {
  if (typeof value === 'string') return walk.hasEscapes ? findTextFlaw(value) : undefined
  if (typeof value === 'number') return findNumberFlaw(value)
  if (typeof value !== 'object' || value === null) return undefined
  if (depth === jsonDepthMax) return { segments: [], message: TOO_DEEP }
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) {
      const flaw = findFlaw(item, walk, depth + 1)
      if (flaw !== undefined) return within(flaw, index)
    }
    return undefined
  }
  const keys = Object.keys(value)
  if (keys.length > jsonObjectNamesMax) return { segments: [], message: TOO_MANY_MEMBERS }
  for (const key of keys) {
    walk.members += 1
    walk.nameChars += key.length
    if (walk.nameChars > jsonNameCharsMax) return { segments: [], message: TOO_MANY_NAMES }
    const flaw =
      (walk.hasEscapes ? findTextFlaw(key) : undefined) ??
      findKeyFlaw(value, key) ??
      findFlaw(Reflect.get(value, key), walk, depth + 1)
    if (flaw !== undefined) return within(flaw, key)
  }
  return undefined
}

function findRepetition(bytes: Buffer): Flaw | undefined {
  const found = findRepeatedName(bytes, jsonDepthMax)
  if (found === 'too-deep') return { segments: [], message: TOO_DEEP }
  return found && { segments: found.segments.toReversed(), message: 'is given twice' }
}

function findTextFlaw(text: string): Flaw | undefined {
  if (!text.isWellFormed()) return { segments: [], message: 'must be well-formed Unicode' }
  if (text.includes('\0')) return { segments: [], message: 'must not contain NUL' }
  return undefined
}

function findNumberFlaw(value: number): Flaw | undefined {
  const isCarried =
    Number.isFinite(value) && (!Number.isInteger(value) || Number.isSafeInteger(value))
  if (isCarried) return undefined
  return { segments: [], message: 'must be a number that fits into a double; send it as a string' }
}

function findKeyFlaw(holder: object, key: string): Flaw | undefined {
  if (key !== '__proto__' && key !== 'constructor') return undefined
  const value: unknown = Reflect.get(holder, key)
  const reachesPrototype =
    key === '__proto__' ||
    (typeof value === 'object' && value !== null && Object.hasOwn(value, 'prototype'))
  return reachesPrototype ? { segments: [], message: 'is a forbidden name' } : undefined
}

function within(flaw: Flaw, segment: string | number): Flaw {
  flaw.segments.push(segment)
  return flaw
}

function toFieldError(flaw: Flaw): FieldError {
  return { path: jsonPointer(flaw.segments.reverse()), message: flaw.message }
}
