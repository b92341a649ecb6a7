/**
 * Makes suppressions of the lines of a file. The header says where each column is; a line that does not fit is a
 * problem of that line alone.
 */
import {
  emailLengthMax,
  type SuppressionFormat,
  type SuppressionSource,
  suppressionNoteLengthMax,
  suppressionSource,
} from '@postrider/contract'
import { addressKeyOf, parseAddress } from '@postrider/mail'
import { Check } from 'typebox/value'
import { newUlid, newUlidAt } from '../../platform/ids.ts'
import { withoutFormulaMark } from '../../platform/values/csv-field.ts'
import { parseDateTime } from '../../platform/values/date-time.ts'
import type { NewRow } from '../store.ts'
import {
  type Columns,
  checkColumns,
  type Format,
  formats,
  plain,
  readForeignTime,
} from './formats.ts'

export type LineReader = (fields: readonly string[]) => NewRow | { readonly problem: string }

export interface FileFacts {
  readonly format: SuppressionFormat
  /** Of lines that name none. */
  readonly source: SuppressionSource
  readonly now: Date
}

/**
 * @param first the fields of the first record
 * @returns `isHeader`: the record holds no suppression
 */
export function createLineReader(
  first: readonly string[],
  facts: FileFacts,
): { readonly read: LineReader; readonly isHeader: boolean } | { readonly problem: string } {
  const format = formats[facts.format]
  const isHeader = format.withoutHeader === undefined || !(first[0] ?? '').includes('@')
  const names = isHeader ? first.map(plain) : (format.withoutHeader ?? [])
  const places = new Map(names.map((name, place) => [name, place] as const).reverse())
  if (first.length === 1 && /[;\t]/.test(first[0] ?? ''))
    return { problem: 'must separate its columns by commas, as must all other lines' }
  const unfit = checkColumns(new Set(names), facts.format)
  if (unfit !== undefined) return unfit
  const order = { ...facts, source: { ...facts.source, import: facts.format } }
  return { isHeader, read: (fields) => readLine(format, order, columnsOf(places, fields)) }
}

function columnsOf(places: ReadonlyMap<string, number>, fields: readonly string[]): Columns {
  const exact = (name: string) => fields[places.get(name) ?? -1] ?? ''
  return {
    has: (...names) => names.some((name) => places.has(name)),
    exact,
    get: (name) => exact(name).trim(),
  }
}

function readLine(
  format: Format,
  { source, now }: FileFacts,
  columns: Columns,
): NewRow | { readonly problem: string } {
  const email = withoutMark(format, columns.get(plain(format.required[0])))
  if (email === '') return { problem: 'has no address' }
  if (email.length > emailLengthMax) return { problem: 'the address is too long' }
  const parsed = parseAddress(email)
  if (!parsed.ok) return { problem: `the address ${parsed.problem}` }
  const reason = format.reason(columns)
  if (typeof reason !== 'string') return reason
  const created = columns.get(format.createdAt)
  const id = created === '' ? newUlid() : readId(format, created, now)
  if (id === undefined) return { problem: 'created_at must be an RFC 3339 time' }
  const own = readOwn(format, columns, now)
  if ('problem' in own) return own
  const note = format.note === undefined ? '' : withoutMark(format, columns.exact(format.note))
  if (format.isOwn === true && note.length > suppressionNoteLengthMax)
    return { problem: `note must be at most ${suppressionNoteLengthMax} characters` }
  return {
    ...{ id, email, reason, emailKey: addressKeyOf(parsed.address.address) },
    source: own.source ?? source,
    note: note === '' ? null : storable(note.slice(0, suppressionNoteLengthMax)),
    expiresAt: own.expiresAt,
  }
}

function withoutMark({ isOwn }: Format, text: string): string {
  return isOwn === true ? withoutFormulaMark(text) : text
}

/** It says the time. One that is no time, or not yet, is now; in a file of ours the first is an error. */
function readId({ isOwn }: Format, created: string, now: Date): string | undefined {
  const at = isOwn === true ? parseDateTime(created) : (readForeignTime(created) ?? now)
  if (at === undefined) return undefined
  return at >= now || at.getTime() < 0 ? newUlid() : newUlidAt(at.getTime())
}

interface OwnColumns {
  readonly source: SuppressionSource | undefined
  readonly expiresAt: Date | null
}

function readOwn(
  { isOwn }: Format,
  columns: Columns,
  now: Date,
): OwnColumns | { readonly problem: string } {
  if (isOwn !== true) return { source: undefined, expiresAt: null }
  const end = columns.get('expiresat')
  const expiresAt = end === '' ? null : parseDateTime(end)
  if (expiresAt === undefined) return { problem: 'expires_at must be an RFC 3339 time' }
  if (expiresAt !== null && expiresAt <= now) return { problem: 'expires_at is over' }
  const given = columns.get('source')
  const source = given === '' ? undefined : readSource(given)
  if (given !== '' && source === undefined)
    return { problem: 'source is not one that an export wrote: leave the column out' }
  return { source, expiresAt }
}

const SOURCE_CHARS_MAX = 1_000

function readSource(text: string): SuppressionSource | undefined {
  if (text.length > SOURCE_CHARS_MAX) return undefined
  try {
    const value: unknown = JSON.parse(text)
    return Check(suppressionSource, value) && isStorable(text) ? value : undefined
  } catch {
    return undefined
  }
}

/** PostgreSQL stores no NUL, and neither as an escape in JSON. */
function isStorable(text: string): boolean {
  return !/\0|\\u(?:0000|d[89a-f])/i.test(text)
}

function storable(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\ufffd')
}
