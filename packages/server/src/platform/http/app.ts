/**
 * The HTTP application: the conventions of docs/reference/http.md#requests for every route that is added to
 * it.
 *
 * One error shape for everything, also for what never reaches a route; ids and traces on every
 * request; bodies and queries checked against closed schemas; a guard on every route.
 */
import { Socket } from 'node:net'
import { runTask } from '@postrider/runtime/task'
import fastify, { type FastifyInstance, type FastifyRequest } from 'fastify'
import { createNetworks } from '../egress/address-policy.ts'
import { ApiError, validationError } from '../errors.ts'
import { createFailureBudget } from '../limits/failure-budget.ts'
import type { Logger } from '../log.ts'
import type { Metrics } from '../metrics.ts'
import { readDescriptorLimit } from '../process/descriptors.ts'
import type { Tracing } from '../tracing/span.ts'
import { type OperatorAccess, recordAuditedCalls } from './act-for-tenant.ts'
import { createAllowedMethods } from './allowed-methods.ts'
import {
  bodyMissing,
  isJsonContentType,
  jsonPointer,
  parseJson,
  refuseEncoded,
} from './body/json-body.ts'
import { createJsonReader, type JsonReader } from './body/json-reader.ts'
import { compileSchema } from './body/validation.ts'
import {
  type AuthenticateKey,
  admitSlowBodiesAgain,
  checkRequestLine,
  guardRoutes,
  markRequest,
  requestIdOf,
  spanOf,
} from './bounds/admission.ts'
import { type BodyLimits, boundBodies } from './bounds/body-budget.ts'
import {
  answerRefused,
  createClientErrorHandler,
  handleUnroutable,
} from './bounds/broken-connections.ts'
import { defaultConnectionsMax, limitConnections } from './bounds/connection-limits.ts'
import { createRequestsUnderWay, requestsPerKeyMax } from './bounds/requests-under-way.ts'
import { createBrokenEscapes } from './broken-escapes.ts'
import { createClientAddress } from './client-address.ts'
import { createErrorHandler } from './error-answer.ts'
import { createObservation, noRoute, type Observation } from './observation.ts'
import { type SessionAccess, takeSessionPrefix } from './sessions/session.ts'

declare module 'fastify' {
  interface FastifyInstance {
    /** For bodies that have JSON in them. */
    readonly jsonReader: JsonReader
  }
  interface FastifySchema {
    /** It is no operation, and takes any query. */
    hide?: boolean
  }
}

/** A route may allow more by its `bodyLimit`. */
const bodyBytesMax = 1024 * 1024

/** From one address in a minute (docs/reference/http.md#authentication). */
export const wrongKeysMax = 60

export interface HttpTimeouts {
  /** From the connection, or the request before, to the end of the headers. */
  readonly headersMs: number
  /** From the first byte of a request to its last: enough for 40 MiB at 3 Mbit/s. */
  readonly requestMs: number
  /** How long an idle connection is kept: longer than load balancers keep theirs. */
  readonly keepAliveMs: number
  /** Without a byte of an answer taken: who does not read is not to have it kept for ever. */
  readonly writeMs: number
  /** The same of streams, whose readers are told what they missed. */
  readonly streamWriteMs: number
  /** How often the first two are looked at. */
  readonly checkEveryMs: number
}

export const defaultTimeouts: HttpTimeouts = {
  headersMs: 10_000,
  requestMs: 120_000,
  keepAliveMs: 72_000,
  writeMs: 30_000,
  streamWriteMs: 300_000,
  checkEveryMs: 1_000,
}

/** What routes are added to: the app itself, or a part of it. */
export type HttpApp = FastifyInstance

export interface HttpAppOptions {
  readonly log: Logger
  readonly metrics: Metrics
  readonly authenticateKey: AuthenticateKey
  /** Without it, every admin route answers 401. */
  readonly adminToken?: string | undefined
  /** How the operator's token acts for tenants; without it, it does not. */
  readonly operatorAccess?: OperatorAccess
  /** How people call who logged in; without it, they do not. */
  readonly sessions?: SessionAccess
  /** Networks whose `X-Forwarded-For` is believed. */
  readonly trustedProxies?: readonly string[] | undefined
  readonly timeouts?: Partial<HttpTimeouts>
  /** At once; a quarter of them of one address. */
  readonly connectionsMax?: number | undefined
  readonly requestsPerKeyMax?: number
  readonly bodyLimits?: Partial<BodyLimits>
  readonly monotonicMs?: () => number
  readonly tracing?: Tracing | undefined
}

export function createHttpApp(o: HttpAppOptions): HttpApp {
  const timeouts = { ...defaultTimeouts, ...o.timeouts }
  const underWay = createRequestsUnderWay(o.requestsPerKeyMax ?? requestsPerKeyMax)
  const observation = createObservation({
    ...o,
    onOver(request) {
      bodies.end(request)
      endUnderWay(request)
    },
  })
  function endUnderWay(request: FastifyRequest): void {
    if (request.isUnderWay) underWay.end(request.tenant.keyId)
    request.isUnderWay = false
  }
  const handleError = createErrorHandler(o.log)
  const monotonicMs = o.monotonicMs ?? (() => performance.now())
  const escapes = createBrokenEscapes()
  const app = fastify({
    logger: false,
    bodyLimit: bodyBytesMax,
    keepAliveTimeout: timeouts.keepAliveMs,
    requestTimeout: timeouts.requestMs,
    http: {
      headersTimeout: timeouts.headersMs,
      connectionsCheckingInterval: timeouts.checkEveryMs,
      requireHostHeader: false, // Checked below: the server's own answer has no body.
    },
    // While stopping, what arrives on an open connection is still answered properly.
    return503OnClosing: false,
    genReqId: requestIdOf,
    clientErrorHandler: createClientErrorHandler(observation.broken),
    frameworkErrors(error, request, reply) {
      observation.watch(request, reply)
      markRequest(request, reply)
      handleError(error, request, reply)
    },
    rewriteUrl: (raw) => escapes.mend(takeSessionPrefix(raw)),
    routerOptions: { maxParamLength: 1024 },
  })
  handleUnroutable(app.server, observation.broken)
  const proxies = createNetworks(o.trustedProxies ?? [])
  const connections = limitConnections(app.server, {
    connectionsMax: o.connectionsMax ?? defaultConnectionsMax(readDescriptorLimit()),
    isProxy: proxies.has,
    refuse(refusal, to) {
      observation.bounded(refusal.bound)
      answerRefused(refusal, to)
    },
    onClosed: observation.bounded,
  })
  o.metrics.gaugeOf('http_connections', 'Connections to the HTTP port', 'state', connections.counts)
  decorateRequests(app, o)
  app.setErrorHandler(handleError)
  admitSlowBodiesAgain(app, monotonicMs)
  acceptOnlyJson(app)
  checkSchemas(app)
  app.addHook('onRoute', ({ url, config }) => {
    if (config?.takesAnything === true) escapes.add(url)
  })
  admitRequests(app, observation)
  endStalledAnswers(app, timeouts, endUnderWay)
  const { authenticateKey, adminToken, operatorAccess, sessions } = o
  if (operatorAccess !== undefined) recordAuditedCalls(app, operatorAccess)
  const wrongKeys = createFailureBudget({
    name: 'wrong-keys',
    failuresMax: wrongKeysMax,
    windowS: 60,
    message: 'Too many wrong keys from this address',
    monotonicMs: o.monotonicMs,
  })
  guardRoutes(app, {
    ...{ authenticateKey, adminToken, operatorAccess, sessions, wrongKeys, underWay, monotonicMs },
  })
  const bodies = boundBodies(app, {
    limits: o.bodyLimits,
    monotonicMs,
  })
  o.metrics.gaugeOf('http_body_bytes', 'Memory that request bodies take', 'state', () => ({
    taken: bodies.takenBytes(),
  }))
  repeatWhileListening(app, timeouts.checkEveryMs, bodies.sweep)
  return app
}

/** What a route reads of a request beside what Fastify has. */
function decorateRequests(app: HttpApp, o: HttpAppOptions): void {
  app.decorateRequest('span', undefined)
  app.decorateRequest('traceparent', {
    getter() {
      this.span ??= spanOf(this, o.tracing)
      return this.span
    },
  })
  const clientAddress = createClientAddress(o.trustedProxies ?? [])
  app.decorateRequest('clientAddress', {
    getter() {
      const { headers, socket } = this.raw
      return clientAddress({
        peer: socket.remoteAddress,
        forwardedFor: headers['x-forwarded-for'],
      })
    },
  })
  app.decorateRequest('identity', undefined)
  app.decorateRequest('isUnderWay', false)
  app.decorateRequest('admitAgain', undefined)
  app.decorateRequest('isStillAdmitted', async function () {
    return (await this.admitAgain?.(this)) ?? false
  })
  app.decorateRequest('bound', undefined)
  app.decorateRequest('spanAttributes', undefined)
  app.decorateRequest('tenant', {
    getter() {
      if (this.identity === undefined) throw new Error('this route is not for tenants')
      return this.identity
    },
  })
}

/** For the watchdog: which request keeps the event loop. */
function taskOf({ method, routeOptions }: FastifyRequest): string {
  return `${method} ${routeOptions.url ?? noRoute}`
}

/** Ids, trace and observation for all; and the answer for what no route takes. */
function admitRequests(app: FastifyInstance, observation: Observation): void {
  const allowed = createAllowedMethods()
  app.addHook('onRoute', (route) => allowed.add(route.method, route.url))
  app.addHook('onRequest', (request, _reply, done) => runTask(taskOf(request), done))
  app.addHook('onRequest', (request, reply, done) => {
    observation.watch(request, reply)
    markRequest(request, reply)
    checkRequestLine(request)
    // Before the body is read: nobody uploads megabytes to a path that does not exist.
    if (request.is404) throw refuseUnrouted(request)
    done()
  })
  app.setNotFoundHandler((request) => {
    throw refuseUnrouted(request)
  })

  function refuseUnrouted({ method, raw }: FastifyRequest): ApiError {
    const methods = allowed.of((raw.url ?? '').split('?', 1)[0] ?? '')
    return methods.length === 0 || methods.includes(method)
      ? notFound(raw.url ?? '')
      : new ApiError('method_not_allowed', { headers: { allow: methods.join(', ') } })
  }
}

/** The base address of a client that ends in `/v1` is the usual cause of a path that there is not. */
function notFound(url: string): ApiError {
  if (!/^\/v1\/(?:v1|admin\/v1)\//.test(url)) return new ApiError('not_found')
  return new ApiError('not_found', {
    message:
      'Not Found: the base address (`basePath`) must not end in /v1, as every path begins with it',
  })
}

/**
 * Ends connections whose peer takes no byte of an answer for so long. Looked at now and then, as an
 * answer that is taken at once, which is nearly each, then costs nothing: what has something left to
 * write gets a time-out of the socket's own, which knows of progress within one large write.
 */
function endStalledAnswers(
  app: FastifyInstance,
  o: Pick<HttpTimeouts, 'writeMs' | 'streamWriteMs' | 'checkEveryMs'>,
  onStream: (request: FastifyRequest) => void,
) {
  const sockets = new Set<Socket>()
  const streams = new WeakSet<Socket>()
  const look = () => {
    for (const socket of sockets) {
      const limitMs = streams.has(socket) ? o.streamWriteMs : o.writeMs
      if (socket.destroyed) sockets.delete(socket)
      else if (socket.writableLength > 0) {
        // Without a listener on the answer, the server destroys the socket when it is over.
        if (socket.timeout !== limitMs) socket.setTimeout(limitMs)
      } else if (socket.timeout === limitMs) socket.setTimeout(0)
    }
  }
  app.decorateRequest('becomeStream', function () {
    streams.add(this.raw.socket)
    onStream(this)
  })
  repeatWhileListening(app, o.checkEveryMs, look)
  app.addHook('onRequest', ({ raw: { socket } }, _reply, done) => {
    // A request that came over no connection: nobody can stall.
    if (socket instanceof Socket) sockets.add(socket)
    streams.delete(socket)
    done()
  })
}

function repeatWhileListening(app: FastifyInstance, everyMs: number, look: () => void): void {
  let timer: NodeJS.Timeout | undefined
  app.addHook('onListen', (done) => {
    timer ??= setInterval(look, everyMs).unref()
    done()
  })
  app.addHook('onClose', (_app, done) => {
    clearInterval(timer)
    done()
  })
}

function acceptOnlyJson(app: FastifyInstance): void {
  const reader = createJsonReader()
  app.decorate('jsonReader', reader)
  app.addHook('onClose', () => reader.stop())
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body, done) => {
    const { schema, config } = request.routeOptions
    if (config.uploads !== undefined) return done(notUpload(config.uploads))
    if (!isJsonContentType(request.headers['content-type']))
      return done(new ApiError('unsupported_media_type'))
    const refusal = refuseEncoded(request.headers)
    if (refusal !== undefined) return done(refusal)
    // The body came on a connection that has many requests.
    runTask(taskOf(request), () => {
      try {
        if (schema?.body === undefined) return done(null, readNothing(body as Buffer))
        if (body.length === 0) return done(null, undefined)
        const read = reader.read(request.identity?.tenantId ?? '', body as Buffer)
        if (read instanceof Promise) read.then((value) => done(null, value), done)
        else done(null, read)
      } catch (error) {
        done(error as Error)
      }
    })
  })
  app.addContentTypeParser('text/csv', (request, _payload, done) => {
    const refusal = refuseUpload(request)
    // The handler reads it.
    done(refusal ?? null, undefined)
  })
  app.addHook('preValidation', (request, _reply, done) => {
    const schema = request.routeOptions.schema?.body as object | undefined
    if (schema === undefined || request.body !== undefined) return done(refuseUnreadBody(request))
    if (requiresFields(schema)) return done(bodyMissing())
    // Nothing is required, so nothing need be sent.
    request.body = {}
    done()
  })
}

function refuseUpload({ headers, routeOptions }: FastifyRequest): ApiError | undefined {
  const { uploads } = routeOptions.config
  if (uploads === undefined) return new ApiError('unsupported_media_type')
  const [, charset = 'utf-8'] =
    /;\s*charset="?([^";\s]+)/i.exec(headers['content-type'] ?? '') ?? []
  if (charset.toLowerCase() !== 'utf-8') return notUpload(uploads)
  return refuseEncoded(headers)
}

function notUpload(mediaType: string): ApiError {
  return new ApiError('unsupported_media_type', {
    message: `Content-Type must be ${mediaType}, in UTF-8`,
  })
}

function requiresFields(schema: { readonly required?: readonly string[] }): boolean {
  return schema.required !== undefined && schema.required.length > 0
}

/** The framework reads none of these methods, and what somebody wrote is not dropped silently. */
function refuseUnreadBody({ method, headers }: FastifyRequest): ApiError | undefined {
  if (method !== 'GET' && method !== 'HEAD') return undefined
  const length = Number(headers['content-length'] ?? 0)
  if (length === 0 && headers['transfer-encoding'] === undefined) return undefined
  return validationError({ path: '', message: `a ${method} request takes no body` })
}

/** A route without a body takes none, or an empty object. */
function readNothing(body: Buffer): undefined {
  if (body.length === 0) return undefined
  const value = parseJson(body)
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw validationError({ path: '', message: 'must be an object' })
  const unknown = Object.keys(value).slice(0, 50)
  if (unknown.length > 0)
    throw validationError(
      ...unknown.map((name) => ({ path: jsonPointer([name]), message: 'is not a known field' })),
    )
  return undefined
}

/** Closed schemas for every part; answers are what the use case gave, not a filtered copy. */
function checkSchemas(app: FastifyInstance): void {
  app.setValidatorCompiler(({ schema, httpPart }) =>
    compileSchema(schema as object, httpPart ?? 'body'),
  )
  app.setSerializerCompiler(() => (data) => JSON.stringify(data))
  app.addHook('onRoute', (route) => {
    if (route.schema?.querystring !== undefined || route.schema?.hide === true) return
    route.schema = { ...route.schema, querystring: NO_QUERY }
  })
}

const NO_QUERY = { type: 'object', properties: {}, additionalProperties: false }
