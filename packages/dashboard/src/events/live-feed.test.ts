import type { ListedEvent } from '@postrider/client'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { type FeedState, followEvents } from './live-feed.ts'

const event = (n: number) =>
  ({ event_id: `evt_${n}`, event: 'MAIL_DELIVERED', details: {} }) as unknown as ListedEvent
const block = (n: number) => `id: evt_${n}\ndata: ${JSON.stringify(event(n))}\n\n`

/** Some time of the clock of the test later. */
const later = (isSo: () => boolean) =>
  vi.waitUntil(
    () => {
      vi.advanceTimersByTime(400)
      return isSo()
    },
    { timeout: 120_000, interval: 5 },
  )

/** One answer of the stream that is open: the test writes into it, and breaks it off. */
interface OpenStream {
  readonly lastEventId: string | null
  write(text: string): void
  breakOff(): void
}

/** What the service does: it lists these, newest first, and answers the stream unless it is away. */
let listed: readonly ListedEvent[]
let isAway: boolean
let streams: OpenStream[]
let lists: number
let ends: (() => void)[]

beforeEach(() => {
  listed = [event(2), event(1)]
  isAway = false
  streams = []
  lists = 0
  ends = []
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] })
  vi.stubGlobal('location', { origin: 'https://mail.example.com' })
  vi.stubGlobal('fetch', answer)
})
afterEach(() => {
  for (const end of ends) end()
  vi.unstubAllGlobals()
  vi.useRealTimers()
})

async function answer(input: RequestInfo | URL, init: RequestInit = {}): Promise<Response> {
  const { pathname } = new URL(String(input instanceof Request ? input.url : input))
  if (!pathname.endsWith('/stream')) {
    lists += 1
    return Response.json({ success: true, message: 'Events', events: listed })
  }
  if (isAway) throw new TypeError('nothing listens there')
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      const encoder = new TextEncoder()
      init.signal?.addEventListener('abort', () => controller.error(init.signal?.reason))
      streams.push({
        lastEventId: new Headers(init.headers).get('last-event-id'),
        write: (text) => controller.enqueue(encoder.encode(text)),
        breakOff: () => controller.error(new TypeError('the connection is gone')),
      })
    },
  })
  return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
}

/** A tab: what it has been told, in order. */
function openTab(tenantId: string) {
  const ids: string[] = []
  const states: FeedState[] = []
  const gaps: (number | null)[] = []
  const end = followEvents(tenantId, {
    onEvents: (events) => ids.push(...events.map(({ event_id }) => event_id)),
    onGap: (count) => gaps.push(count),
    onState: (state) => states.push(state),
  })
  ends.push(end)
  return { ids, states, gaps, end }
}

it('streams on behind the newest event of the list, and tells each once, oldest first', async () => {
  const tab = openTab('tn_begin')
  await vi.waitUntil(() => streams.length === 1)
  expect(streams[0]?.lastEventId).toBe('evt_2')
  streams[0]?.write(block(3) + block(4))
  await vi.waitUntil(() => tab.ids.length === 4)
  expect(tab.ids).toEqual(['evt_1', 'evt_2', 'evt_3', 'evt_4'])
  expect(tab.states.at(-1)).toBe('live')
})

it('opens one stream for all tabs; the next tab goes on behind what it has heard', async () => {
  const first = openTab('tn_tabs')
  await vi.waitUntil(() => streams.length === 1)
  const second = openTab('tn_tabs')
  await vi.waitUntil(() => second.states.includes('live'))
  streams[0]?.write(block(3))
  await vi.waitUntil(() => second.ids.includes('evt_3'))
  expect([streams.length, lists]).toEqual([1, 1])
  first.end()
  await vi.waitUntil(() => streams.length === 2)
  expect(streams[1]?.lastEventId).toBe('evt_3')
  streams[1]?.write(block(4))
  await vi.waitUntil(() => second.ids.includes('evt_4'))
  expect(second.ids).toEqual(['evt_3', 'evt_4'])
  expect(first.ids).not.toContain('evt_4')
})

it('tells a gap to every tab', async () => {
  const tabs = [openTab('tn_gap'), openTab('tn_gap')]
  await vi.waitUntil(() => streams.length === 1)
  streams[0]?.write('event: gap\ndata: {"reason":"slow_reader","count":7}\n\n')
  await vi.waitUntil(() => tabs.every(({ gaps }) => gaps.length === 1))
  expect(tabs.map(({ gaps }) => gaps)).toEqual([[7], [7]])
})

it('asks for the list after three failures in a row, until the stream is back', async () => {
  const tab = openTab('tn_away')
  await vi.waitUntil(() => streams.length === 1)
  isAway = true
  streams[0]?.breakOff()
  await later(() => tab.states.includes('polling'))
  expect(tab.states.filter((state) => state === 'reconnecting')).toHaveLength(2)
  listed = [event(3)]
  await later(() => tab.ids.includes('evt_3'))
  isAway = false
  await later(() => streams.length === 2)
  expect(streams[1]?.lastEventId).not.toBeNull()
  await later(() => tab.states.at(-1) === 'live')
  const asked = lists
  await vi.advanceTimersByTimeAsync(60_000)
  expect(lists).toBe(asked)
})
