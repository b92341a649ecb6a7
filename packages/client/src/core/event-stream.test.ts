import { expect, it } from 'vitest'
import { refusal, type Step, startScriptedServer } from '../../test/scripted-server.ts'
import { Postrider } from '../postrider.ts'
import type { StreamedEvent } from './event-stream.ts'

const event = (n: number) =>
  `id: evt_${n}\nevent: MAIL_DELIVERED\ndata: {"event_id":"evt_${n}","event":"MAIL_DELIVERED","details":{}}\n\n`

/** Sends the parts one by one, and ends or breaks off. */
const stream =
  (parts: readonly string[], end: 'end' | 'break' = 'end'): Step =>
  (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const send = (at: number) => {
      const part = parts[at]
      if (part !== undefined) response.write(part, () => setImmediate(send, at + 1))
      else if (end === 'end') response.end()
      else response.destroy()
    }
    send(0)
  }

async function take(from: AsyncIterable<StreamedEvent>, count: number) {
  const items: StreamedEvent[] = []
  for await (const item of from) {
    items.push(item)
    if (items.length === count) break
  }
  return items.map((item) => ('event_id' in item ? item.event_id : item))
}

it('reads events whatever the pieces in which they come, and skips comments', async () => {
  const text = `: open\nretry: 2000\n\n${event(1)}: nothing new\n\n${event(2)}`
  const server = await startScriptedServer(stream([...text]))
  const client = new Postrider({ apiKey: 'k', basePath: server.url })
  expect(await take(client.streamEvents({ event: 'MAIL_DELIVERED' }), 2)).toEqual([
    'evt_1',
    'evt_2',
  ])
  expect(server.requests[0]?.path).toBe('/v1/events/stream?event=MAIL_DELIVERED')
  expect(server.requests[0]?.headers['last-event-id']).toBeUndefined()
})

it('comes back behind its last event after an end, a break and a refusal that passes', async () => {
  const server = await startScriptedServer(
    stream([event(1)]),
    stream([event(2), 'id: evt_3\nevent: MAIL'], 'break'),
    refusal(503, 'unavailable'),
    stream([event(3)]),
  )
  const client = new Postrider({ apiKey: 'k', basePath: server.url, maxRetries: 0 })
  expect(await take(client.streamEvents({}, { lastEventId: 'evt_0' }), 3)).toEqual([
    'evt_1',
    'evt_2',
    'evt_3',
  ])
  expect(server.requests.map(({ headers }) => headers['last-event-id'])).toEqual([
    'evt_0',
    'evt_1',
    'evt_2',
    'evt_2',
  ])
})

it('tells a gap, and comes back behind the last event before or after it', async () => {
  const gap = 'event: gap\ndata: {"reason":"slow_reader","count":7}\n\n'
  const server = await startScriptedServer(stream([event(1), gap]), stream([event(2)]))
  const client = new Postrider({ apiKey: 'k', basePath: server.url })
  expect(await take(client.streamEvents(), 3)).toEqual([
    'evt_1',
    { event: 'gap', reason: 'slow_reader', count: 7 },
    'evt_2',
  ])
  expect(server.requests[1]?.headers['last-event-id']).toBe('evt_1')
})

it('ends with a refusal that does not pass, and with its signal', async () => {
  const server = await startScriptedServer(
    stream([event(1)]),
    refusal(401, 'unauthorized'),
    stream([]),
  )
  const client = new Postrider({ apiKey: 'k', basePath: server.url })
  await expect(take(client.streamEvents(), 2)).rejects.toMatchObject({ code: 'unauthorized' })
  const signal = AbortSignal.timeout(20)
  await expect(take(client.streamEvents({}, { signal }), 1)).rejects.toMatchObject({
    code: 'aborted',
  })
})
