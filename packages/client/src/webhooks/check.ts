/**
 * Checks of values that came as JSON: each tells the first flaw that it finds, and where.
 *
 * Where is written while unwinding, from the flaw outwards, so that sound bodies cost no paths.
 */
export interface Flaw {
  readonly segments: (string | number)[]
  readonly message: string
}

export type Check = (value: unknown) => Flaw | undefined

type OptionalKeys<T> = { [K in keyof T]-?: undefined extends T[K] ? K : never }[keyof T]

/** A check for every field that must be there: the compiler refuses a missing one. */
export type RequiredFields<T> = { readonly [K in Exclude<keyof T, OptionalKeys<T>>]: Check }
export type OptionalFields<T> = { readonly [K in OptionalKeys<T>]: Check }

export function flaw(message: string): Flaw {
  return { segments: [], message }
}

export function is(message: string, holds: (value: unknown) => boolean): Check {
  return (value) => (holds(value) ? undefined : flaw(message))
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Not `instanceof`: a test runner may have given the octets another realm's class. */
export function isOctets(body: unknown): body is Uint8Array {
  return ArrayBuffer.isView(body)
}

export const text = is('must be a string', (value) => typeof value === 'string')
export const textOrNull = is(
  'must be a string or null',
  (value) => value === null || typeof value === 'string',
)
export const truth = is('must be true or false', (value) => typeof value === 'boolean')
export const count = is(
  'must be an integer from 1',
  (value) => Number.isInteger(value) && Number(value) >= 1,
)
export const size = is(
  'must be an integer from 0',
  (value) => Number.isInteger(value) && Number(value) >= 0,
)
export const anyObject = is('must be an object', isObject)
export const objectOrNull = is(
  'must be an object or null',
  (value) => value === null || isObject(value),
)

const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)$/
export const time = is(
  'must be an RFC 3339 time',
  (value) => typeof value === 'string' && TIME.test(value),
)

export function literal(expected: string | boolean): Check {
  return is(`must be ${JSON.stringify(expected)}`, (value) => value === expected)
}

/** Unknown fields are let through: a later service may send more. */
export function shape<T>(required: RequiredFields<T>, optional: OptionalFields<T>): Check {
  const fields = [
    ...Object.entries<Check>(required).map(([name, check]) => ({ name, check, isOptional: false })),
    ...Object.entries<Check>(optional).map(([name, check]) => ({ name, check, isOptional: true })),
  ]
  return (value) => {
    if (!isObject(value)) return flaw('must be an object')
    for (const { name, check, isOptional } of fields) {
      // Not `value[name]` alone: what is inherited is not in the JSON.
      const field = Object.hasOwn(value, name) ? value[name] : undefined
      if (field === undefined && isOptional) continue
      const found = field === undefined ? flaw('is missing') : check(field)
      if (found) return under(name, found)
    }
    return undefined
  }
}

export function listOf(check: Check): Check {
  return (value) => {
    if (!Array.isArray(value)) return flaw('must be an array')
    for (let i = 0; i < value.length; i++) {
      const found = check(value[i])
      if (found) return under(i, found)
    }
    return undefined
  }
}

/** All of them, in this order. */
export function every(...checks: readonly Check[]): Check {
  return (value) => {
    for (const check of checks) {
      const found = check(value)
      if (found) return found
    }
    return undefined
  }
}

export function under(segment: string | number, found: Flaw): Flaw {
  found.segments.unshift(segment)
  return found
}

const pointerLengthMax = 200

/** JSON Pointer (RFC 6901), cut where a hostile body would make it long. */
export function pointerOf({ segments }: Flaw): string {
  return segments
    .map((segment) => `/${String(segment).replaceAll('~', '~0').replaceAll('/', '~1')}`)
    .join('')
    .slice(0, pointerLengthMax)
}
