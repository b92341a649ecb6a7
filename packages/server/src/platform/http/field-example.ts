/** An example of a field, out of the examples that its schema and those within it have. */
export interface ShownSchema {
  readonly [keyword: string]: unknown
  readonly examples?: readonly unknown[]
  readonly enum?: readonly unknown[]
  readonly properties?: Readonly<Record<string, ShownSchema>>
  readonly required?: readonly string[]
  readonly items?: ShownSchema
}

/** Of an object, what it requires. Undefined where a part of it has no example. */
export function exampleOf(schema: ShownSchema): unknown {
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
