/**
 * The webhook receivers of all tenants: each answers at once. Under `/count/` events are counted,
 * under `/time/<group>/` the time from `event_at` until they came is kept as well; a group can be
 * told to hang, which is to take requests and never to answer.
 */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { serveParent } from './worker.ts'

export interface HookCounts {
  readonly requests: number
  readonly events: number
  /** Milliseconds between the first and the last request. */
  readonly elapsedMs: number
}

/** When an event happened, in milliseconds since the epoch, and how long it took to come. */
export type Latency = readonly [eventAtMs: number, latencyMs: number]

/** Once in every event, and nowhere else. */
const MARK = Buffer.from('"webhook_id":"')
const EVENT_AT = /"event_at":"([^"]+)\.(\d{6})Z"/g

const counts = { requests: 0, events: 0, firstAtMs: 0, lastAtMs: 0 }
const latencies = new Map<string, Latency[]>()
const hanging = new Set<string>()
const waiting = new Set<() => void>()

function countEvents(body: Buffer): number {
  let found = 0
  for (let at = body.indexOf(MARK); at >= 0; at = body.indexOf(MARK, at + MARK.length)) found += 1
  return found
}

/** As the service reads the clock: finer than milliseconds, and never far from the wall's. */
function nowMs(): number {
  const fine = performance.timeOrigin + performance.now()
  const wall = Date.now()
  return Math.abs(fine - wall) > 2 ? wall : fine
}

function time(group: string, body: Buffer): void {
  const now = nowMs()
  const kept = latencies.get(group) ?? []
  latencies.set(group, kept)
  for (const [, seconds, micros] of body.toString('latin1').matchAll(EVENT_AT)) {
    const at = Date.parse(`${seconds}Z`) + Number(micros) / 1000
    kept.push([at, now - at])
  }
}

const server = createServer((request, response) => {
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => {
    const [, kind, group = ''] = request.url?.split('/') ?? []
    const body = Buffer.concat(chunks)
    if (kind === 'time' && hanging.has(group)) return
    const now = performance.now()
    if (counts.requests === 0) counts.firstAtMs = now
    counts.lastAtMs = now
    counts.requests += 1
    counts.events += countEvents(body)
    if (kind === 'time') time(group, body)
    response.end()
    for (const look of waiting) look()
  })
})
server.keepAliveTimeout = 60_000
server.listen(0, '127.0.0.1', 1024)
await new Promise<void>((resolve) => server.once('listening', () => resolve()))

function read(): HookCounts {
  const { requests, events, firstAtMs, lastAtMs } = counts
  return { requests, events, elapsedMs: lastAtMs - firstAtMs }
}

serveParent({
  port: () => (server.address() as AddressInfo).port,
  counts: read,
  clear() {
    Object.assign(counts, { requests: 0, events: 0, firstAtMs: 0, lastAtMs: 0 })
    latencies.clear()
  },
  hang: (group: string) => hanging.add(group),
  latencies: (group: string) => latencies.get(group) ?? [],
  /** Resolves once so many events have come. */
  waitFor({ events, timeoutMs }: { events: number; timeoutMs: number }) {
    return new Promise<HookCounts>((resolve, reject) => {
      const look = (): void => {
        if (counts.events < events) return
        waiting.delete(look)
        clearTimeout(timer)
        resolve(read())
      }
      const timer = setTimeout(() => {
        waiting.delete(look)
        reject(new Error(`${counts.events} of ${events} events came in ${timeoutMs} ms`))
      }, timeoutMs)
      waiting.add(look)
      look()
    })
  },
})
