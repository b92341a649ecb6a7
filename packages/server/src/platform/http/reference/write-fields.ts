/** Schemas as lists of fields; a shape that has a name is a link to it. */
import { escapeHtml } from '../page.ts'
import { type Schema, writeInline } from './write-text.ts'

export function writeFields(schema: Schema): string {
  if (schema.allOf !== undefined) return schema.allOf.map(writePart).join('\n')
  const entries = Object.entries(schema.properties ?? {})
  if (entries.length === 0) return `<p>${writeType(schema)}</p>${writeBounds(schema)}`
  const rows = entries.map(([name, property]) => {
    const presence = presenceOf(schema, name)
    const about = property.description === undefined ? '' : writeInline(property.description)
    return `<dt><code>${escapeHtml(name)}</code> <span class="type">${writeType(property)}</span>${presence}</dt><dd>${about}${writeBounds(property)}${writeInner(property)}</dd>`
  })
  return `<dl class="fields">${rows.join('\n')}</dl>`
}

/** Callers learn what they must give, and what they may not get. */
function presenceOf({ required = [], additionalProperties }: Schema, name: string): string {
  const isGiven = additionalProperties === false
  if (isGiven !== required.includes(name)) return ''
  return isGiven
    ? ' <span class="required">required</span>'
    : ' <span class="type">may be absent</span>'
}

function writePart(part: Schema): string {
  if (part.$ref !== undefined) return `<p>All fields of ${writeType(part)}, and:</p>`
  return writeFields(part)
}

/** In a line: `string or null`, `list of Address`. */
export function writeType(schema: Schema): string {
  const { $ref, type, anyOf, oneOf, items } = schema
  if ($ref !== undefined) {
    const name = $ref.split('/').at(-1) ?? ''
    return `<a href="#shape-${name}">${name}</a>`
  }
  const branches = anyOf ?? oneOf
  if (branches !== undefined) return branches.map(writeType).join(' or ')
  if (items !== undefined) return `list of ${writeType(items)}`
  return [type ?? 'any'].flat().join(' or ')
}

function writeBounds(schema: Schema): string {
  const { minimum, maximum, minLength, maxLength, minItems, maxItems } = schema
  const words = (schema.enum ?? schema.items?.enum ?? []).map(
    (word) => `<code>${escapeHtml(String(word))}</code>`,
  )
  const bounds = [
    ...(words.length === 0
      ? []
      : [`${words.length === 1 ? 'Always' : 'One of'} ${words.join(' ')}`]),
    ...between(minimum, maximum, ''),
    ...between(minLength, maxLength, ' characters'),
    ...between(minItems, maxItems, ' entries'),
  ]
  return bounds.length === 0 ? '' : `<p class="bounds">${bounds.join('. ')}</p>`
}

function between(min: number | undefined, max: number | undefined, unit: string): string[] {
  if (min !== undefined && max !== undefined) return [`${min} to ${max}${unit}`]
  if (max !== undefined) return [`At most ${max}${unit}`]
  return min === undefined || min === 0 ? [] : [`At least ${min}${unit}`]
}

/** The fields of an object that has no name of its own. */
function writeInner(schema: Schema): string {
  const inner = [schema, schema.items, ...(schema.anyOf ?? [])].find(
    (one) => one?.properties !== undefined && Object.keys(one.properties).length > 0,
  )
  if (inner === undefined) return ''
  return `<details><summary>Fields</summary>${writeFields(inner)}</details>`
}
