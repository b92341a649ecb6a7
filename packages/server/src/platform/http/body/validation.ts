/**
 * Checks bodies, queries and path parameters against the contract's schemas (docs/reference/errors.md#shape).
 *
 * Nothing is coerced or defaulted in a body, and nothing dropped but a null that means nothing; a query's
 * text is read as the type its schema names. A refusal names every offending field by its path, a missing one by where it would
 * stand. Checking stops at the first error; only then, and only for a body of modest size, are all
 * errors collected: a hostile body costs no more than a good one.
 *
 * A schema is compiled when it is first used: all of them at once would be most of a start. That a schema is
 * itself valid is checked by a test, not by each process.
 */
import { type FieldError, partialKeyword } from '@postrider/contract'
import {
  Ajv,
  type ErrorObject,
  type FuncKeywordDefinition,
  type Options,
  type ValidateFunction,
} from 'ajv'
import { ApiError } from '../../errors.ts'
import { parseDateTime } from '../../values/date-time.ts'
import { compileNulls, type TakeNullsOut } from './absent-fields.ts'
import { describeErrors } from './describe-errors.ts'

export type Check = (value: unknown) => true | { error: ApiError }

const NODES_MAX = 10_000
const OPTIONS: Options = {
  allErrors: false,
  coerceTypes: false,
  removeAdditional: false,
  useDefaults: false,
  strict: true,
  strictTypes: false,
  addUsedSchema: false,
  validateSchema: false,
  formats: { 'date-time': (text: string) => parseDateTime(text) !== undefined },
}

/** `part`: of a request, `body`, `querystring` or `params`. Compiles no schema twice in one process. */
export function compileSchema(schema: object, part: string): Check {
  if (part === 'body')
    return checkBody(
      compileNulls(schema),
      once(() => strict().compile(schema)),
      once(() => thorough().compile(schema)),
    )
  const compiled = once(() => thorough().compile(schema))
  const typed = typedOf(schema)
  return (value) => {
    const validate = compiled()
    return (
      validate(readTyped(value, typed)) ||
      (part === 'params'
        ? { error: namesNothing(validate.errors) }
        : refuse(validate.errors, 'query parameter'))
    )
  }
}

const strict = once(() => createAjv(OPTIONS))
const thorough = once(() => createAjv({ ...OPTIONS, allErrors: true, verbose: true }))

function createAjv(options: Options): Ajv {
  return boundTextLength(new Ajv(options)).addKeyword(partialKeyword)
}

function once<T>(make: () => T): () => T {
  let made: T | undefined
  return () => {
    made ??= make()
    return made
  }
}

/** An id of a wrong shape names nothing, like an unknown one. Of a few names, all can be told. */
function namesNothing(errors: ValidateFunction['errors']): ApiError {
  const unknown = errors?.find(({ keyword }) => keyword === 'enum')
  if (unknown === undefined) return new ApiError('not_found')
  const [{ path, message } = { path: '', message: '' }] = describeErrors([unknown], 'field')
  return new ApiError('not_found', { message: `Not Found: ${path.slice(1)} ${message}` })
}

type Typed = readonly (readonly [name: string, type: 'integer' | 'boolean'])[]

/** The parameters that are no text. */
function typedOf(schema: { readonly properties?: Readonly<Record<string, object>> }): Typed {
  return Object.entries(schema.properties ?? {}).flatMap(([name, { type }]: [string, TypeOf]) =>
    type === 'integer' || type === 'boolean' ? [[name, type] as const] : [],
  )
}

interface TypeOf {
  readonly type?: unknown
}

const INTEGER = /^(?:0|[1-9]\d{0,15})$/
const BOOLEANS: ReadonlyMap<string, boolean> = new Map([
  ['true', true],
  ['false', false],
])

/**
 * A query holds nothing but text: an integer or a boolean is read where it is asked for, in its one spelling, and
 * in place, as handlers get this object. Any other text stays text, which is neither.
 */
function readTyped(value: unknown, typed: Typed): unknown {
  if (typeof value !== 'object' || value === null) return value
  for (const [name, type] of typed) {
    const text: unknown = Reflect.get(value, name)
    if (typeof text !== 'string') continue
    if (type === 'boolean') Reflect.set(value, name, BOOLEANS.get(text) ?? text)
    else if (INTEGER.test(text)) Reflect.set(value, name, Number(text))
  }
  return value
}

function checkBody(
  takeNullsOut: TakeNullsOut | undefined,
  compiled: () => ValidateFunction,
  compiledThorough: () => ValidateFunction,
): Check {
  return (value) => {
    takeNullsOut?.(value)
    const isValid = compiled()
    if (isValid(value)) return true
    if (countNodes(value, NODES_MAX) >= NODES_MAX) return refuse(isValid.errors, 'field')
    const thorough = compiledThorough()
    thorough(value)
    return refuse(thorough.errors, 'field')
  }
}

function refuse(
  errors: readonly ErrorObject[] | null | undefined,
  noun: 'field' | 'query parameter',
): { error: ApiError } {
  const described: readonly FieldError[] = describeErrors(errors ?? [], noun)
  return { error: new ApiError('validation_failed', { errors: described }) }
}

function countNodes(value: unknown, max: number): number {
  let count = 0
  const open: unknown[] = [value]
  while (open.length > 0 && count < max) {
    const node = open.pop()
    count++
    if (typeof node !== 'object' || node === null) continue
    const children: unknown[] = Object.values(node)
    if (children.length > max) return max
    for (const child of children) open.push(child)
  }
  return count
}

/**
 * `minLength` and `maxLength` of JSON Schema, which count characters (code points), at a cost that the
 * limit bounds and not the text: Ajv counts every character of a text of megabytes to refuse it.
 */
export function boundTextLength(ajv: Ajv): Ajv {
  for (const keyword of ['minLength', 'maxLength'] as const) {
    ajv.removeKeyword(keyword)
    ajv.addKeyword(keywordOf(keyword))
  }
  return ajv
}

function keywordOf(keyword: 'minLength' | 'maxLength'): FuncKeywordDefinition {
  const fits = keyword === 'minLength' ? isLongEnough : isShortEnough
  return {
    keyword,
    type: 'string',
    schemaType: 'number',
    errors: true,
    compile(limit: number) {
      const check: ReturnType<NonNullable<FuncKeywordDefinition['compile']>> = (text: string) => {
        if (fits(text, limit)) return true
        const what = keyword === 'minLength' ? 'fewer' : 'more'
        const message = `must NOT have ${what} than ${limit} characters`
        check.errors = [{ keyword, params: { limit }, message }]
        return false
      }
      return check
    },
  }
}

/** A character is one or two units of a string. */
function isShortEnough(text: string, max: number): boolean {
  if (text.length <= max) return true
  return text.length <= 2 * max && countCharacters(text) <= max
}

function isLongEnough(text: string, min: number): boolean {
  if (text.length < min) return false
  return text.length >= 2 * min || countCharacters(text) >= min
}

function countCharacters(text: string): number {
  let count = 0
  for (const _ of text) count += 1
  return count
}
