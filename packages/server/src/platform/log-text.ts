/**
 * Log lines for people at a terminal: time of day, level, event and fields. Made of the JSON lines, so that
 * both say the same, and what is hidden there is hidden here.
 */
import type { LogDestination } from './log.ts'

const VALUE_LENGTH_MAX = 160

/** The first start has dozens of them in a row. */
const FOLDED: ReadonlySet<unknown> = new Set(['migration.applied'])

export function createTextDestination(destination: LogDestination): LogDestination {
  /** Of lines in a row that are folded, the last. */
  let folded: { readonly fields: Fields; readonly count: number } | undefined
  const writeFolded = () => {
    if (folded === undefined) return
    const { fields, count } = folded
    folded = undefined
    destination.write(toText(count === 1 ? fields : { ...fields, count }))
  }
  return {
    write(line) {
      const fields = JSON.parse(line) as Fields
      if (folded?.fields.msg !== fields.msg) writeFolded()
      if (FOLDED.has(fields.msg)) folded = { fields, count: (folded?.count ?? 0) + 1 }
      else destination.write(toText(fields))
    },
    flush(done) {
      writeFolded()
      destination.flush(done)
    },
    flushSync() {
      writeFolded()
      destination.flushSync()
    },
  }
}

type Fields = Readonly<Record<string, unknown>>

function toText({ level, time, msg, pid: _, err, ...fields }: Fields): string {
  const at = new Date(String(time)).toTimeString().slice(0, 8)
  const shown = Object.entries(fields).map(([name, value]) => ` ${name}=${toValue(value)}`)
  return `${at} ${String(level).padEnd(5)} ${plain(String(msg))}${shown.join('')}${toReason(err)}\n`
}

function toValue(value: unknown): string {
  const isBare = typeof value !== 'string' || /^[\w./:@+-]+$/.test(value)
  const text = plain(isBare && typeof value === 'string' ? value : JSON.stringify(value))
  return text.length > VALUE_LENGTH_MAX ? `${text.slice(0, VALUE_LENGTH_MAX)}…` : text
}

/** An error: what it says, and what led to it; the place of a fault on lines of its own. */
function toReason(err: unknown): string {
  if (typeof err !== 'object' || err === null) return ''
  const { message, stack, cause } = err as {
    readonly message?: unknown
    readonly stack?: unknown
    readonly cause?: unknown
  }
  const places = typeof stack === 'string' ? stack.split('\n').filter(isPlace) : []
  return ` error=${toValue(message)}${toReason(cause)}${places.map((one) => `\n${plain(one)}`).join('')}`
}

function isPlace(line: string): boolean {
  return /^ +at /.test(line)
}

/** What a terminal would act on, or show in another order, is written out. */
function plain(text: string): string {
  return text.replace(
    // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it escapes
    /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
