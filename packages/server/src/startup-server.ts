/**
 * What answers while the service waits for its database at its start: that the process lives, and 503 to
 * everything else. A probe that restarts what does not answer would keep it from ever starting.
 */
import type { Build } from './build.ts'
import type { Config } from './config.ts'
import { ApiError } from './platform/errors.ts'
import { createHttpApp } from './platform/http/app.ts'
import { createHttpServer, type HttpServer } from './platform/http/server.ts'
import { addStatusRoutes } from './platform/http/status-routes.ts'
import type { Logger } from './platform/log.ts'
import { createMetrics } from './platform/metrics.ts'

const RETRY_AFTER_S = 5

export function createWaitingServer(o: {
  readonly config: Pick<Config, 'host' | 'port'>
  readonly log: Logger
  readonly build: Build
}): HttpServer {
  const { host, port } = o.config
  const metrics = createMetrics()
  const app = createHttpApp({ log: o.log, metrics, authenticateKey: () => undefined })
  addStatusRoutes(app, {
    metrics,
    facts: () => ({ ...o.build }),
    readiness: async () => ({ checks: { database: 'not reachable yet' } }),
  })
  const refuse = () => {
    throw new ApiError('unavailable', { retryAfterS: RETRY_AFTER_S })
  }
  // Before the body is read: nothing is known here of what a body may hold.
  const options = { config: { auth: 'public' as const }, schema: { hide: true }, onRequest: refuse }
  app.all('/*', options, refuse)
  return createHttpServer(app, { host, port, graceMs: 1_000 })
}
