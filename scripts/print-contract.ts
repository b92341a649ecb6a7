/**
 * Prints the OpenAPI description as TypeScript: a named type for each of its components, and for the
 * query, body and answer of each operation, with everything that it says of them as
 * comments. What no operation and no webhook reaches is left out.
 *
 * What callers send takes `undefined` in place of what is left out, and where it is a JSON object of
 * their own also an interface, which has no index signature.
 */

/** A JSON Schema, as far as the description uses it. */
export interface Schema {
  readonly $ref?: string
  readonly description?: string
  readonly type?: string | readonly string[]
  readonly enum?: readonly (string | number | boolean | null)[]
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly allOf?: readonly Schema[]
  readonly items?: Schema
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly additionalProperties?: boolean | Schema
  readonly examples?: readonly unknown[]
  readonly minLength?: number
  readonly maxLength?: number
  readonly minimum?: number
  readonly maximum?: number
  readonly maxItems?: number
}

interface Parameter {
  readonly $ref?: string
  readonly name: string
  readonly in: string
  readonly required?: boolean
  readonly description?: string
  readonly schema: Schema
}
type Content = Readonly<Record<string, { readonly schema: Schema }>>
interface Operation {
  readonly operationId: string
  readonly summary: string
  readonly description?: string
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: { readonly content: Content }
  readonly responses: Readonly<Record<string, { readonly content?: Content }>>
}
export interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly webhooks: Readonly<
    Record<string, { readonly post: { readonly requestBody: { readonly content: Content } } }>
  >
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>
    readonly parameters: Readonly<Record<string, Parameter>>
  }
}

/** A type that is printed, and whether callers send it. */
interface Named {
  readonly schema: Schema
  readonly isInput: boolean
}

const head = `/** A JSON object of anybody's own. */
export type JsonObject = { [key: string]: unknown }

/** Any object but an array: an interface has no index signature. */
export type AnyObject = object & {
  /** Only arrays, maps and the like have it. */
  readonly [Symbol.iterator]?: never
}

/** What is written as a JSON object. */
export type JsonInput = JsonObject | AnyObject
`

/** The text of a module of types. Throws for a reference that leads nowhere. */
export function printContract(document: OpenApi): string {
  const inputs = new Set<string>()
  const outputs = new Set<string>()
  const named = new Map<string, Named>()
  const add = (name: string, schema: Schema, isInput: boolean) => {
    collect(document, schema, isInput ? inputs : outputs)
    if (schema.$ref === refTo(name)) return
    named.set(name, { schema, isInput })
  }
  for (const operation of operationsOf(document)) {
    const { query, body, answer } = shapesOf(document, operation)
    const name = typeNameOf(operation.operationId)
    if (query) add(`${name}Query`, query, true)
    if (body) add(`${name}Body`, body, true)
    if (answer) add(`${name}Answer`, answer, false)
  }
  for (const { post } of Object.values(document.webhooks)) {
    collect(document, schemaIn(post.requestBody.content) ?? {}, outputs)
  }
  collect(document, { $ref: refTo('Error') }, outputs)
  for (const name of [...outputs, ...inputs]) {
    named.set(name, { schema: componentOf(document, name), isInput: inputs.has(name) })
  }
  const byName = [...named].sort(([a], [b]) => (a < b ? -1 : 1))
  return [head, ...byName.map(([name, one]) => printNamed(document, name, one))].join('\n')
}

/** What is said of each operation, by its name; `own` is what the client adds to it. */
export function commentsOf(document: OpenApi): ReadonlyMap<string, (own: string) => string> {
  const comments = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { operationId, summary, description = '' }]) => {
      const request = `\`${method.toUpperCase()} ${path}\``
      const comment = (own: string) => {
        const said = own.startsWith('@') ? [request, own] : [own, request]
        return [`${summary}.`, description, ...said].filter((one) => one !== '').join('\n\n')
      }
      return [operationId, comment] as const
    }),
  )
  return new Map(comments)
}

/** A block comment of that indentation, its lines within 100 columns. */
export function printComment(text: string, indent: string): string {
  const lines = text
    .replaceAll('*/', '* /')
    .split('\n')
    .flatMap((line) => wrapped(line, 97 - indent.length))
  if (lines.length === 1) return `${indent}/** ${lines[0]} */\n`
  return `${indent}/**\n${lines.map((line) => `${indent} * ${line}`.trimEnd()).join('\n')}\n${indent} */\n`
}

function wrapped(line: string, width: number): string[] {
  const lines: string[] = []
  let rest = line
  while (rest.length > width) {
    const at = rest.lastIndexOf(' ', width)
    if (at <= 0) break
    lines.push(rest.slice(0, at))
    rest = rest.slice(at + 1)
  }
  return [...lines, rest]
}

function operationsOf(document: OpenApi): readonly Operation[] {
  return Object.values(document.paths).flatMap((methods) => Object.values(methods))
}

function shapesOf(document: OpenApi, { parameters = [], requestBody, responses }: Operation) {
  const [, answer] = Object.entries(responses).find(([status]) => status < '300') ?? []
  const query = parameters
    .map((one) => document.components.parameters[nameIn(one.$ref)] ?? one)
    .filter((one) => one.in === 'query')
  return {
    query: query.length === 0 ? undefined : queryOf(query),
    body: schemaIn(requestBody?.content),
    answer: schemaIn(answer?.content),
  }
}

function queryOf(parameters: readonly Parameter[]): Schema {
  return {
    type: 'object',
    required: parameters.filter(({ required }) => required).map(({ name }) => name),
    properties: Object.fromEntries(
      parameters.map(({ name, description, schema }) => [
        name,
        { ...schema, ...(description === undefined ? {} : { description }) },
      ]),
    ),
  }
}

function schemaIn(content: Content | undefined): Schema | undefined {
  return content?.['application/json']?.schema
}

/** The contract's names are written so. */
function typeNameOf(operationId: string): string {
  const name = operationId.replace('SMTP', 'Smtp').replace('IMAP', 'Imap')
  return name.replace(/^oauth/, 'OAuth').replace(/^[a-z]/, (letter) => letter.toUpperCase())
}

function refTo(name: string): string {
  return `#/components/schemas/${name}`
}

function nameIn(reference = ''): string {
  return reference.slice(reference.lastIndexOf('/') + 1)
}

function componentOf({ components }: OpenApi, name: string): Schema {
  const schema = components.schemas[name]
  if (schema === undefined) throw new Error(`The description has no component ${name}`)
  return schema
}

/** The names of all components that a schema leads to. */
function collect(document: OpenApi, schema: Schema, names: Set<string>): void {
  if (schema.$ref !== undefined) {
    const name = nameIn(schema.$ref)
    if (names.has(name)) return
    names.add(name)
    collect(document, componentOf(document, name), names)
  }
  for (const part of partsOf(schema)) collect(document, part, names)
}

function partsOf(schema: Schema): readonly Schema[] {
  const {
    anyOf = [],
    oneOf = [],
    allOf = [],
    items,
    properties = {},
    additionalProperties,
  } = schema
  return [
    ...[...anyOf, ...oneOf, ...allOf, ...Object.values(properties)],
    ...(items === undefined ? [] : [items]),
    ...(typeof additionalProperties === 'object' ? [additionalProperties] : []),
  ]
}

function printNamed(document: OpenApi, name: string, { schema, isInput }: Named): string {
  const { description } = schema
  const comment = description === undefined ? '' : printComment(description, '')
  const context = { document, isInput, path: name }
  return `${comment}export type ${name} = ${print(context, schema, '')}\n`
}

interface Context {
  readonly document: OpenApi
  readonly isInput: boolean
  /** Where in the named type, for errors. */
  readonly path: string
}

function print(context: Context, schema: Schema, indent: string): string {
  const { $ref, enum: values, anyOf, oneOf, allOf } = schema
  if ($ref !== undefined) return nameIn($ref)
  if (values !== undefined) return union(values.map(literal))
  const either = anyOf ?? oneOf
  if (either !== undefined) return union(either.map((one) => print(context, one, indent)))
  if (allOf !== undefined) return allOf.map((one) => print(context, one, indent)).join(' & ')
  return union([schema.type ?? []].flat().map((type) => printType(context, schema, type, indent)))
}

function printType(context: Context, schema: Schema, type: string, indent: string): string {
  if (type === 'object') return printObject(context, schema, indent)
  if (type === 'array') return `Array<${print(context, schema.items ?? {}, indent)}>`
  const name = { string: 'string', integer: 'number', number: 'number', boolean: 'boolean' }[type]
  if (name !== undefined || type === 'null') return name ?? 'null'
  throw new Error(`${context.path}: ${type} cannot be printed`)
}

function printObject(context: Context, schema: Schema, indent: string): string {
  const { properties, required = [], additionalProperties } = schema
  const inner = `${indent}  `
  if (properties === undefined) {
    if (typeof additionalProperties !== 'object')
      return context.isInput ? 'JsonInput' : 'JsonObject'
    return `{ [key: string]: ${print(context, additionalProperties, indent)} }`
  }
  // Said to have nothing, not forgotten.
  if (Object.keys(properties).length === 0) return 'Record<never, never>'
  const lines = Object.entries(properties).map(([name, property]) => {
    const path = `${context.path}.${name}`
    const said = describe(context.document, property)
    const comment = said === '' ? '' : printComment(said, inner)
    const text = print({ ...context, path }, property, inner)
    const isOptional = !required.includes(name)
    const type = isOptional && context.isInput ? `${text} | undefined` : text
    return `${comment}${inner}${keyOf(name)}${isOptional ? '?' : ''}: ${type}\n`
  })
  return `{\n${lines.join('')}${indent}}`
}

/** What is said of a field, or of what it refers to; then its bounds and an example. */
function describe(document: OpenApi, schema: Schema): string {
  const referred = schema.$ref === undefined ? {} : componentOf(document, nameIn(schema.$ref))
  const { description, examples } = { ...referred, ...schema }
  const [bound = schema] = schema.anyOf ?? []
  const sentences = [description, boundsOf(bound)].filter((one) => one !== undefined)
  const text = sentences.map((one) => (/[.!?:)]$/.test(one) ? one : `${one}.`)).join(' ')
  const example = examples?.[0]
  if (example === undefined) return text
  return `${text}\n\n@example ${JSON.stringify(example)}`.trim()
}

function boundsOf(schema: Schema): string | undefined {
  const { minLength = 0, maxLength, minimum, maximum, maxItems } = schema
  const number = (value: number) => value.toLocaleString('en')
  if (maxLength !== undefined) {
    const least = minLength > 1 ? `${number(minLength)} to` : 'At most'
    return `${least} ${number(maxLength)} characters`
  }
  if (minimum !== undefined && maximum !== undefined)
    return `${number(minimum)} to ${number(maximum)}`
  if (maximum !== undefined) return `At most ${number(maximum)}`
  if (minimum !== undefined && minimum !== 0) return `At least ${number(minimum)}`
  return maxItems === undefined ? undefined : `At most ${number(maxItems)} of them`
}

function union(types: readonly string[]): string {
  return types.length === 0 ? 'unknown' : [...new Set(types)].join(' | ')
}

function literal(value: string | number | boolean | null): string {
  return typeof value === 'string' ? quote(value) : String(value)
}

function keyOf(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : quote(name)
}

function quote(text: string): string {
  return `'${JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`
}
