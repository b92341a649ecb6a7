/**
 * Bounds the memory of large bodies: on a route that takes more than the ordinary limit, those
 * beyond it share a budget, and who does not fit in is asked to come back (503).
 *
 * A body is held about three times while it is read and parsed, so the budget is a fraction of
 * what the process may use. One tenant gets half of it at most: uploads that drip keep nobody else
 * from sending. Ordinary bodies are small enough to need none.
 */
import type { FastifyInstance, onRequestHookHandler } from 'fastify'
import { ApiError } from '../errors.ts'

const BUDGET_BYTES = 256 * 1024 * 1024

/** Call after the guards: who is not let in reserves nothing. */
export function boundLargeBodies(
  app: FastifyInstance,
  o: { readonly ordinaryBytes: number; readonly budgetBytes?: number },
): void {
  const budgetBytes = o.budgetBytes ?? BUDGET_BYTES
  const heldBytes = new Map<string, number>()
  let heldInAll = 0

  /** Of `tenantId`; given back with a negative number. */
  function hold(tenantId: string, bytes: number): void {
    heldInAll += bytes
    const held = (heldBytes.get(tenantId) ?? 0) + bytes
    if (held === 0) heldBytes.delete(tenantId)
    else heldBytes.set(tenantId, held)
  }

  function reserve(limit: number): onRequestHookHandler {
    return (request, reply, done) => {
      const declared = request.headers['content-length']
      const bytes = declared === undefined ? limit : Math.min(Number(declared), limit)
      if (bytes <= o.ordinaryBytes) return done()
      const tenantId = request.identity?.tenantId ?? ''
      const held = heldBytes.get(tenantId) ?? 0
      if (heldInAll + bytes > budgetBytes || held + bytes > budgetBytes / 2)
        return done(new ApiError('unavailable', { retryAfterS: 1 }))
      hold(tenantId, bytes)
      reply.raw.once('close', () => hold(tenantId, -bytes))
      done()
    }
  }

  app.addHook('onRoute', (route) => {
    const limit = route.bodyLimit
    if (limit === undefined || limit <= o.ordinaryBytes) return
    route.onRequest = [...[route.onRequest ?? []].flat(), reserve(limit)]
  })
}
