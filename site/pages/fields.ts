/** A schema as one table: a row for each field, named by its path, such as `to[].email`. */
import { nameOf, type Schema, schemaOf } from './description.ts'
import { linkOperations } from './links.ts'
import { cell } from './page.ts'

interface Field {
  readonly path: string
  readonly schema: Schema
  readonly presence: string
}

/** Empty without fields. */
export function tableOf(schema: Schema): string {
  const rows = fieldsOf(schema, '', []).map(({ path, schema: field, presence }) => {
    const shape = schemaOf(field)
    const about = [field.description ?? shape.description ?? '', ...boundsOf(shape)]
    const text = about
      .filter((part) => part !== '')
      .map((part) => part.replace(/\.$/, ''))
      .join('. ')
    return `| \`${path}\` | ${cell(typeOf(field))}${presence} | ${cell(linkOperations(text))} |`
  })
  if (rows.length === 0) return ''
  return ['| Field | Type | Meaning |', '|---|---|---|', ...rows].join('\n')
}

/** @param within names of the shapes around it: a shape that holds itself is not written again */
function fieldsOf(schema: Schema, prefix: string, within: readonly string[]): Field[] {
  const name = nameOf(schema)
  if (name !== undefined && within.includes(name)) return []
  const inside = name === undefined ? within : [...within, name]
  const shape = schemaOf(schema)
  const own = Object.entries(shape.properties ?? {}).flatMap(([key, field]) => {
    const path = prefix === '' ? key : `${prefix}.${key}`
    return [
      { path, schema: field, presence: presenceOf(shape, key) },
      ...fieldsOf(field, path, inside),
    ]
  })
  const ofItems = shape.items === undefined ? [] : fieldsOf(shape.items, `${prefix}[]`, inside)
  const branches = [...(shape.allOf ?? []), ...(shape.anyOf ?? []), ...(shape.oneOf ?? [])]
  const ofBranches = branches.flatMap((branch) => fieldsOf(branch, prefix, inside))
  const all = [...own, ...ofItems, ...ofBranches]
  return all.filter(({ path }, at) => all.findIndex((one) => one.path === path) === at)
}

/** Callers learn what they must give, and what they may not get. */
function presenceOf({ required = [], additionalProperties }: Schema, name: string): string {
  const isGiven = additionalProperties === false
  if (isGiven !== required.includes(name)) return ''
  return isGiven ? ', required' : ', may be absent'
}

/** In a line: `string or null`, `list of object`. */
export function typeOf(schema: Schema): string {
  const { type, anyOf, oneOf, items, properties, allOf } = schemaOf(schema)
  const branches = anyOf ?? oneOf
  if (branches !== undefined) return [...new Set(branches.map(typeOf))].join(' or ')
  if (items !== undefined) return `list of ${typeOf(items)}`
  if (properties !== undefined || allOf !== undefined) return [type ?? 'object'].flat().join(' or ')
  return [type ?? 'any'].flat().join(' or ')
}

function boundsOf(schema: Schema): string[] {
  const { minimum, maximum, minLength, maxLength, minItems, maxItems } = schema
  const words = (schema.enum ?? schema.items?.enum ?? []).map((word) => `\`${String(word)}\``)
  return [
    ...(words.length === 0
      ? []
      : [`${words.length === 1 ? 'Always' : 'One of'} ${words.join(', ')}`]),
    ...between(minimum, maximum, ''),
    ...between(minLength, maxLength, ' characters'),
    ...between(minItems, maxItems, ' entries'),
  ]
}

function between(min: number | undefined, max: number | undefined, unit: string): string[] {
  if (min !== undefined && max !== undefined) return [`${min} to ${max}${unit}`]
  if (max !== undefined) return [`At most ${max}${unit}`]
  return min === undefined || min === 0 ? [] : [`At least ${min}${unit}`]
}
