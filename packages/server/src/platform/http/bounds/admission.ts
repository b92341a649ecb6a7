/**
 * What happens to every request before its body is read: an id, a trace, and the proof that the
 * caller may use the route (docs/reference/http.md#authentication).
 *
 * A route declares who may call it: `tenant` (an API key with one of the route's scopes), `admin`
 * (the operator's token), `session` (a person who logged in) or `public`. One that declares nothing cannot be
 * registered. Under `/ui/api`, a session takes the place of keys and tokens (sessions/session.ts).
 */
import type { ApiKeyScope } from '@postrider/contract'
import type {
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  onRequestHookHandler,
  RouteOptions,
} from 'fastify'
import type { Networks } from '../../egress/address-policy.ts'
import { ApiError, validationError } from '../../errors.ts'
import { newUlid } from '../../ids.ts'
import type { FailureBudget } from '../../limits/failure-budget.ts'
import { createSecretCheck } from '../../secrets/same-secret.ts'
import { continueTrace } from '../../trace.ts'
import type { SpanAttributes, Tracing } from '../../tracing/span.ts'
import { identifyTenant, type OperatorAccess, tenantHeader } from '../act-for-tenant.ts'
import { jsonPointer } from '../body/json-body.ts'
import { isRead } from '../is-read.ts'
import { ruleOf } from '../sessions/permission-rule.ts'
import { isSessionCall, type SessionAccess } from '../sessions/session.ts'
import { admitPerson, permitOperator, permitTenant } from '../sessions/session-guard.ts'
import type { RequestsUnderWay } from './requests-under-way.ts'

export type RouteAuth = 'tenant' | 'admin' | 'session' | 'public'

/** Who calls: what an API key stands for, or a person in the tenant that the call names. */
export interface TenantIdentity {
  readonly tenantId: string
  /** Of a person, the id of the user. */
  readonly keyId: string
  /** Empty: everything. */
  readonly scopes: readonly ApiKeyScope[]
  /** It sends to nobody, and changes nothing (docs/reference/test-mode.md#keys-of-test-mode). */
  readonly mode?: 'test'
  /** Where it may be used from. Absent: everywhere. */
  readonly networks?: Networks | undefined
}

/** A value when it is known at once, which spares a hot request a turn of the event loop. */
export type AuthenticateKey = (
  key: string,
  /** Where the caller is. */
  addressOf?: () => string,
) => TenantIdentity | undefined | Promise<TenantIdentity | undefined>

declare module 'fastify' {
  interface FastifyContextConfig {
    auth?: RouteAuth
    /** Any of these lets a key with scopes in. */
    scopes?: readonly ApiKeyScope[]
    /** Whatever stands in its path and query: the route answers it, as people follow what they have. */
    takesAnything?: boolean
    /** A page that people open by its address: `?tenant=` in place of the header. */
    mayNameTenantInQuery?: boolean
    /** A form of our own pages posts what is to be shown. It changes nothing, and cannot set headers. */
    isFormRead?: boolean
  }
  interface FastifyRequest {
    /** This request's span: `00-<trace id>-<span id>-<flags>`. Made when it is asked for. */
    readonly traceparent: string
    span: string | undefined
    /** Only on routes with `auth: 'tenant'`. */
    tenant: TenantIdentity
    identity: TenantIdentity | undefined
    /** The peer, or what trusted proxies say of it. */
    readonly clientAddress: string
    /** It counts in the requests under way of its key. */
    isUnderWay: boolean
    /** The limit that refused this request. */
    bound: string | undefined
    /** Of its span. A request without them has none. */
    spanAttributes: SpanAttributes | undefined
    /** Asks again what admitted it: for what goes on after the answer has begun. Its guard sets it. */
    admitAgain: ((request: FastifyRequest) => Promise<boolean>) | undefined
    isStillAdmitted(): Promise<boolean>
    /** When it was admitted, by a clock that never steps. */
    admittedAtMs: number
    /**
     * It is answered for as long as its caller stays: it counts no longer among the requests under way,
     * and a reader that takes nothing is waited for longer.
     */
    becomeStream(): void
  }
}

const SANE_ID = /^[\w.:-]{1,64}$/

/** The caller's own id when it is a sane token, else a new one. */
export function requestIdOf(raw: {
  headers: Record<string, string | string[] | undefined>
}): string {
  const given = raw.headers['x-request-id']
  return typeof given === 'string' && SANE_ID.test(given) ? given : newUlid()
}

export function markRequest(request: FastifyRequest, reply: FastifyReply): void {
  reply.header('x-request-id', request.id)
  reply.header('cache-control', 'no-store')
  // What pages ask for: no browser guesses another type, and no page of another site embeds it.
  if (request.originalUrl.startsWith('/ui/'))
    reply
      .header('x-content-type-options', 'nosniff')
      .header('cross-origin-resource-policy', 'same-origin')
}

/** The caller's `traceparent`, valid or not. */
export function callersTrace({ headers }: FastifyRequest): string | undefined {
  const { traceparent } = headers
  return typeof traceparent === 'string' ? traceparent : undefined
}

export function spanOf(request: FastifyRequest, tracing: Tracing | undefined): string {
  const header = callersTrace(request)
  return tracing === undefined ? continueTrace(header) : tracing.continueTrace(header)
}

/** RFC 9112 §3.2: two make it unclear who is meant. Names stand at the even places. */
function countHosts(rawHeaders: readonly string[]): number {
  let hosts = 0
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]
    if (name?.length === 4 && name.toLowerCase() === 'host') hosts++
  }
  return hosts
}

/** Throws what makes a request unfit for any route. */
export function checkRequestLine(request: FastifyRequest): void {
  const { raw } = request
  // Its parser takes these too, and the answers of HTTP/0.9 and HTTP/2 look otherwise.
  if (raw.httpVersionMajor !== 1)
    throw new ApiError('bad_request', { message: 'The HTTP version must be 1.0 or 1.1' })
  if (raw.headers.host === undefined && raw.httpVersionMinor === 1)
    throw new ApiError('bad_request', { message: 'The Host header is missing' })
  if (countHosts(raw.rawHeaders) > 1)
    throw new ApiError('bad_request', { message: 'The Host header is given twice' })
  const url = raw.url ?? ''
  if (!url.includes('%00') || request.routeOptions.config.takesAnything === true) return
  // PostgreSQL stores no NUL, so no resource has one in its name.
  const [path = '', ...query] = url.split('?')
  if (path.includes('%00')) throw new ApiError('not_found')
  const names = [...new URLSearchParams(query.join('?'))].flatMap(([name, value]) =>
    `${name}${value}`.includes('\0') ? [name.replaceAll('\0', '')] : [],
  )
  const errors = [...new Set(names)].map((name) => ({
    path: name === '' ? '' : jsonPointer([name]),
    message: 'must not contain NUL',
  }))
  if (errors.length > 0) throw validationError(...errors)
}

export interface Guards {
  /** Of keys and tokens that are wrong; a right one is never counted. */
  readonly wrongKeys: FailureBudget
  readonly underWay: RequestsUnderWay
  readonly authenticateKey: AuthenticateKey
  readonly adminToken: string | undefined
  /** Without it, the operator's token opens no tenant's route. */
  readonly operatorAccess: OperatorAccess | undefined
  /** Without it, no session opens anything. */
  readonly sessions: SessionAccess | undefined
  readonly monotonicMs: () => number
}

/** A body that took longer than this: the key may have been revoked, and the user removed. */
const STALE_MS = 1_000

/** Who holds a call open by a slow body keeps no rights by that. */
export function admitSlowBodiesAgain(app: FastifyInstance, monotonicMs: () => number): void {
  app.decorateRequest('admittedAtMs', 0)
  app.addHook('preValidation', (request, _reply, done) => {
    if (request.admitAgain === undefined || monotonicMs() - request.admittedAtMs < STALE_MS)
      return done()
    const message =
      'Unauthorized: since the call began, the key or session has ended, or its rights have changed'
    const refusal = new ApiError('unauthorized', { message })
    request.isStillAdmitted().then((is) => done(is ? undefined : refusal), done)
  })
}

/** Adds to each route the guard that it declares. */
export function guardRoutes(app: FastifyInstance, guards: Guards): void {
  const { adminToken, monotonicMs } = guards
  const isAdmin = adminToken === undefined ? () => false : createSecretCheck(adminToken)
  app.decorateRequest('person', undefined)
  app.addHook('onRoute', (route) => {
    const byKey = guardOf(route.config?.auth, route.config?.scopes ?? [], route.url)
    if (byKey === undefined) return
    const bySession = sessionGuard(guards, route)
    const guard: onRequestHookHandler = function (request, reply, done) {
      request.admittedAtMs = monotonicMs()
      if (isSessionCall(request)) bySession(request, reply, done)
      else byKey.call(this, request, reply, done)
    }
    route.onRequest = [guard, ...[route.onRequest ?? []].flat()]
  })

  function guardOf(
    auth: RouteAuth | undefined,
    scopes: readonly ApiKeyScope[],
    url: string,
  ): onRequestHookHandler | undefined {
    switch (auth) {
      case 'public':
        return undefined
      case 'admin':
        return (request, _reply, done) => {
          const token = bearerOf(request)
          if (token === undefined) return done(missingKey("operator's token"))
          done(isAdmin(token) ? undefined : wrongKey(guards, request, NOT_OPERATORS))
        }
      case 'session':
        return (request, _reply, done) => {
          const { sessions } = guards
          if (sessions === undefined) return done(new ApiError('unauthorized'))
          admitPerson(request, sessions).then(() => done(), done)
        }
      case 'tenant':
        return tenantGuard(guards, scopes, isAdmin)
      case undefined:
        throw new Error(`route ${url} declares no config.auth`)
    }
  }
}

function sessionGuard(guards: Guards, { config, method }: RouteOptions) {
  const { sessions, underWay } = guards
  const isAdmin = config?.auth === 'admin'
  const rule = ruleOf(
    { auth: isAdmin ? 'admin' : 'tenant', method: [method].flat()[0] ?? '' },
    { ...config?.operation?.details, scopes: config?.scopes ?? [] },
  )
  async function admit(request: FastifyRequest, reply: FastifyReply): Promise<void> {
    if (sessions === undefined) throw new ApiError('unauthorized')
    const person = await admitPerson(request, sessions)
    request.admitAgain = admitAgain
    if (isAdmin) return permitOperator(person, rule)
    const permitted = await permitTenant(request, person, { rule, access: sessions })
    request.identity = { ...permitted, keyId: person.userId }
    // The caller went away meanwhile: nobody would count it down.
    if (reply.raw.closed) return
    const refusal = underWay.begin(person.userId)
    if (refusal !== undefined) throw refusal
    request.isUnderWay = true
  }
  /** With the same rights: what a stream shows was decided when it was opened. */
  async function admitAgain(request: FastifyRequest): Promise<boolean> {
    if (sessions === undefined) return false
    try {
      // An open stream is no use: a page that was left alone logs out.
      const person = await admitPerson(request, sessions, false)
      if (isAdmin) {
        permitOperator(person, rule)
        return true
      }
      const { scopes } = await permitTenant(request, person, { rule, access: sessions })
      return scopes.join() === request.tenant.scopes.join()
    } catch (error) {
      if (error instanceof ApiError) return false
      throw error
    }
  }
  return (request: FastifyRequest, reply: FastifyReply, done: (error?: Error) => void) =>
    void admit(request, reply).then(() => done(), done)
}

/** Told as it is, until the address has had too many of them (docs/reference/http.md#authentication). */
function wrongKey({ wrongKeys }: Guards, request: FastifyRequest, message: string): ApiError {
  return wrongKeys.note(request.clientAddress) ?? new ApiError('unauthorized', { message })
}

/** @param what stands behind "Bearer" */
function missingKey(what: string): ApiError {
  const message = `Unauthorized: send the header "Authorization: Bearer <${what}>"`
  return new ApiError('unauthorized', { message })
}

const NOT_OPERATORS = "Unauthorized: this is not the operator's token"
const NO_SUCH_KEY = 'Unauthorized: the API key is unknown, revoked or expired'

const TENANT_HEADER = tenantHeader.toLowerCase()
/** The holder of the token learns no more than from the operator's own routes. */
const NO_TENANT = `Unauthorized: the operator's token needs the header ${tenantHeader} here, the id of the tenant to act for`

const CHANGES_NOTHING =
  'This API key is of test mode: it sends test mail and reads, and changes nothing. Use a key of mode "live"'

function mayTest({ method, routeOptions }: FastifyRequest): boolean {
  return isRead(method) || routeOptions.config.operation?.details.isForTests === true
}

const OTHER_TENANTS = `This API key belongs to another tenant than the header ${tenantHeader} names: leave the header out, or use a key of that tenant`

function tenantGuard(
  guards: Guards,
  scopes: readonly ApiKeyScope[],
  isAdmin: (given: string) => boolean,
): onRequestHookHandler {
  const { operatorAccess } = guards
  function unfit(request: FastifyRequest, identity: TenantIdentity): ApiError | undefined {
    // Who confuses two keys would change the wrong tenant.
    const named = request.headers[TENANT_HEADER]
    if (named !== undefined && named !== identity.tenantId)
      return new ApiError('forbidden', { message: OTHER_TENANTS })
    if (identity.mode === 'test' && !mayTest(request))
      return new ApiError('forbidden', { message: CHANGES_NOTHING })
    if (identity.networks?.has(request.clientAddress) === false)
      return new ApiError('forbidden', {
        message: `This API key may not be used from ${request.clientAddress}: see its networks`,
      })
    if (identity.scopes.length > 0 && !scopes.some((scope) => identity.scopes.includes(scope)))
      return new ApiError('forbidden', { message: forbiddenMessage(scopes) })
    return undefined
  }
  function admit(request: FastifyRequest, identity: TenantIdentity | undefined) {
    if (identity === undefined) return wrongKey(guards, request, NO_SUCH_KEY)
    const unfitness = unfit(request, identity)
    if (unfitness !== undefined) return unfitness
    const refusal = guards.underWay.begin(identity.keyId)
    request.identity = identity
    request.admitAgain = admitAgain
    request.isUnderWay = refusal === undefined
    return refusal
  }
  async function admitAgain(request: FastifyRequest): Promise<boolean> {
    const key = bearerOf(request) ?? ''
    if (operatorAccess !== undefined && isAdmin(key))
      return await operatorAccess.hasTenant(request.tenant.tenantId)
    const identity = await guards.authenticateKey(key, () => request.clientAddress)
    return identity !== undefined && unfit(request, identity) === undefined
  }
  return (request, _reply, done) => {
    const key = bearerOf(request)
    if (key === undefined) return done(missingKey('API key'))
    if (operatorAccess !== undefined && isAdmin(key)) {
      if (request.headers[TENANT_HEADER] === undefined)
        return done(wrongKey(guards, request, NO_TENANT))
      return void identifyTenant(request, operatorAccess).then(
        (tenantId) => done(admit(request, { tenantId, keyId: 'operator', scopes: [] })),
        done,
      )
    }
    const found = guards.authenticateKey(key, () => request.clientAddress)
    if (!(found instanceof Promise)) return done(admit(request, found))
    found.then((identity) => done(admit(request, identity)), done)
  }
}

function forbiddenMessage(scopes: readonly ApiKeyScope[]): string {
  if (scopes.length === 0) return 'This operation needs an API key without scopes'
  return `This operation needs an API key with the scope ${scopes.map((s) => `"${s}"`).join(' or ')}`
}

const BEARER = /^bearer +([\x21-\x7e]{1,512})$/i

function bearerOf(request: FastifyRequest): string | undefined {
  const header = request.headers.authorization
  if (header === undefined) return undefined
  return BEARER.exec(header)?.[1]
}
