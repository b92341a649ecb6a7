/** The webhook receiver: answers 200 at once and counts each MAIL_DELIVERED once. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { serveParent } from './worker.ts'

interface Event {
  readonly event: string
  readonly details: { readonly ref_id?: string; readonly email?: readonly string[] }
}

const delivered = new Set<string>()
const counts = { requests: 0, events: 0, others: 0, repeated: 0 }
const waiting = new Set<() => void>()

function take(event: Event): void {
  counts.events += 1
  if (event.event !== 'MAIL_DELIVERED') {
    counts.others += 1
    return
  }
  const key = `${event.details.ref_id} ${event.details.email?.[0]}`
  if (delivered.has(key)) counts.repeated += 1
  delivered.add(key)
}

const server = createServer((request, response) => {
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => {
    counts.requests += 1
    const body = JSON.parse(Buffer.concat(chunks).toString()) as Event | Event[]
    for (const event of Array.isArray(body) ? body : [body]) take(event)
    response.end()
    for (const look of waiting) look()
  })
})
server.keepAliveTimeout = 60_000
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))

serveParent({
  port: () => (server.address() as AddressInfo).port,
  counts: () => ({ ...counts, delivered: delivered.size }),
  clear() {
    delivered.clear()
    Object.assign(counts, { requests: 0, events: 0, others: 0, repeated: 0 })
  },
  waitFor({ count, timeoutMs }: { count: number; timeoutMs: number }) {
    return new Promise<number>((resolve, reject) => {
      const look = (): void => {
        if (delivered.size < count) return
        waiting.delete(look)
        clearTimeout(timer)
        resolve(delivered.size)
      }
      const timer = setTimeout(() => {
        waiting.delete(look)
        reject(new Error(`${delivered.size} of ${count} delivered; ${JSON.stringify(counts)}`))
      }, timeoutMs)
      waiting.add(look)
      look()
    })
  },
})
