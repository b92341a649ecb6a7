/**
 * Fills the parameters of a path so that no value can name another route.
 *
 * Encoding alone is not enough: a URL parser resolves `..` as a whole segment, and servers behind
 * proxies may see an encoded slash decoded.
 */
import { invalidArgument } from './errors.ts'

export function fillPath(template: string, parameters: Readonly<Record<string, string>>): string {
  return template.replace(/\{(\w+)\}/g, (_, name: string) => encodeSegment(name, parameters[name]))
}

function encodeSegment(name: string, value: unknown): string {
  if (typeof value !== 'string' || value === '') {
    throw invalidArgument(`${name} must be a non-empty string`)
  }
  if (value.split(/[/\\]/).some((part) => part === '.' || part === '..')) {
    throw invalidArgument(`${name} must not contain the path segments "." or ".."`)
  }
  try {
    return encodeURIComponent(value)
  } catch (error) {
    throw invalidArgument(`${name} is not well-formed Unicode`, error)
  }
}
