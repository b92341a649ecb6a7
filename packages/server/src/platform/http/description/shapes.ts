/**
 * Schemas as the OpenAPI description shows them: each shape that the contract exports is written once,
 * under its name.
 *
 * What callers send is closed, and what they get is open: a later version adds fields to answers and
 * events. Where one shape is in both, callers send `<Name>Input`; describe answers first.
 */
import { isDeepStrictEqual } from 'node:util'
import * as contract from '@postrider/contract'

export type Schema = Readonly<Record<string, unknown>>

export interface Shapes {
  /** What a caller sends. */
  request(schema: object): Schema
  /** What a caller or a receiver gets. */
  answer(schema: object): Schema
  /** Those that were met so far, by their names in order. */
  components(): Record<string, Schema>
}

export function createShapes(): Shapes {
  // Not as the service starts: few processes are asked for the description.
  if (exported.size === 0) collectNames()
  const components = new Map<string, Schema>()
  const references = new Map<string, Schema>()

  function describe(schema: Schema, isOpen: boolean): Schema {
    const name = nameOf(schema)
    if (name === undefined) return describeParts(schema, isOpen)
    const described = schema.description === exported.get(name)?.description ? {} : about(schema)
    return { ...refTo(name, isOpen), ...described }
  }

  function refTo(name: string, isOpen: boolean): Schema {
    const key = `${name} ${isOpen}`
    const known = references.get(key)
    if (known !== undefined) return known
    const shape = describeComponent(name, isOpen)
    const taken = components.get(name)
    const own = taken === undefined || isDeepStrictEqual(taken, shape) ? name : `${name}Input`
    components.set(own, shape)
    const reference = { $ref: `#/components/schemas/${own}` }
    references.set(key, reference)
    return reference
  }

  function describeComponent(name: string, isOpen: boolean): Schema {
    const schema = exported.get(name) ?? {}
    const base = contract.extendedComponents[name]
    const inherited = propertiesOf(exported.get(base ?? '') ?? {})
    // All of a closed object has to stand in one schema.
    if (base === undefined || !isOpen) return describeParts(schema, isOpen)
    const own = Object.entries(propertiesOf(schema)).filter(
      ([field, one]) => !isDeepStrictEqual(inherited[field], one),
    )
    const required = own.flatMap(([field]) => (requiredOf(schema).includes(field) ? field : []))
    const rest = { type: 'object', required, properties: Object.fromEntries(own) }
    return { ...about(schema), allOf: [refTo(base, isOpen), describeParts(rest, isOpen)] }
  }

  function describeParts(schema: Schema, isOpen: boolean): Schema {
    const inner = (one: unknown) => (isObject(one) ? describe(one, isOpen) : one)
    const entries = Object.entries(schema).flatMap(([keyword, value]): [string, unknown][] => {
      if (keyword === 'const') return [['enum', [value]]]
      if (keyword === contract.partialKeyword) return []
      // Tools read them in many ways; the fields say in words what they need.
      if (/^(?:if|else)$/.test(keyword)) return []
      if (keyword === 'additionalProperties' && value === false && isOpen) return []
      if (keyword === 'properties' && isObject(value))
        return [[keyword, Object.fromEntries(Object.entries(value).map(([k, v]) => [k, inner(v)]))]]
      if (/^(?:anyOf|oneOf|allOf)$/.test(keyword) && Array.isArray(value))
        return [[keyword, value.map(inner)]]
      return [[keyword, /^(?:items|additionalProperties)$/.test(keyword) ? inner(value) : value]]
    })
    return withNull({ ...typeOfWords(schema), ...Object.fromEntries(entries) })
  }

  return {
    request: (schema) => describe(schema as Schema, false),
    answer: (schema) => describe(schema as Schema, true),
    components: () =>
      Object.fromEntries([...components].sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))),
  }
}

/** One type or null, as one schema. */
function withNull(schema: Schema): Schema {
  const { anyOf, ...rest } = schema
  const [one, nothing, another] = Array.isArray(anyOf) ? anyOf : []
  if (one?.type === undefined || nothing?.type !== 'null' || another !== undefined) return schema
  const words = Array.isArray(one.enum) ? { enum: [...one.enum, null] } : {}
  return { ...one, ...rest, ...words, type: [one.type, 'null'].flat() }
}

/** A list of words alone says nothing of their type, which many generators need. */
function typeOfWords({ type, enum: words }: Schema): Schema {
  if (type !== undefined || !Array.isArray(words)) return {}
  const types = [...new Set(words.map((word) => (word === null ? 'null' : typeof word)))]
  return { type: types.length === 1 ? types[0] : types }
}

/** What stands beside a reference is about its use, not about the shape. */
function about({ description, examples }: Schema): Schema {
  return {
    ...(description === undefined ? {} : { description }),
    ...(examples === undefined ? {} : { examples }),
  }
}

function propertiesOf({ properties }: Schema): Schema {
  return isObject(properties) ? properties : {}
}

function requiredOf({ required }: Schema): readonly unknown[] {
  return Array.isArray(required) ? required : []
}

function isObject(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** By its name in the description. */
const exported = new Map<string, Schema>()
/** The names of exports, and of what looks the same: a shape is copied where it is optional. */
const nameBySchema = new Map<unknown, string>()
const nameByLook = new Map<string, string>()

function nameOf(schema: Schema): string | undefined {
  const name = nameBySchema.get(schema)
  if (name !== undefined || !canBeNamed(schema)) return name
  return nameByLook.get(JSON.stringify(schema)) ?? nameByLook.get(lookOf(schema))
}

/** Without what is about its use. */
function lookOf({ description: _, examples: __, ...rest }: Schema): string {
  return JSON.stringify(rest)
}

function canBeNamed(value: unknown): value is Schema {
  return isObject(value) && (isObject(value.properties) || Array.isArray(value.enum))
}

function collectNames(): void {
  for (const [name, words] of Object.entries(contract.wordLists)) {
    const schema = { ...words }
    exported.set(name, schema)
    nameByLook.set(lookOf(schema), name)
  }
  const entries = Object.entries(contract).filter(
    ([name, value]) => canBeNamed(value) && 'type' in value && !/(?:Params|Query)$/.test(name),
  )
  const looks: [string, string][] = []
  // Given names come first, so that they win where two exports are one shape.
  const isGiven = (name: string) => Number(name in contract.componentNames)
  for (const [name, value] of entries.sort(([a], [b]) => isGiven(b) - isGiven(a))) {
    if (nameBySchema.has(value)) continue
    const own = contract.componentNames[name] ?? pascal(name)
    const description = contract.componentDescriptions[own]
    exported.set(own, {
      ...(description === undefined ? {} : { description }),
      ...(value as Schema),
    })
    nameBySchema.set(value, own)
    // Answers that look the same are still those of their operations.
    if (/(?:Body|Answer)$/.test(name)) continue
    looks.push([lookOf(value as Schema), own])
    nameByLook.set(JSON.stringify(value), own)
  }
  for (const [look, name] of looks) if (!nameByLook.has(look)) nameByLook.set(look, name)
}

function pascal(name: string): string {
  return name.replace(/^oauth/, 'OAuth').replace(/^[a-z]/, (letter) => letter.toUpperCase())
}
