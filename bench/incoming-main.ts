/** The webhooks that received mail goes to: each answers 200 at once and keeps when which message came. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { serveParent } from './worker.ts'

const MESSAGE_ID = /"message_id":"<([^"@]+)@/
/** By the ids of messages, in milliseconds since the epoch. */
const arrivedAt = new Map<string, number>()
const counts = { requests: 0, repeated: 0, others: 0 }
const waiting = new Set<() => void>()

const server = createServer((request, response) => {
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => {
    counts.requests += 1
    const id = MESSAGE_ID.exec(Buffer.concat(chunks).toString('latin1', 0, 4096))?.[1]
    if (id === undefined) counts.others += 1
    else if (arrivedAt.has(id)) counts.repeated += 1
    else arrivedAt.set(id, performance.timeOrigin + performance.now())
    response.end()
    for (const look of waiting) look()
  })
})
server.keepAliveTimeout = 60_000
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))

const countOf = (prefix: string): number =>
  [...arrivedAt.keys()].filter((id) => id.startsWith(prefix)).length

serveParent({
  port: () => (server.address() as AddressInfo).port,
  counts: () => counts,
  arrivals: (prefix: string) =>
    Object.fromEntries([...arrivedAt].filter(([id]) => id.startsWith(prefix))),
  clear() {
    arrivedAt.clear()
    Object.assign(counts, { requests: 0, repeated: 0, others: 0 })
  },
  /** Messages whose ids begin so. */
  waitFor(o: { readonly prefix: string; readonly count: number; readonly timeoutMs: number }) {
    return new Promise<void>((resolve, reject) => {
      const look = (): void => {
        // Counting them costs; most requests leave too few in any case.
        if (arrivedAt.size < o.count || countOf(o.prefix) < o.count) return
        waiting.delete(look)
        clearTimeout(timer)
        resolve()
      }
      const timer = setTimeout(() => {
        waiting.delete(look)
        const came = countOf(o.prefix)
        reject(new Error(`${came} of ${o.count} came; ${JSON.stringify(counts)}`))
      }, o.timeoutMs)
      waiting.add(look)
      look()
    })
  },
})
