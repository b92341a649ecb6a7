/** `docs/openapi.json`, and the examples that were played against a running service. */
import { readFileSync } from 'node:fs'

/** As much of JSON Schema as the description has. */
export interface Schema {
  readonly $ref?: string
  readonly type?: string | readonly string[]
  readonly description?: string
  readonly enum?: readonly unknown[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly items?: Schema
  readonly additionalProperties?: boolean | Schema
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly allOf?: readonly Schema[]
  readonly minimum?: number
  readonly maximum?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly minItems?: number
  readonly maxItems?: number
}

export interface Parameter {
  readonly $ref?: string
  readonly name: string
  readonly in: string
  readonly required?: boolean
  readonly description?: string
  readonly example?: unknown
  readonly schema: Schema
}

export interface Content {
  readonly schema: Schema
  readonly example?: unknown
}

export interface Answer {
  readonly $ref?: string
  readonly description: string
  readonly content?: Readonly<Record<string, Content>>
}

export interface Operation {
  readonly operationId: string
  readonly summary: string
  readonly description?: string
  readonly tags: readonly string[]
  readonly security: readonly Readonly<Record<string, unknown>>[]
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: { readonly content: Readonly<Record<string, Content>> }
  readonly responses: Readonly<Record<string, Answer>>
  readonly 'x-required-scope'?: readonly string[]
  readonly 'x-roles'?: readonly string[]
}

export interface Description {
  readonly info: { readonly version: string; readonly description: string }
  readonly servers: readonly { readonly url: string }[]
  readonly tags: readonly { readonly name: string; readonly description: string }[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly webhooks: Readonly<Record<string, { readonly post: Operation }>>
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>
    readonly parameters: Readonly<Record<string, Parameter>>
    readonly responses: Readonly<Record<string, Answer>>
  }
}

export interface Called extends Operation {
  readonly method: string
  readonly path: string
}

const root = new URL('../../', import.meta.url)

export const description: Description = readJson('docs/openapi.json')

export const operations: readonly Called[] = Object.entries(description.paths).flatMap(
  ([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({
      ...operation,
      ...{ method: method.toUpperCase(), path },
    })),
)

/** Of each event, a webhook request as a receiver got it. */
export const eventBodies: Readonly<Record<string, unknown>> = readJson<{
  readonly events: Readonly<Record<string, unknown>>
}>('packages/server/src/platform/http/description/examples.json').events

export function answerOf(answer: Answer): Answer {
  return description.components.responses[nameOf(answer) ?? ''] ?? answer
}

export function parameterOf(parameter: Parameter): Parameter {
  return description.components.parameters[nameOf(parameter) ?? ''] ?? parameter
}

export function schemaOf(schema: Schema): Schema {
  return description.components.schemas[nameOf(schema) ?? ''] ?? schema
}

export function nameOf({ $ref }: { readonly $ref?: string }): string | undefined {
  return $ref?.split('/').at(-1)
}

function readJson<T>(path: string): T {
  return JSON.parse(readFileSync(new URL(path, root), 'utf8'))
}
