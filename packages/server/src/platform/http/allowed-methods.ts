/**
 * Which methods a path knows: tells 405 with `Allow` from 404 (docs/reference/errors.md#order).
 *
 * Asked only for a request that no route took, so it simply tries every route's pattern.
 */
export interface AllowedMethods {
  add(methods: string | readonly string[], pattern: string): void
  /** Empty: no route has this path. */
  of(path: string): string[]
}

export function createAllowedMethods(): AllowedMethods {
  const methodsByPattern = new Map<
    string,
    { readonly test: RegExp; readonly methods: Set<string> }
  >()
  return {
    add(methods, pattern) {
      const entry = methodsByPattern.get(pattern) ?? { test: toRegExp(pattern), methods: new Set() }
      methodsByPattern.set(pattern, entry)
      for (const method of [methods].flat()) entry.methods.add(method)
    },
    of(path) {
      const allowed = new Set<string>()
      for (const { test, methods } of methodsByPattern.values())
        if (test.test(path)) for (const method of methods) allowed.add(method)
      return [...allowed].sort()
    },
  }
}

/** `:name` takes what is within one segment, a final `*` takes the rest. */
function toRegExp(pattern: string): RegExp {
  const source = pattern
    .split(/(:[A-Za-z_]\w*|\*)/)
    .map((part) => {
      if (part === '*') return '.*'
      if (part.startsWith(':')) return '[^/]+'
      return part.replace(/[.+?^${}()|[\]\\]/g, '\\$&')
    })
    .join('')
  return new RegExp(`^${source}$`)
}
