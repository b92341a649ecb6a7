/**
 * `null` for an optional field of a body means that the field is absent (docs/reference/http.md#requests): it
 * is taken out before the body is checked, so that no handler meets it.
 *
 * Within an update it stays, as absent means unchanged there: a field that cannot be removed refuses it by
 * its schema. What callers name themselves (within `custom_args`) is not looked into.
 */
import { partialKeyword } from '@postrider/contract'

/** Changes the value in place, within what the schema describes; of any other shape nothing. */
export type TakeNullsOut = (value: unknown) => void

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly items?: Schema
  readonly anyOf?: readonly Schema[]
  readonly [partialKeyword]?: boolean
}

/** Undefined: there is no such field. */
export function compileNulls(schema: object): TakeNullsOut | undefined {
  const { properties, items, anyOf } = schema as Schema
  if (properties !== undefined) return compileObject(schema as Schema, properties)
  if (items !== undefined) {
    const ofItem = compileNulls(items)
    return ofItem && ofEach(ofItem)
  }
  const branches = (anyOf ?? []).flatMap((branch) => compileNulls(branch) ?? [])
  if (branches.length > 1) throw new Error('which branch a null belongs to is not told')
  return branches[0]
}

function ofEach(ofItem: TakeNullsOut): TakeNullsOut {
  return (value) => {
    if (Array.isArray(value)) for (const item of value) ofItem(item)
  }
}

function compileObject(
  { required = [], [partialKeyword]: isPartial }: Schema,
  properties: Readonly<Record<string, Schema>>,
): TakeNullsOut | undefined {
  const optional = Object.keys(properties).filter((name) => !required.includes(name))
  const absent = isPartial === true ? [] : optional
  const nested = Object.entries(properties).flatMap(([name, schema]) => {
    const inner = compileNulls(schema)
    return inner === undefined ? [] : [{ name, inner }]
  })
  if (absent.length === 0 && nested.length === 0) return undefined
  return (value) => {
    if (typeof value !== 'object' || value === null) return
    for (const name of absent)
      if (Reflect.get(value, name) === null) Reflect.deleteProperty(value, name)
    for (const { name, inner } of nested) inner(Reflect.get(value, name))
  }
}
