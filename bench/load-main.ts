/** The callers: so many requests in flight at once, each on a connection of its own. */
import { Pool } from 'undici'
import { serveParent } from './worker.ts'

export interface LoadOrder {
  readonly origin: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  /** Each request has the next. */
  readonly bodies: readonly string[]
  readonly callers: number
  /** Whichever comes first. */
  readonly count?: number
  readonly durationMs?: number
}

export interface LoadResult {
  readonly completed: number
  readonly elapsedMs: number
  readonly statuses: Readonly<Record<string, number>>
  readonly p50Ms: number
  readonly p99Ms: number
}

async function post(order: LoadOrder): Promise<LoadResult> {
  const pool = new Pool(order.origin, { connections: order.callers, pipelining: 1 })
  const statuses: Record<string, number> = {}
  const latenciesMs: number[] = []
  const startedAt = performance.now()
  const endsAt = startedAt + (order.durationMs ?? Number.POSITIVE_INFINITY)
  let left = order.count ?? Number.POSITIVE_INFINITY
  const call = async (): Promise<void> => {
    while (left > 0 && performance.now() < endsAt) {
      left -= 1
      const sentAt = performance.now()
      const { statusCode, body } = await pool.request({
        path: order.path,
        method: 'POST',
        headers: order.headers,
        body: order.bodies[left % order.bodies.length] ?? '',
      })
      await body.dump()
      statuses[statusCode] = (statuses[statusCode] ?? 0) + 1
      latenciesMs.push(performance.now() - sentAt)
    }
  }
  await Promise.all(Array.from({ length: order.callers }, call))
  const elapsedMs = performance.now() - startedAt
  await pool.close()
  latenciesMs.sort((a, b) => a - b)
  const at = (share: number) => latenciesMs[Math.floor(latenciesMs.length * share)] ?? 0
  return {
    completed: latenciesMs.length,
    elapsedMs,
    statuses,
    p50Ms: at(0.5),
    p99Ms: at(0.99),
  }
}

serveParent({ post })
