/**
 * Adds an operation of the contract as a route: method, path, status and kind of key come from the
 * contract's table, the schemas check what comes in and describe it in the OpenAPI document.
 *
 * A capability's routes.ts is a list of these: schema, one use case, its answer.
 */
import type { Readable } from 'node:stream'
import {
  type ApiKeyScope,
  type ErrorCode,
  errorCatalogue,
  type Operation,
  type OperationId,
  operations,
} from '@postrider/contract'
import type { FastifyInstance, FastifyReply, FastifyRequest, FastifySchema } from 'fastify'
import type { Static, TSchema } from 'typebox'
import { idIn } from './act-for-tenant.ts'
import type { TenantIdentity } from './admission.ts'
import { errorSchemaId } from './openapi.ts'

type Value<S> = S extends TSchema ? Static<S> : undefined
type AuthOf<Id extends OperationId> = (typeof operations)[Id]['auth']

export interface Call<
  Id extends OperationId,
  Body extends TSchema | undefined,
  Query extends TSchema | undefined,
  Params extends TSchema | undefined,
> {
  readonly body: Value<Body>
  readonly query: Value<Query>
  readonly params: Value<Params>
  /** Who calls; on the operator's routes there is none. */
  readonly tenant: AuthOf<Id> extends 'tenant' ? TenantIdentity : undefined
  readonly traceparent: string
  readonly request: FastifyRequest
  readonly reply: FastifyReply
}

export interface OperationSpec<
  Id extends OperationId,
  Body extends TSchema | undefined,
  Query extends TSchema | undefined,
  Params extends TSchema | undefined,
  Answer extends TSchema,
> {
  readonly summary: string
  readonly description?: string
  readonly tag: string
  readonly body?: Body
  readonly query?: Query
  readonly params?: Params
  readonly answer: Answer
  /** Beyond those that any operation of its kind can answer. */
  readonly errors?: readonly ErrorCode[]
  /** Any of these lets a key with scopes in; none: only a key without scopes. */
  readonly scopes?: readonly ApiKeyScope[]
  readonly bodyBytesMax?: number
  /** Answers what stands beside `success: true`. */
  handle(
    call: Call<Id, Body, Query, Params>,
  ): Promise<Omit<Static<Answer>, 'success'> & { readonly success?: true }>
}

/** An operation that answers bytes of any length in place of one JSON object. */
export interface StreamOperationSpec<
  Id extends OperationId,
  Query extends TSchema | undefined,
  Params extends TSchema | undefined,
> {
  readonly summary: string
  readonly description: string
  readonly tag: string
  readonly query?: Query
  readonly params?: Params
  /** Media types that it may answer. */
  readonly contentTypes: readonly string[]
  readonly errors?: readonly ErrorCode[]
  readonly scopes?: readonly ApiKeyScope[]
  /** Sets the reply's headers, and answers the bytes as a stream: one that fails cuts the connection. */
  handle(call: Call<Id, undefined, Query, Params>): Promise<Readable>
}

export function addStreamOperation<
  Id extends OperationId,
  Query extends TSchema | undefined = undefined,
  Params extends TSchema | undefined = undefined,
>(app: FastifyInstance, id: Id, spec: StreamOperationSpec<Id, Query, Params>): void {
  const { contentTypes, ...described } = spec
  const schema = { type: 'string' }
  const content = Object.fromEntries(contentTypes.map((type) => [type, { schema }]))
  const answer = { description: spec.summary, content }
  addRoute<Id, undefined, Query, Params>(app, id, described, answer, (call) => spec.handle(call))
}

export function addOperation<
  Id extends OperationId,
  Answer extends TSchema,
  Body extends TSchema | undefined = undefined,
  Query extends TSchema | undefined = undefined,
  Params extends TSchema | undefined = undefined,
>(app: FastifyInstance, id: Id, spec: OperationSpec<Id, Body, Query, Params, Answer>): void {
  const answer = describeAnswer(spec.summary, spec.answer)
  addRoute<Id, Body, Query, Params>(app, id, spec, answer, async (call) => ({
    success: true,
    ...(await spec.handle(call)),
  }))
}

/** What the kinds of operations have in common. */
interface RouteSpec {
  readonly summary: string
  readonly description?: string
  readonly tag: string
  readonly body?: TSchema | undefined
  readonly query?: TSchema | undefined
  readonly params?: TSchema | undefined
  readonly errors?: readonly ErrorCode[]
  readonly scopes?: readonly ApiKeyScope[]
  readonly bodyBytesMax?: number
}

function addRoute<
  Id extends OperationId,
  Body extends TSchema | undefined,
  Query extends TSchema | undefined,
  Params extends TSchema | undefined,
>(
  app: FastifyInstance,
  id: Id,
  spec: RouteSpec,
  answer: object,
  answerTo: (call: Call<Id, Body, Query, Params>) => Promise<unknown>,
): void {
  const { method, path, status, auth } = operations[id]
  const schema: FastifySchema = {
    operationId: id,
    summary: spec.summary,
    ...(spec.description === undefined ? {} : { description: spec.description }),
    tags: [spec.tag],
    security: SECURITY[auth],
    ...(spec.body === undefined ? {} : { body: spec.body }),
    ...(spec.query === undefined ? {} : { querystring: spec.query }),
    ...(spec.params === undefined ? {} : { params: spec.params }),
    response: { [status]: answer, ...describeErrors(errorsOf(operations[id], spec)) },
  }
  app.route({
    method,
    url: path.replaceAll(/\{(\w+)\}/g, ':$1'),
    config: { auth, scopes: spec.scopes ?? [] },
    ...(spec.bodyBytesMax === undefined ? {} : { bodyLimit: spec.bodyBytesMax }),
    schema,
    async handler(request, reply) {
      reply.code(status)
      const call = {
        body: request.body,
        query: request.query,
        params: request.params,
        tenant: request.identity,
        traceparent: request.traceparent,
        request,
        reply,
      }
      // The schemas above have made these values what their types say.
      const answered = await answerTo(call as unknown as Call<Id, Body, Query, Params>)
      if (request.isOperators) request.made = idIn(answered)
      return answered
    },
  })
}

/** A tenant's key, or the operator's token and the tenant that it acts for. */
const SECURITY = {
  admin: [{ adminToken: [] }],
  tenant: [{ apiKey: [] }, { adminToken: [], actingFor: [] }],
}

function errorsOf(
  { auth, method }: Pick<Operation, 'auth' | 'method'>,
  spec: {
    readonly params?: TSchema | undefined
    readonly errors?: readonly ErrorCode[]
  },
): ErrorCode[] {
  const codes: ErrorCode[] = [
    'validation_failed',
    'unauthorized',
    'rate_limited',
    'internal_error',
    'unavailable',
  ]
  // The operator may name a tenant that is not there.
  if (auth === 'tenant') codes.push('forbidden', 'not_found')
  // Where none is asked for, one that is sent is read all the same.
  if (method !== 'GET')
    codes.push('invalid_json', 'payload_too_large', 'unsupported_media_type', 'request_timeout')
  if (spec.params !== undefined) codes.push('not_found')
  return [...new Set([...codes, ...(spec.errors ?? [])])]
}

const RETRY_AFTER = { type: 'integer', description: 'Seconds to wait' }
const HEADERS: Readonly<Record<number, object>> = {
  429: {
    'Retry-After': RETRY_AFTER,
    RateLimit: { type: 'string', description: 'What is left (`r`), and for how long (`t`)' },
    'RateLimit-Policy': {
      type: 'string',
      description: 'The limit (`q`), and its window in seconds (`w`) if it has one',
    },
  },
  503: { 'Retry-After': RETRY_AFTER },
}

/** One response for each status: its codes are named in its description. */
function describeErrors(codes: readonly ErrorCode[]): Record<number, object> {
  const byStatus = new Map<number, string[]>()
  for (const code of codes) {
    const { status, message } = errorCatalogue[code]
    byStatus.set(status, [...(byStatus.get(status) ?? []), `\`${code}\`: ${message}`])
  }
  const described = [...byStatus].map(([status, lines]) => [
    status,
    {
      ...describeAnswer(lines.join('; '), { $ref: `${errorSchemaId}#` }),
      ...(status in HEADERS ? { headers: HEADERS[status] } : {}),
    },
  ])
  return Object.fromEntries(described)
}

function describeAnswer(description: string, schema: object): object {
  return { description, content: { 'application/json': { schema } } }
}
