/**
 * `null` in the bodies of all operations (docs/reference/http.md#requests), by random bodies of their
 * schemas.
 */
import * as contract from '@postrider/contract'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { compileSchema } from './validation.ts'

interface Schema {
  readonly type?: string | readonly string[]
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly minLength?: number
  readonly minimum?: number
  readonly minItems?: number
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  /** Required as well, where something else is absent. */
  readonly else?: { readonly required: readonly string[] }
  readonly items?: Schema
  readonly anyOf?: readonly Schema[]
  readonly 'x-partial'?: boolean
}
type Json = null | boolean | number | string | readonly Json[] | { readonly [name: string]: Json }
/** A value, the same with nulls in it, and the paths of those that are refused. */
interface Pair {
  readonly value: Json
  readonly withNulls: Json
  readonly refused: readonly string[]
}

const bodies = Object.entries(contract).filter(([name]) =>
  /^(?!error).*Body$/.test(name),
) as unknown as readonly (readonly [string, Schema])[]

const takesNull = ({ type, anyOf = [] }: Schema): boolean =>
  [type].flat().includes('null') || anyOf.some(takesNull)

const plain = (value: Json): fc.Arbitrary<Pair> =>
  fc.constant({ value, withNulls: value, refused: [] })

function pairOf(schema: Schema, path: string): fc.Arbitrary<Pair> {
  const { properties, items, anyOf, minimum = 1, minLength = 1, minItems = 1 } = schema
  if (anyOf !== undefined) return pairOf(anyOf[0] as Schema, path)
  if (schema.enum !== undefined) return plain(schema.enum[0] as Json)
  if (schema.const !== undefined) return plain(schema.const as Json)
  if (properties !== undefined) return objectOf(schema, properties, path)
  if (items !== undefined)
    return fc
      .tuple(...Array.from({ length: minItems }, (_, i) => pairOf(items, `${path}/${i}`)))
      .map((pairs) => ({
        value: pairs.map(({ value }) => value),
        withNulls: pairs.map(({ withNulls }) => withNulls),
        refused: pairs.flatMap(({ refused }) => refused),
      }))
  const [type] = [schema.type].flat()
  if (type === 'object') return plain({})
  if (type === 'boolean') return plain(true)
  if (type === 'integer') return plain(minimum)
  return plain('x'.repeat(minLength))
}

/** Each optional field is there, absent, or null. */
function objectOf(
  { required: always = [], else: otherwise, 'x-partial': isPartial }: Schema,
  properties: Readonly<Record<string, Schema>>,
  path: string,
): fc.Arbitrary<Pair> {
  const required = [...always, ...(otherwise?.required ?? [])]
  const fields = Object.entries(properties).map(([name, schema]) => {
    const given = pairOf(schema, `${path}/${name}`).map((pair) => ({ name, schema, pair }))
    if (required.includes(name)) return given
    return fc.oneof(
      given,
      fc.constantFrom('absent', 'null').map((how) => ({ name, schema, how })),
    )
  })
  return fc.tuple(...fields).map((all) => {
    const value: Record<string, Json> = {}
    const withNulls: Record<string, Json> = {}
    const refused: string[] = []
    for (const field of all) {
      if ('pair' in field) {
        value[field.name] = field.pair.value
        withNulls[field.name] = field.pair.withNulls
        refused.push(...field.pair.refused)
      } else if (field.how === 'null') {
        withNulls[field.name] = null
        if (isPartial === true && takesNull(field.schema)) value[field.name] = null
        else if (isPartial === true) refused.push(`${path}/${field.name}`)
      }
    }
    return { value, withNulls, refused }
  })
}

describe.each(bodies)('%s', (_name, schema) => {
  const check = compileSchema(schema, 'body')

  it('takes null as absent or as a removal, or refuses it by its path', () => {
    fc.assert(
      fc.property(pairOf(schema, ''), ({ value, withNulls, refused }) => {
        const body = structuredClone(withNulls)
        const answer = check(body)
        if (refused.length === 0) {
          expect(answer).toBe(true)
          expect(body).toEqual(value)
        } else {
          const errors = answer === true ? [] : (answer.error.errors ?? [])
          expect(errors.map((error) => error.path).sort()).toEqual([...refused].sort())
        }
      }),
      { numRuns: 300 },
    )
  })

  it('refuses null for each required field', () => {
    fc.assert(
      fc.property(
        pairOf(schema, ''),
        fc.constantFrom('', ...(schema.required ?? [])),
        ({ value }, name) => {
          if (name === '') return
          const answer = check({ ...(value as object), [name]: null })
          expect(answer === true ? [] : answer.error.errors).toMatchObject([{ path: `/${name}` }])
        },
      ),
    )
  })
})

it('covers every operation that may have such a body', () => {
  expect(bodies.length).toBeGreaterThanOrEqual(23)
  const names = bodies.map(([name]) => name.replace(/Body$/, '').toLowerCase())
  const writing = Object.entries(contract.operations).filter(([id, { method }]) => {
    return method === 'PUT' || (method === 'POST' && /^(configure|create|add|send)/.test(id))
  })
  // Tenants and the operator send the same one.
  const bodyOf = (id: string) => id.replace('Operator', '').toLowerCase()
  for (const [id] of writing) expect(names).toContain(bodyOf(id))
})

describe('null within an update', () => {
  const check = compileSchema(contract.updateSmtpBody, 'body')

  it('is refused with an explanation for a field that cannot be removed', () => {
    expect(check({ name: null })).toMatchObject({
      error: { errors: [{ path: '/name', message: 'must be a string, not null' }] },
    })
  })

  it('is refused within a value that is replaced as a whole', () => {
    const body = { limits: { per_second: null, per_day: 5 }, uncertain: null }
    expect(check(body)).toBe(true)
    expect(body).toEqual({ limits: { per_day: 5 }, uncertain: null })
  })
})

it('is accepted within JSON and header values of the caller', () => {
  const schema = contract.sendEmailBody
  const check = compileSchema(schema, 'body')
  const email = {
    from: { email: 'a@example.com', name: null },
    to: [{ email: 'b@example.com', name: null }],
    subject: 'Hi',
    content: [{ type: 'text/plain', value: 'Hi' }],
    custom_args: { order: null, list: [null] },
    template_data: { name: null },
    settings: null,
  }
  expect(check(email)).toBe(true)
  expect(email).toMatchObject({
    from: { email: 'a@example.com' },
    custom_args: { order: null, list: [null] },
    template_data: { name: null },
  })
  expect(email).not.toHaveProperty('settings')
  expect(email.to).toEqual([{ email: 'b@example.com' }])
  expect(check({ ...email, headers: { 'X-A': null } })).toMatchObject({
    error: { errors: [{ path: '/headers/X-A' }] },
  })
})
