/**
 * /healthz: the process answers. /readyz: its database and roles work. /metrics: Prometheus text.
 */
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
}

export function addStatusRoutes(app: FastifyInstance, o: StatusOptions): void {
  const options = { config: { auth: 'public' as const }, schema: { hide: true } }
  app.get('/healthz', options, () => ({ success: true, message: 'Alive', ...o.facts() }))
  app.get('/readyz', options, async () => {
    const checks = await o.readiness()
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
