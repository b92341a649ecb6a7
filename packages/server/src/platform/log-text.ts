/**
 * Log lines for people at a terminal: time of day, level, event and fields. Made of the JSON lines, so that
 * both say the same, and what is hidden there is hidden here.
 */
import type { LogDestination } from './log.ts'

const VALUE_LENGTH_MAX = 160

export function createTextDestination(destination: LogDestination): LogDestination {
  return { ...destination, write: (line) => destination.write(toText(line)) }
}

/** @param line one JSON object, as the logger writes it */
export function toText(line: string): string {
  const { level, time, msg, pid: _, err, ...fields } = JSON.parse(line) as Record<string, unknown>
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
