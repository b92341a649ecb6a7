/**
 * One canonical log line and the metrics of each request: which route, how it ended, how long it
 * took, for whom. Never a body, a header's value or a query.
 *
 * Of a route whose unit of work is not the request but what many of them share, only those lines are
 * written that tell of something unusual.
 */
import type { ErrorCode } from '@postrider/contract'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Logger } from '../log.ts'
import type { Metrics } from '../metrics.ts'
import { createSummedLog } from '../summed-log.ts'
import type { Tracing } from '../tracing/span.ts'
import { callersTrace } from './bounds/admission.ts'
import { bodyBounds } from './bounds/body-budget.ts'
import { brokenCodes } from './bounds/broken-connections.ts'
import { type ConnectionBound, connectionBounds } from './bounds/connection-limits.ts'
import { requestsPerKey } from './bounds/requests-under-way.ts'

export interface Observation {
  /** Watches one request from now until its answer is written or its caller is gone. */
  watch(request: FastifyRequest, reply: FastifyReply): void
  /** A connection that was answered without ever becoming a request. */
  broken(code: ErrorCode, requestId: string): void
  /** A connection that a limit refused or closed. A flood of them is one line in a while. */
  bounded(bound: ConnectionBound): void
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Usual answers are logged elsewhere, many requests in one line. */
    isTold?: boolean
  }
}

/** The limits that hold for every route. Those of single operations are counted by their own names. */
export const httpBounds = [
  'wrong-keys',
  requestsPerKey,
  ...bodyBounds,
  ...connectionBounds,
] as const

export const noRoute = '(no route)'
const QUIET = new Set(['/healthz', '/readyz', '/metrics'])

export function createObservation(o: {
  readonly log: Logger
  readonly metrics: Metrics
  readonly tracing?: Tracing | undefined
  /** Called once for each request that is watched, when it is over. */
  readonly onOver: (request: FastifyRequest) => void
}): Observation {
  const { log, metrics, tracing } = o
  const requests = metrics.counter('http_requests_total', 'HTTP requests answered', [
    'method',
    'route',
    'status',
  ])
  const durations = metrics.histogram(
    'http_request_duration_seconds',
    'Time from the headers of a request to the end of its answer',
    ['method', 'route'],
  )
  const broken = metrics.counter('http_broken_connections_total', 'Connections without a request', [
    'code',
  ])
  const refused = metrics.counter(
    'http_refused_total',
    'Requests and connections that a limit refused, by the name of the limit',
    ['bound'],
  )
  for (const bound of httpBounds) refused.inc({ bound }, 0)
  const floods = new Map(
    connectionBounds.map((bound) => [
      bound,
      createSummedLog({ log, level: 'warn', message: 'connection.bounded' }),
    ]),
  )
  // From the start: what begins with its first occurrence is no increase.
  for (const code of brokenCodes) broken.inc({ code }, 0)
  return {
    watch(request, reply) {
      const startedAt = performance.now()
      reply.raw.on('close', () => {
        o.onOver(request)
        const { method } = request
        const { url: route = noRoute, config } = request.routeOptions
        const { statusCode: status, writableFinished: isWritten } = reply.raw
        const durationMs = performance.now() - startedAt
        if (request.bound !== undefined) refused.inc({ bound: request.bound })
        requests.inc({ method, route, status })
        durations.observe({ method, route }, durationMs / 1000)
        if (tracing !== undefined && request.spanAttributes !== undefined)
          recordSpan(tracing, request, { route, status, durationMs, isWritten })
        const isUsual = config.isTold === true && status < 400 && isWritten
        const level = isUsual || QUIET.has(route) ? 'debug' : 'info'
        if (!log.isLevelEnabled(level)) return
        const { identity, traceparent } = request
        log[level](
          {
            request_id: request.id,
            method,
            route,
            status,
            duration_ms: Math.round(durationMs * 1000) / 1000,
            tenant_id: identity?.tenantId,
            key_id: identity?.keyId,
            traceparent,
            bound: request.bound,
            aborted: isWritten ? undefined : true,
          },
          'request.finished',
        )
      })
    },
    bounded(bound) {
      refused.inc({ bound })
      floods.get(bound)?.note({ bound })
    },
    broken(code, requestId) {
      broken.inc({ code })
      log.info({ request_id: requestId, code }, 'connection.refused')
    },
  }
}

/** By the semantic conventions of OpenTelemetry for HTTP servers. */
function recordSpan(
  tracing: Tracing,
  request: FastifyRequest,
  o: {
    readonly route: string
    readonly status: number
    readonly durationMs: number
    readonly isWritten: boolean
  },
): void {
  const { method, traceparent, spanAttributes } = request
  const { route, status, durationMs } = o
  const failure = status >= 500 ? String(status) : o.isWritten ? undefined : 'aborted'
  tracing.record({
    name: `${method} ${route}`,
    kind: 'server',
    traceparent,
    parent: callersTrace(request),
    endedAgoMs: 0,
    durationMs,
    error: failure,
    attributes: {
      ...spanAttributes,
      'http.request.method': method,
      'http.route': route,
      'url.path': route,
      'url.scheme': request.protocol,
      'http.response.status_code': status,
      'error.type': failure,
    },
  })
}
