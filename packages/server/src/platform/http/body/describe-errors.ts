/**
 * Turns Ajv's findings into the contract's `errors` (docs/reference/errors.md#shape): one sentence for each
 * offending field, under the field's own path.
 */
import type { FieldError } from '@postrider/contract'
import type { ErrorObject } from 'ajv'
import { nearestName } from '../../config/nearest-name.ts'
import { cutPointer, jsonPointer } from './json-body.ts'

const ERRORS_MAX = 50

export function describeErrors(
  findings: readonly ErrorObject[],
  noun: 'field' | 'query parameter',
): FieldError[] {
  const described = new Map<string, FieldError>()
  for (const finding of foldAlternatives(findings)) {
    const error = describe(finding, noun)
    if (!described.has(error.path)) described.set(error.path, error)
    if (described.size === ERRORS_MAX) break
  }
  return [...described.values()]
}

type Finding = ErrorObject & { readonly alternatives?: readonly ErrorObject[] }

/**
 * Ajv reports a failed `anyOf` as every failure of every branch and then the `anyOf` itself.
 * What the caller wants to know is one sentence: which values would do, or what is wrong in the
 * branch that was meant.
 */
function foldAlternatives(findings: readonly ErrorObject[]): Finding[] {
  const kept: Finding[] = []
  for (const finding of findings) {
    if (finding.propertyName !== undefined) continue // Reported as a whole by `propertyNames`.
    if (finding.keyword !== 'anyOf' && finding.keyword !== 'oneOf') {
      if (finding.keyword !== 'if') kept.push(finding)
      continue
    }
    const alternatives: Finding[] = []
    for (let last = kept.at(-1); last?.schemaPath.startsWith(`${finding.schemaPath}/`); ) {
      alternatives.unshift(last)
      kept.pop()
      last = kept.at(-1)
    }
    const meant = findMeantBranch(finding, alternatives)
    if (meant === undefined) kept.push({ ...finding, alternatives })
    else kept.push(...meant)
  }
  return kept
}

/** The branch whose errors lie deepest within the value, if its value was of the right kind. */
function findMeantBranch(
  finding: ErrorObject,
  alternatives: readonly Finding[],
): readonly Finding[] | undefined {
  const branches = new Map<string, Finding[]>()
  for (const error of alternatives) {
    const branch = error.schemaPath.slice(finding.schemaPath.length + 1).split('/', 1)[0] ?? ''
    branches.set(branch, [...(branches.get(branch) ?? []), error])
  }
  const plausible = [...branches.values()].filter(
    (errors) =>
      !errors.some(
        ({ keyword, instancePath }) =>
          keyword === 'const' ||
          ((keyword === 'type' || keyword === 'enum') && instancePath === finding.instancePath),
      ),
  )
  plausible.sort((a, b) => a.length - b.length)
  return plausible[0]
}

function describe(finding: Finding, noun: string): FieldError {
  const { params, keyword } = finding
  const path = cutPointer(finding.instancePath)
  const at = (segment: unknown) => path + jsonPointer([String(segment)])
  switch (keyword) {
    case 'required':
      return { path: at(params.missingProperty), message: 'is required' }
    case 'additionalProperties':
      return {
        path: at(params.additionalProperty),
        message: `is not a known ${noun}${hintFor(params.additionalProperty, finding.parentSchema)}`,
      }
    case 'unevaluatedProperties':
      return { path: at(params.unevaluatedProperty), message: `is not a known ${noun}` }
    case 'propertyNames':
      return { path: at(params.propertyName), message: 'is not an allowed name' }
    case 'uniqueItems':
      return { path: at(Math.max(params.i, params.j)), message: 'must not repeat another item' }
    default: {
      // A text that is given once is never a list.
      const isRepeated = noun === 'query parameter' && Array.isArray(finding.data)
      return {
        path,
        message: isRepeated ? 'is given more than once' : sentence(finding),
      }
    }
  }
}

function sentence(finding: Finding): string {
  const { keyword, params } = finding
  switch (keyword) {
    case 'type':
      return `must be ${typeNames(params.type)}${
        finding.data === null ? ', not null' : suchAs(finding.parentSchema)
      }`
    case 'const':
      return `must be ${JSON.stringify(params.allowedValue)}`
    case 'enum':
      return `must be one of ${params.allowedValues.map(String).join(', ')}`
    case 'minLength':
      return params.limit === 1
        ? 'must not be empty'
        : `must have at least ${params.limit} characters`
    case 'maxLength':
      return `must have at most ${counted(params.limit, 'character')}`
    case 'minItems':
      return `must have at least ${counted(params.limit, 'item')}`
    case 'maxItems':
      return `must have at most ${counted(params.limit, 'item')}`
    case 'minProperties':
      return `must have at least ${counted(params.limit, 'member')}`
    case 'maxProperties':
      return `must have at most ${counted(params.limit, 'member')}`
    case 'minimum':
      return `must be at least ${params.limit}`
    case 'maximum':
      return `must be at most ${params.limit}`
    case 'format':
      return params.format === 'date-time'
        ? 'must be an RFC 3339 time such as 2026-01-02T03:04:05Z'
        : `must be a valid ${params.format}`
    case 'anyOf':
    case 'oneOf':
      return alternativesSentence(finding.alternatives ?? [])
    default:
      return finding.message ?? 'is not valid'
  }
}

/** What is meant: a similar name, the same one within a field beside it, or a value there (`text/html`). */
function hintFor(name: string, schema: ErrorObject['parentSchema']): string {
  const { properties = {} }: ShownSchema = schema ?? {}
  const nearest = nearestName(name, Object.keys(properties))
  if (nearest !== undefined) return `; did you mean ${nearest}?`
  for (const [field, beside] of Object.entries(properties)) {
    const inner = beside.properties ?? beside.items?.properties ?? {}
    if (Object.hasOwn(inner, name)) return `; did you mean ${name} in ${field}?`
    const values = Object.values(inner).flatMap((one) => one.enum ?? [])
    if (values.some((value) => String(value).split('/').includes(name)))
      return `; did you mean ${field}${suchAs(beside)}?`
  }
  return ''
}

const EXAMPLE_CHARS_MAX = 100

function suchAs(schema: ShownSchema | undefined): string {
  const text = JSON.stringify(schema === undefined ? undefined : exampleOf(schema))
  return text === undefined || text.length > EXAMPLE_CHARS_MAX ? '' : `, such as ${text}`
}

function alternativesSentence(alternatives: readonly ErrorObject[]): string {
  const values = alternatives.flatMap(({ keyword, params }) => {
    if (keyword === 'const') return [String(params.allowedValue)]
    return keyword === 'enum' ? params.allowedValues.map(String) : []
  })
  const types: string[] = alternatives.flatMap(({ keyword, params }) =>
    keyword === 'type' ? [params.type].flat() : [],
  )
  if (values.length > 0) {
    const orNull = types.includes('null') ? ' or null' : ''
    return `must be one of ${[...new Set(values)].join(', ')}${orNull}`
  }
  return types.length > 0 ? `must be ${typeNames([...new Set(types)])}` : 'is not valid'
}

function typeNames(type: string | readonly string[]): string {
  return [type]
    .flat()
    .map((name) => (name === 'null' ? name : `${/^[aio]/.test(name) ? 'an' : 'a'} ${name}`))
    .join(' or ')
}

function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}

/** An example of a field, out of the examples that its schema and those within it have. */
interface ShownSchema {
  readonly [keyword: string]: unknown
  readonly examples?: readonly unknown[]
  readonly enum?: readonly unknown[]
  readonly properties?: Readonly<Record<string, ShownSchema>>
  readonly required?: readonly string[]
  readonly items?: ShownSchema
}

/** Of an object, what it requires. Undefined where a part of it has no example. */
function exampleOf(schema: ShownSchema): unknown {
  const { examples, properties = {}, required = [], items } = schema
  const given = examples?.[0] ?? schema.enum?.[0]
  if (given !== undefined) return given
  if (items !== undefined) {
    const item = exampleOf(items)
    return item === undefined ? undefined : [item]
  }
  const fields = required.map((name) => [name, exampleOf(properties[name] ?? {})] as const)
  if (fields.length === 0 || fields.some(([, example]) => example === undefined)) return undefined
  return Object.fromEntries(fields)
}
