/**
 * How the text of a configuration variable becomes a value: each type says what it expects, for
 * the refusal and for docs/config.md, and reads text as that or not at all.
 */
import { readFileSync, type Stats, statSync } from 'node:fs'
import { isIP } from 'node:net'
import { dirname, resolve } from 'node:path'
import { Reader } from 'mmdb-lib'
import { DatabaseUrlError, readDatabaseUrl } from '../db/database-url.ts'
import { parseNetwork } from '../egress/address-policy.ts'
import { parseDuration, wholeUnits } from '../values/duration.ts'

export interface ValueType<T> {
  /** Completes "expected …". */
  readonly expected: string
  /** undefined: the text is none. */
  parse(text: string): T | undefined
  /** Why it is none, in words that hold no part of it. */
  why?(text: string): string | undefined
  /** The value as text, for the operator to see. Only of types whose values cannot hold a secret. */
  show?(value: T): string
}

export function oneOf<const V extends string>(...values: readonly V[]): ValueType<V> {
  return {
    expected: `one of ${values.join(', ')}`,
    parse: (text) => values.find((value) => value === text),
    show: (value) => value,
  }
}

export const flag: ValueType<boolean> = {
  expected: 'true or false',
  parse: (text) => (text === 'true' ? true : text === 'false' ? false : undefined),
  show: String,
}

export function integer(min: number, max: number): ValueType<number> {
  return {
    expected: `a whole number from ${min} to ${max}`,
    parse(text) {
      const value = /^[0-9]{1,15}$/.test(text) ? Number(text) : Number.NaN
      return value >= min && value <= max ? value : undefined
    },
    show: String,
  }
}

/** In milliseconds. */
export function duration(min: string, max: string): ValueType<number> {
  const [minMs = 0, maxMs = 0] = [parseDuration(min), parseDuration(max)]
  return {
    expected: `a duration from ${min} to ${max}, such as 250ms, 5s, 10m, 2h, 3d`,
    parse(text) {
      const ms = parseDuration(text)
      return ms !== undefined && ms >= minMs && ms <= maxMs ? ms : undefined
    },
    show: wholeUnits,
  }
}

/** Waits in milliseconds; the last one repeats. */
export function schedule(): ValueType<readonly number[]> {
  const wait = duration('1ms', '30d')
  return {
    expected: 'a comma list of durations from 1ms to 30d, such as 30s,2m,10m',
    parse: (text) => parseList(text, wait.parse),
    show: (waits) => waits.map(wholeUnits).join(),
  }
}

const BYTE_UNITS: Readonly<Record<string, number>> = {
  '': 1,
  KiB: 1024,
  MiB: 1024 ** 2,
  GiB: 1024 ** 3,
}

export function byteSize(min: string, max: string): ValueType<number> {
  const [minBytes = 0, maxBytes = 0] = [parseBytes(min), parseBytes(max)]
  return {
    expected: `a size from ${min} to ${max}, such as 1048576, 256KiB, 1MiB`,
    parse(text) {
      const bytes = parseBytes(text)
      return bytes !== undefined && bytes >= minBytes && bytes <= maxBytes ? bytes : undefined
    },
    show: String,
  }
}

export type DiskShare = { readonly bytes: number } | { readonly percent: number }

export const diskShare: ValueType<DiskShare> = {
  expected: 'a size such as 256MiB, or a share of the disk from 0% to 90%',
  parse(text) {
    const percent = /^([0-9]{1,2})%$/.exec(text)?.[1]
    if (percent !== undefined)
      return Number(percent) <= 90 ? { percent: Number(percent) } : undefined
    const bytes = parseBytes(text)
    return bytes === undefined ? undefined : { bytes }
  },
  show: (share) => ('bytes' in share ? String(share.bytes) : `${share.percent}%`),
}

/** CIDR blocks of either family. */
export const networks: ValueType<readonly string[]> = {
  expected: 'a comma list of networks, such as 10.0.0.0/8,fd00::/8',
  parse: (text) => parseList(text, (item) => (isNetwork(item) ? item : undefined)),
  show: (items) => items.join(),
}

export const host: ValueType<string> = {
  expected: 'an IP address or a host name',
  parse: (text) =>
    isIP(text) !== 0 || /^(?=.{1,253}$)[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9-]+)*$/i.test(text)
      ? text
      : undefined,
  show: (value) => value,
}

/** In lower case. An address is no name. */
export const hostName: ValueType<string> = {
  expected: 'a host name, such as mail.example.com, and no address',
  parse(text) {
    const isName = text.length <= 253 && NAME.test(text) && !/(?:^|\.)\d+$/.test(text)
    return isName ? text.toLowerCase() : undefined
  },
  show: (value) => value,
}
const NAME = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*$/i

export const nameServers: ValueType<readonly string[]> = {
  show: (items) => items.join(),
  expected: 'a comma list of IP addresses with ports, such as 9.9.9.9:53,[2620:fe::fe]:53',
  parse: (text) =>
    parseList(text, (item) => {
      const [, address = '', port = ''] = /^\[?([0-9a-f.:]+?)\]?:([0-9]{1,5})$/i.exec(item) ?? []
      const isSound = isIP(address) === (item.startsWith('[') ? 6 : 4) && isPort(Number(port))
      return isSound ? item : undefined
    }),
}

/** Without a final slash, so that a path can be put behind it. */
export const httpUrl: ValueType<string> = {
  expected: 'an http or https URL without credentials, query and fragment',
  parse(text) {
    const url = URL.parse(text)
    if (url === null || !/^https?:\/\//i.test(text)) return undefined
    if (url.username !== '' || url.password !== '' || /[?#]/.test(text)) return undefined
    return url.href.replace(/\/+$/, '')
  },
}

/** One that stands in mail as it is, in every encoding, and needs no escaping in HTML. */
export const plainHttpUrl: ValueType<string> = {
  expected: `${httpUrl.expected}, its path of letters, digits and -._~ alone`,
  parse(text) {
    const url = httpUrl.parse(text)
    return url !== undefined && /^[\w\-.~:/[\]]+$/.test(url) ? url : undefined
  },
  show: (value) => value,
}

/** With one host or several. */
export const postgresUrl: ValueType<string> = {
  expected: 'a URL such as postgres://user:password@host:5432/database',
  parse: (text) => (whyNoDatabaseUrl(text) === undefined ? text : undefined),
  why: whyNoDatabaseUrl,
}

function whyNoDatabaseUrl(text: string): string | undefined {
  try {
    readDatabaseUrl(text)
    return undefined
  } catch (error) {
    return error instanceof DatabaseUrlError ? error.message : 'cannot be read'
  }
}

/** Made absolute. It need not be there yet; what is there in its place must be a directory. */
export const directory: ValueType<string> = {
  expected: 'a directory, or a path at which one can be made',
  parse: (text) => (text.includes('\0') || isBelowFile(resolve(text)) ? undefined : resolve(text)),
  show: (value) => value,
}

/** Of MaxMind DB format 2: the metadata at its end, and a first address that is looked up in it. */
export const mmdbFile: ValueType<string> = fileWith('an mmdb file that can be read', (content) => {
  new Reader<never>(Buffer.from(content, 'latin1')).get('192.0.2.1')
  return true
})

export const pemFile: ValueType<string> = fileWith('a PEM file that can be read', (content) =>
  content.includes('-----BEGIN '),
)

/** A credential in one HTTP header. How long it should be is said at start, not enforced. */
export const credential: ValueType<string> = {
  expected: 'up to 512 visible ASCII characters, at least 16 of them advised',
  parse: (text) => (/^[\x21-\x7e]{1,512}$/.test(text) ? text : undefined),
}

export const credentialLengthAdvised = 16

export function listOf<const V extends string>(...values: readonly V[]): ValueType<readonly V[]> {
  const item = oneOf(...values)
  return {
    expected: `a comma list of ${values.join(', ')}`,
    parse: (text) => parseList(text, item.parse),
    show: (items) => items.join(),
  }
}

/** A check that lives elsewhere and throws. */
export function checkedBy(expected: string, check: (text: string) => unknown): ValueType<string> {
  return {
    expected,
    parse(text) {
      try {
        check(text)
        return text
      } catch {
        return undefined
      }
    },
  }
}

function parseList<T>(text: string, parse: (item: string) => T | undefined): T[] | undefined {
  const values: T[] = []
  for (const item of text.split(',')) {
    const value = parse(item.trim())
    if (value === undefined) return undefined
    values.push(value)
  }
  return values
}

function parseBytes(text: string): number | undefined {
  const [, digits, unit] = /^([0-9]{1,13})(KiB|MiB|GiB)?$/.exec(text) ?? []
  const factor = BYTE_UNITS[unit ?? '']
  return digits === undefined || factor === undefined ? undefined : Number(digits) * factor
}

function isNetwork(text: string): boolean {
  try {
    parseNetwork(text)
    return true
  } catch {
    return false
  }
}

function isPort(port: number): boolean {
  return port >= 1 && port <= 65_535
}

/** Whether the path, or what of it exists, is something else than a directory. */
function isBelowFile(path: string): boolean {
  let stat: Stats | undefined
  try {
    stat = statSync(path, { throwIfNoEntry: false })
  } catch {
    return false // It cannot be looked at, which is told when it is used.
  }
  if (stat !== undefined) return !stat.isDirectory()
  return dirname(path) !== path && isBelowFile(dirname(path))
}

function fileWith(expected: string, isSound: (content: string) => boolean): ValueType<string> {
  return {
    expected,
    parse(text) {
      const file = resolve(text)
      try {
        return isSound(readFileSync(file, 'latin1')) ? file : undefined
      } catch {
        return undefined
      }
    },
  }
}
