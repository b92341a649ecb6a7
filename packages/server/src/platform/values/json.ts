/** JSON of others, looked into without believing its shape. */

/** As of `JSON.parse`; behind the value comes how it was written. */
export type Reviver = (name: string, value: unknown, ...context: readonly unknown[]) => unknown

/** Undefined for what is no JSON. */
export function parseJson(text: string, reviver?: Reviver): unknown {
  try {
    return JSON.parse(text, reviver)
  } catch {
    return undefined
  }
}

/** Its own members only: what an object inherits was not said. */
export function memberOf(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null) return undefined
  return Object.hasOwn(value, name) ? Reflect.get(value, name) : undefined
}
