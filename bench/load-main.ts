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
  /** By status. */
  readonly slowestMs: Readonly<Record<string, number>>
  readonly p50Ms: number
  readonly p99Ms: number
}

/** The paths in turn, over and over. */
export interface GetOrder extends Omit<LoadOrder, 'path' | 'bodies'> {
  readonly paths: readonly string[]
}

function post({ path, bodies, ...order }: LoadOrder): Promise<LoadResult> {
  let next = 0
  return load(order, () => ({ path, method: 'POST', body: bodies[next++ % bodies.length] ?? '' }))
}

function get({ paths, ...order }: GetOrder): Promise<LoadResult> {
  let next = 0
  return load(order, () => ({ path: paths[next++ % paths.length] ?? '/', method: 'GET' }))
}

async function load(
  order: Omit<LoadOrder, 'path' | 'bodies'>,
  requestOf: () => { path: string; method: 'GET' | 'POST'; body?: string },
): Promise<LoadResult> {
  const pool = new Pool(order.origin, { connections: order.callers, pipelining: 1 })
  const statuses: Record<string, number> = {}
  const slowestMs: Record<string, number> = {}
  const latenciesMs: number[] = []
  const startedAt = performance.now()
  const endsAt = startedAt + (order.durationMs ?? Number.POSITIVE_INFINITY)
  let left = order.count ?? Number.POSITIVE_INFINITY
  const call = async (): Promise<void> => {
    while (left > 0 && performance.now() < endsAt) {
      left -= 1
      const sentAt = performance.now()
      const { statusCode, body } = await pool.request({ ...requestOf(), headers: order.headers })
      await body.dump()
      const tookMs = performance.now() - sentAt
      statuses[statusCode] = (statuses[statusCode] ?? 0) + 1
      slowestMs[statusCode] = Math.max(slowestMs[statusCode] ?? 0, tookMs)
      latenciesMs.push(tookMs)
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
    slowestMs,
    p50Ms: at(0.5),
    p99Ms: at(0.99),
  }
}

serveParent({ post, get })
