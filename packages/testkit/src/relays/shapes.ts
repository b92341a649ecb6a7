/** What JSON has to look like, and where a value does not: for providers' fakes, which say it each in its words. */
export type Shape =
  | { readonly is: 'string' | 'boolean' | 'integer' | 'any' }
  | { readonly is: 'list'; readonly of: Shape }
  /** Keys as one likes. */
  | { readonly is: 'map'; readonly of: Shape }
  | {
      readonly is: 'record'
      readonly fields: Readonly<Record<string, Shape>>
      readonly required?: readonly string[]
    }
  | { readonly is: 'either'; readonly of: readonly Shape[] }

export interface ShapeProblem {
  readonly kind: 'unknown' | 'missing' | 'type'
  /** Joined by dots; numbers are those of list items. */
  readonly path: string
  readonly expected: string
  readonly given: string
}

export const STRING = { is: 'string' } as const
export const BOOLEAN = { is: 'boolean' } as const
export const INTEGER = { is: 'integer' } as const
export const ANY = { is: 'any' } as const
export const listOf = (of: Shape): Shape => ({ is: 'list', of })
export const mapOf = (of: Shape): Shape => ({ is: 'map', of })
export const either = (...of: readonly Shape[]): Shape => ({ is: 'either', of })
export const record = (
  fields: Readonly<Record<string, Shape>>,
  required: readonly string[] = [],
): Shape => ({ is: 'record', fields, required })

export function findProblems(value: unknown, shape: Shape, path = ''): ShapeProblem[] {
  const given = typeOf(value)
  const wrong = (expected: string): ShapeProblem[] => [{ kind: 'type', path, expected, given }]
  switch (shape.is) {
    case 'any':
      return []
    case 'string':
    case 'boolean':
    case 'integer':
      return given === shape.is ? [] : wrong(shape.is)
    case 'list':
      if (!Array.isArray(value)) return wrong('array')
      return value.flatMap((item, i) => findProblems(item, shape.of, join(path, String(i))))
    case 'map':
      if (!isObject(value)) return wrong('object')
      return Object.entries(value).flatMap(([key, one]) =>
        findProblems(one, shape.of, join(path, key)),
      )
    case 'either': {
      const all = shape.of.map((one) => findProblems(value, one, path))
      // The form that was meant is the one that errs deeper down.
      const isMeant = (problems: ShapeProblem[]) => problems.every((one) => one.path !== path)
      return all.find((problems) => problems.length === 0) ?? all.find(isMeant) ?? all[0] ?? []
    }
    case 'record': {
      if (!isObject(value)) return wrong('object')
      const missing = (shape.required ?? []).filter((key) => value[key] === undefined)
      const unknown = Object.keys(value).filter((key) => shape.fields[key] === undefined)
      return [
        ...missing.map((key) => problemOf('missing', join(path, key))),
        ...unknown.map((key) => problemOf('unknown', join(path, key))),
        ...Object.entries(shape.fields).flatMap(([key, one]) =>
          value[key] === undefined ? [] : findProblems(value[key], one, join(path, key)),
        ),
      ]
    }
  }
}

/** Where unknown fields mean nothing: the first problem but these, whose paths are told. */
export function findBroken(
  value: unknown,
  shape: Shape,
  onIgnored: (paths: readonly string[]) => void,
): ShapeProblem | undefined {
  const problems = findProblems(value, shape)
  onIgnored(problems.filter(({ kind }) => kind === 'unknown').map(({ path }) => path))
  return problems.find(({ kind }) => kind !== 'unknown')
}

export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function problemOf(kind: 'missing' | 'unknown', path: string): ShapeProblem {
  return { kind, path, expected: '', given: '' }
}

function typeOf(value: unknown): string {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  return Number.isInteger(value) ? 'integer' : typeof value
}

function join(path: string, key: string): string {
  return path === '' ? key : `${path}.${key}`
}
