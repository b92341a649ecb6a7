/**
 * /healthz: the process answers. /readyz: its database and roles work. /metrics: Prometheus text.
 */
import { setTimeout } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import { ApiError } from '../errors.ts'
import type { Metrics } from '../metrics.ts'

/** What a check found: `ok`, or what is wrong in a few words that hold no secret. */
export type Checks = Readonly<Record<string, string>>

export interface StatusOptions {
  readonly metrics: Metrics
  /** Facts about this process that an operator wants at a glance: version, roles, durability. */
  readonly facts: () => Readonly<Record<string, string | readonly string[]>>
  readonly readiness: () => Promise<Checks>
  /** Probes give up soon, and a database that stands still answers nobody; default 1.5 s. */
  readonly readyWithinMs?: number
}

const READY_WITHIN_MS = 1_500

export function addStatusRoutes(app: FastifyInstance, o: StatusOptions): void {
  const options = { config: { auth: 'public' as const }, schema: { hide: true } }
  app.get('/healthz', options, () => ({ success: true, message: 'Alive', ...o.facts() }))
  const check = createTimedCheck(o.readiness, o.readyWithinMs ?? READY_WITHIN_MS)
  app.get('/readyz', options, async () => {
    const checks = await check()
    const failing = Object.entries(checks).filter(([, state]) => state !== 'ok')
    if (failing.length > 0)
      throw new ApiError('unavailable', {
        message: `Not ready: ${failing.map(([name, state]) => `${name} (${state})`).join(', ')}`,
        retryAfterS: 1,
      })
    return { success: true, message: 'Ready', checks }
  })
  app.get('/metrics', options, async (_request, reply) => {
    reply.type(o.metrics.registry.contentType)
    return await o.metrics.registry.metrics()
  })
}

/** One check at a time for all who ask: those that hang do not take up the database's connections. */
function createTimedCheck(check: () => Promise<Checks>, withinMs: number): () => Promise<Checks> {
  let underWay: Promise<Checks> | undefined
  return async () => {
    underWay ??= check().finally(() => {
      underWay = undefined
    })
    const timer = new AbortController()
    const late = setTimeout(withinMs, { checks: 'no answer in time' }, { signal: timer.signal })
    late.catch(() => undefined)
    try {
      return await Promise.race([underWay, late])
    } finally {
      timer.abort()
    }
  }
}
