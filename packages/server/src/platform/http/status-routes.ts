/**
 * /healthz: the process answers. /readyz: its database and roles work. /metrics: Prometheus text.
 */

import { withTimeout } from '@postrider/runtime/timeout'
import type { FastifyInstance } from 'fastify'
import { ApiError } from '../errors.ts'
import type { Metrics } from '../metrics.ts'

export interface Readiness {
  /** What each check found: `ok`, or what is wrong in a few words. Each that is not `ok` is a 503. */
  readonly checks: Readonly<Record<string, string>>
  /** What an operator should know of a process that is ready. Both are public: they hold no secret. */
  readonly details?: Readonly<Record<string, string>>
}

export interface StatusOptions {
  readonly metrics: Metrics
  /** Facts about this process that an operator wants at a glance: version, roles, durability. */
  readonly facts: () => Readonly<Record<string, string | readonly string[]>>
  readonly readiness: () => Promise<Readiness>
  /** Probes give up soon, and a suspended database does not answer; default 1.5 s. */
  readonly readyWithinMs?: number
}

const READY_WITHIN_MS = 1_500

export function addStatusRoutes(app: FastifyInstance, o: StatusOptions): void {
  const options = { config: { auth: 'public' as const }, schema: { hide: true } }
  app.get('/healthz', options, () => ({
    success: true,
    message: 'Alive',
    status: 'ok',
    ...o.facts(),
  }))
  const check = createTimedCheck(o.readiness, o.readyWithinMs ?? READY_WITHIN_MS)
  app.get('/readyz', options, async () => {
    const { checks, details = {} } = await check()
    const failing = Object.entries(checks).filter(([, state]) => state !== 'ok')
    if (failing.length > 0)
      throw new ApiError('unavailable', {
        message: `Not ready: ${failing.map(([name, state]) => `${name} (${state})`).join(', ')}`,
        retryAfterS: 1,
      })
    const known = Object.keys(details).length > 0 ? { details } : {}
    return { success: true, message: 'Ready', checks, ...known }
  })
  const { registry } = o.metrics
  const ready = o.metrics.gauge('ready', 'Checks of /readyz: 1 passed, 0 failed', ['check'])
  const readMetrics = shareOne(async () => {
    const { checks } = await check()
    ready.reset()
    for (const [name, state] of Object.entries(checks))
      ready.set({ check: name }, state === 'ok' ? 1 : 0)
    return Buffer.from(await registry.metrics())
  })
  app.get('/metrics', options, async (_request, reply) => {
    const text = await readMetrics()
    return reply.type(registry.contentType).send(text)
  })
}

/** One at a time for all who ask meanwhile: many requests at once cost what one does. */
function shareOne<T>(work: () => Promise<T>): () => Promise<T> {
  let underWay: Promise<T> | undefined
  return () => {
    underWay ??= work().finally(() => {
      underWay = undefined
    })
    return underWay
  }
}

/** Shared, so that checks that hang do not take up the database's connections. */
function createTimedCheck(
  check: () => Promise<Readiness>,
  withinMs: number,
): () => Promise<Readiness> {
  const checkOnce = shareOne(check)
  const late = (): Readiness => ({ checks: { checks: 'no answer in time' } })
  return () => withTimeout(checkOnce(), withinMs, late)
}
