/**
 * The callers of an open loop: requests start when they are due, whether those before them have been
 * answered or not, so that a service which falls behind is not spared.
 */
import { Pool } from 'undici'
import { serveParent } from './worker.ts'

export interface SteadyOrder {
  readonly origin: string
  readonly path: string
  /** Taken in turn. */
  readonly requests: readonly {
    readonly headers: Readonly<Record<string, string>>
    readonly body: string
  }[]
  readonly perSecond: number
  readonly durationMs: number
}

export interface SteadyResult {
  readonly sent: number
  /** By how much the latest request started too late. */
  readonly lateMs: number
}

const TICK_MS = 5
const CONNECTIONS = 64

async function send(o: SteadyOrder): Promise<SteadyResult> {
  const pool = new Pool(o.origin, { connections: CONNECTIONS, pipelining: 1 })
  const underWay = new Set<Promise<void>>()
  const wrong: Record<string, number> = {}
  const total = Math.round((o.durationMs / 1000) * o.perSecond)
  const startedAt = performance.now()
  let sent = 0
  let lateMs = 0

  const post = async (i: number): Promise<void> => {
    const request = o.requests[i % o.requests.length]
    if (request === undefined) return
    const { statusCode, body } = await pool.request({ path: o.path, method: 'POST', ...request })
    await body.dump()
    if (statusCode !== 202) wrong[statusCode] = (wrong[statusCode] ?? 0) + 1
  }
  while (sent < total) {
    const elapsedMs = performance.now() - startedAt
    for (; sent < total && (sent / o.perSecond) * 1000 <= elapsedMs; sent += 1) {
      lateMs = Math.max(lateMs, elapsedMs - (sent / o.perSecond) * 1000)
      const one: Promise<void> = post(sent).finally(() => underWay.delete(one))
      underWay.add(one)
    }
    await new Promise((resolve) => setTimeout(resolve, TICK_MS))
  }
  await Promise.all(underWay)
  await pool.close()
  if (Object.keys(wrong).length > 0) throw new Error(`answers: ${JSON.stringify(wrong)}`)
  return { sent, lateMs }
}

serveParent({ send })
