/**
 * Adds an operation of the contract as a route: method, path, status and kind of key come from the
 * contract's table, the schemas check what comes in and describe it in the OpenAPI document.
 *
 * A capability's routes.ts is a list of these: schema, one use case, its answer.
 */
import type { Readable } from 'node:stream'
import { type OperationId, operations } from '@postrider/contract'
import type { FastifyInstance, FastifyReply, FastifyRequest, FastifySchema } from 'fastify'
import type { Static, TSchema } from 'typebox'
import { type Commits, watchCommits } from '../db/index.ts'
import type { ApiError } from '../errors.ts'
import { idIn } from './act-for-tenant.ts'
import type { TenantIdentity } from './bounds/admission.ts'
import { createUpload, type Upload } from './bounds/upload.ts'
import type { DescribedOperation, OperationDetails } from './description/describe-operation.ts'
import { afterCommit } from './error-answer.ts'
import type { Person } from './sessions/session.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The operation of the contract that the route is, as it is described. */
    operation?: DescribedOperation
    /** The media type of the body, which its handler reads as it comes (bounds/upload.ts). */
    uploads?: string
  }
}

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
  /** Who calls; only on routes for tenants. */
  readonly tenant: AuthOf<Id> extends 'tenant' ? TenantIdentity : undefined
  /** Who calls; only on routes for sessions. */
  readonly person: AuthOf<Id> extends 'session' ? Person : undefined
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
> extends OperationDetails {
  readonly body?: Body
  readonly query?: Query
  readonly params?: Params
  readonly answer: Answer
  /**
   * Asked of a key that was admitted, before the body is read: a flood costs no more than this. The refusal is
   * told after a pause, so that a caller who repeats a request at once leaves the processor to others. Calls of
   * people and of the operator are in the audit log, so they are never refused here.
   */
  refuseEarly?(tenant: TenantIdentity): ApiError | undefined
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
> extends Omit<OperationDetails, 'body' | 'bodyBytesMax'> {
  readonly query?: Query
  readonly params?: Params
  /** Media types that it may answer. */
  readonly contentTypes: readonly string[]
  /** Sets the reply's headers, and answers the bytes as a stream: one that fails cuts the connection. */
  handle(call: Call<Id, undefined, Query, Params>): Promise<Readable>
}

export function addStreamOperation<
  Id extends OperationId,
  Query extends TSchema | undefined = undefined,
  Params extends TSchema | undefined = undefined,
>(app: FastifyInstance, id: Id, spec: StreamOperationSpec<Id, Query, Params>): void {
  const described = { id, details: spec, answer: spec.contentTypes }
  addRoute<Id, undefined, Query, Params>(app, id, described, (call) => spec.handle(call))
}

/** An operation whose body is read as it comes, and may be longer than what is held of it. */
export interface UploadOperationSpec<
  Id extends OperationId,
  Query extends TSchema | undefined,
  Answer extends TSchema,
> extends Omit<OperationDetails, 'body' | 'params'> {
  readonly uploads: string
  readonly bodyBytesMax: number
  readonly query?: Query
  readonly answer: Answer
  handle(
    call: Call<Id, undefined, Query, undefined> & { readonly upload: Upload },
  ): Promise<Omit<Static<Answer>, 'success'>>
}

export function addUploadOperation<
  Id extends OperationId,
  Answer extends TSchema,
  Query extends TSchema | undefined = undefined,
>(app: FastifyInstance, id: Id, spec: UploadOperationSpec<Id, Query, Answer>): void {
  const described = { id, details: spec, answer: spec.answer }
  addRoute<Id, undefined, Query, undefined>(app, id, described, async (call) => {
    const upload = createUpload(call.request, spec.bodyBytesMax)
    try {
      return { success: true, ...(await spec.handle({ ...call, upload })) }
    } finally {
      upload.passOver()
    }
  })
}

export function addOperation<
  Id extends OperationId,
  Answer extends TSchema,
  Body extends TSchema | undefined = undefined,
  Query extends TSchema | undefined = undefined,
  Params extends TSchema | undefined = undefined,
>(app: FastifyInstance, id: Id, spec: OperationSpec<Id, Body, Query, Params, Answer>): void {
  const { refuseEarly, ...details } = spec
  const described = { id, details, answer: spec.answer }
  const answerTo = async (call: Call<Id, Body, Query, Params>) => ({
    success: true,
    ...(await spec.handle(call)),
  })
  addRoute<Id, Body, Query, Params>(app, id, described, answerTo, refuseEarly)
}

function addRoute<
  Id extends OperationId,
  Body extends TSchema | undefined,
  Query extends TSchema | undefined,
  Params extends TSchema | undefined,
>(
  app: FastifyInstance,
  id: Id,
  operation: DescribedOperation,
  answerTo: (call: Call<Id, Body, Query, Params>) => Promise<unknown>,
  refuseEarly?: (tenant: TenantIdentity) => ApiError | undefined,
): void {
  const { method, path, status, auth } = operations[id]
  const { body, outerBody = body, query, params, scopes = [] } = operation.details
  const { bodyBytesMax, uploads } = operation.details
  const schema: FastifySchema = {
    ...(outerBody === undefined ? {} : { body: outerBody }),
    ...(query === undefined ? {} : { querystring: query }),
    ...(params === undefined ? {} : { params }),
  }
  app.route({
    method,
    url: path.replaceAll(/\{(\w+)\}/g, ':$1'),
    config: { auth, scopes, operation, ...(uploads === undefined ? {} : { uploads }) },
    ...(bodyBytesMax === undefined ? {} : { bodyLimit: bodyBytesMax }),
    ...(refuseEarly === undefined ? {} : { onRequest: beforeBody(refuseEarly) }),
    schema,
    async handler(request, reply) {
      reply.code(status)
      const call = {
        body: request.body,
        query: request.query,
        params: request.params,
        tenant: request.identity,
        person: request.person,
        traceparent: request.traceparent,
        request,
        reply,
      }
      // The schemas above have made these values what their types say.
      const commits: Commits = { isAny: false }
      const answered = await watchCommits(commits, () =>
        answerTo(call as unknown as Call<Id, Body, Query, Params>),
      ).catch((error: unknown) => {
        throw commits.isAny ? afterCommit(error) : error
      })
      if (request.endAuditedCall !== undefined) request.made = idIn(answered)
      return answered
    },
  })
}

const EARLY_REFUSAL_PAUSE_MS = 50

function beforeBody(refuse: (tenant: TenantIdentity) => ApiError | undefined) {
  return (
    { identity, isOperators, person }: FastifyRequest,
    _reply: FastifyReply,
    done: (error?: Error) => void,
  ) => {
    const isByKey = identity !== undefined && person === undefined && !isOperators
    const refusal = isByKey ? refuse(identity) : undefined
    if (refusal === undefined) done()
    else setTimeout(done, EARLY_REFUSAL_PAUSE_MS, refusal)
  }
}
