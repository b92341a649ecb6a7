/** One operation in the OpenAPI description: its parameters, its body, and every answer that it can give. */
import {
  type ApiKeyScope,
  type ErrorCode,
  type OperationId,
  operations,
  pageQuery,
  type Tag,
} from '@postrider/contract'
import type { TSchema } from 'typebox'
import { tenantHeader } from '../act-for-tenant.ts'
import { rolesThatMayCall } from '../sessions/decide-permission.ts'
import { ruleOf } from '../sessions/permission-rule.ts'
import type { OperationExample } from './examples.ts'
import { type AnswerHeader, type RequestHeader, refToHeaders, refToParameter } from './headers.ts'
import type { Refusals } from './refusals.ts'
import type { Schema, Shapes } from './shapes.ts'

/** What the kinds of operations have in common. */
export interface OperationDetails {
  readonly summary: string
  readonly description?: string
  readonly tag: Tag
  readonly body?: TSchema | undefined
  /** What a body is checked against in place of `body`, where its handler checks the parts one by one. */
  readonly outerBody?: TSchema
  readonly query?: TSchema | undefined
  readonly params?: TSchema | undefined
  /** Beyond those that any operation of its kind can answer. */
  readonly errors?: readonly ErrorCode[]
  /** Any of these lets a key with scopes in; none: only a key without scopes. */
  readonly scopes?: readonly ApiKeyScope[]
  /** People with the role `support` may call it, too (docs/reference/people.md#roles). */
  readonly isForSupport?: boolean
  /** A key of test mode may call it, although it changes something. */
  readonly isForTests?: boolean
  readonly requestHeaders?: readonly RequestHeader[]
  /** Of a successful answer, beyond `X-Request-Id`. */
  readonly answerHeaders?: readonly AnswerHeader[]
  readonly bodyBytesMax?: number
  /** The media type of a body that is read as a stream. */
  readonly uploads?: string
  /** Each call is in the audit log. Calls of the operator for a tenant are there in any case. */
  readonly isAudited?: boolean
}

export interface DescribedOperation {
  readonly id: OperationId
  readonly details: OperationDetails
  /** One JSON object; or bytes of these media types. */
  readonly answer: TSchema | readonly string[]
}

/** In two steps, as answers are to be described before any request is. */
export function describeOperation(
  { id, details, answer }: DescribedOperation,
  {
    shapes,
    refusals,
    example,
  }: {
    readonly shapes: Shapes
    readonly refusals: Refusals
    readonly example: OperationExample | undefined
  },
): () => Schema {
  const { status, auth, method } = operations[id]
  const content = isMediaTypes(answer)
    ? Object.fromEntries(answer.map((type) => [type, { schema: schemaOf(type) }]))
    : { 'application/json': { schema: shapes.answer(answer) } }
  const [first] = Object.values(content)
  if (first !== undefined && example !== undefined)
    Object.assign(first, { example: example.answer })
  const success = {
    description: MEANINGS[status],
    headers: refToHeaders(['X-Request-Id', ...(details.answerHeaders ?? [])]),
    content,
  }
  return () => ({
    operationId: id,
    summary: details.summary,
    ...(details.description === undefined ? {} : { description: details.description }),
    tags: [details.tag],
    security: SECURITY[auth],
    ...(auth === 'tenant' ? { 'x-required-scope': details.scopes ?? [] } : {}),
    ...(auth === 'tenant' || auth === 'admin'
      ? { 'x-roles': rolesThatMayCall(ruleOf({ auth, method }, details)) }
      : {}),
    ...describeParameters(id, details, { shapes, example }),
    ...describeBody(details, { shapes, example }),
    responses: { [status]: success, ...refusals.of(errorsOf(id, details)) },
  })
}

function isMediaTypes(answer: TSchema | readonly string[]): answer is readonly string[] {
  return Array.isArray(answer)
}

function schemaOf(mediaType: string): object {
  const isText = mediaType.startsWith('text/') || mediaType === 'application/x-ndjson'
  return { type: 'string', ...(isText ? {} : { format: 'binary' }) }
}

const MEANINGS = { 200: 'Done', 201: 'Created', 202: 'Accepted, and done later' }

/** A tenant's key, or the operator's token and the tenant that it acts for. */
const SECURITY = {
  admin: [{ adminToken: [] }],
  tenant: [{ apiKey: [] }, { adminToken: [], actingFor: [] }],
  session: [{ session: [] }],
  public: [],
}

function describeBody({ body, uploads }: OperationDetails, { shapes, example }: Told): object {
  if (uploads !== undefined)
    return { requestBody: { required: true, content: { [uploads]: uploadOf(uploads, example) } } }
  if (body === undefined) return {}
  const required = 'required' in body && Array.isArray(body.required) && body.required.length > 0
  const content = {
    schema: shapes.request(body),
    ...(example?.body === undefined ? {} : { example: example.body }),
  }
  return { requestBody: { required, content: { 'application/json': content } } }
}

function uploadOf(mediaType: string, example: OperationExample | undefined): object {
  const told = example?.body === undefined ? {} : { example: example.body }
  return { schema: schemaOf(mediaType), ...told }
}

interface Told {
  readonly shapes: Shapes
  readonly example: OperationExample | undefined
}

function describeParameters(
  id: OperationId,
  details: OperationDetails,
  { shapes, example }: Told,
): object {
  const parameters = [
    ...describeEach('path', details.params, { shapes, values: example?.params }),
    ...describeEach('query', details.query, { shapes, values: example?.query }),
    ...(details.requestHeaders ?? []).map(refToParameter),
    ...(operations[id].auth === 'tenant' ? [refToParameter(tenantHeader)] : []),
  ]
  return parameters.length === 0 ? {} : { parameters }
}

function describeEach(
  place: 'path' | 'query',
  schema: TSchema | undefined,
  o: { readonly shapes: Shapes; readonly values: Readonly<Record<string, string>> | undefined },
): object[] {
  const { properties = {}, required = [] } = (schema ?? {}) as {
    readonly properties?: Readonly<Record<string, TSchema>>
    readonly required?: readonly string[]
  }
  return Object.entries(properties).map(([name, property]) =>
    Reflect.get(pageQuery.properties, name) === property
      ? refToParameter(name)
      : {
          ...describeParameter(name, place, required.includes(name), property, o.shapes),
          ...describeValue(property, o.values?.[name]),
        },
  )
}

function describeParameter(
  name: string,
  place: 'path' | 'query',
  required: boolean,
  property: TSchema,
  shapes: Shapes,
): object {
  const { description, ...schema } = shapes.request(property)
  return {
    name,
    in: place,
    required,
    ...(description === undefined ? {} : { description }),
    schema,
  }
}

/** As its type, which a path and a query spell as text. */
function describeValue(property: TSchema, value: string | undefined): object {
  if (value === undefined) return {}
  return { example: Reflect.get(property, 'type') === 'integer' ? Number(value) : value }
}

/** `components.parameters` of lists. */
export function pageParameters(shapes: Shapes): Record<string, object> {
  return Object.fromEntries(
    Object.entries(pageQuery.properties).map(([name, property]) => [
      name,
      describeParameter(name, 'query', false, property, shapes),
    ]),
  )
}

function errorsOf(id: OperationId, details: OperationDetails): ErrorCode[] {
  const { auth, method } = operations[id]
  const codes: ErrorCode[] = [
    'validation_failed',
    'unauthorized',
    'rate_limited',
    'internal_error',
    'unavailable',
  ]
  // The operator may name a tenant that is not there.
  if (auth === 'tenant') codes.push('forbidden', 'not_found')
  // A page elsewhere may have made the call.
  if (auth === 'session' || auth === 'public') codes.push('forbidden')
  // Where none is asked for, one that is sent is read all the same.
  if (method !== 'GET')
    codes.push('invalid_json', 'payload_too_large', 'unsupported_media_type', 'request_timeout')
  if (details.params !== undefined) codes.push('not_found')
  return [...new Set([...codes, ...(details.errors ?? [])])]
}
