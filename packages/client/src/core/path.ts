/**
 * Fills the parameters of a path so that no value can name another route, and writes its query.
 *
 * Encoding alone is not enough: a URL parser resolves `..` as a whole segment, and servers behind
 * proxies may see an encoded slash decoded.
 */
import { invalidArgument } from './errors.ts'
import { timeText } from './times.ts'

export function fillPath(template: string, parameters: Readonly<Record<string, string>>): string {
  return template.replace(/\{(\w+)\}/g, (_, name: string) => encodeSegment(name, parameters[name]))
}

/** With its question mark; empty when nothing is asked. */
export function queryOf(query: Readonly<Record<string, unknown>>): string {
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    value === undefined ? [] : [`${encodeURIComponent(name)}=${encodeValue(name, value)}`],
  )
  return pairs.length === 0 ? '' : `?${pairs.join('&')}`
}

function encodeValue(name: string, value: unknown): string {
  if (value instanceof Date) return encode(name, timeText(name, value))
  if (typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean') {
    throw invalidArgument(`${name} must be a string, a number, a boolean or a Date`)
  }
  return encode(name, String(value))
}

function encodeSegment(name: string, value: unknown): string {
  if (typeof value !== 'string' || value === '') {
    throw invalidArgument(`${name} must be a non-empty string`)
  }
  if (value.split(/[/\\]/).some((part) => part === '.' || part === '..')) {
    throw invalidArgument(`${name} must not contain the path segments "." or ".."`)
  }
  return encode(name, value)
}

function encode(name: string, value: string): string {
  try {
    return encodeURIComponent(value)
  } catch (error) {
    throw invalidArgument(`${name} is not well-formed Unicode`, error)
  }
}
