/** A stream whose requests need not be spaced: it takes what follows where it settles what was accepted. */
import { createWebhookReceiver, type WebhookReceiver } from '@postrider/testkit'
import { describe, expect, it } from 'vitest'
import { queueBacklog } from '../../../test/webhook-backlog.ts'
import {
  type DispatcherChange,
  newEvent,
  useWebhookDispatch,
  type WebhookDispatch,
} from '../../../test/webhook-dispatch.ts'
import { DatabaseUnavailableError } from '../../platform/db/index.ts'
import { createLastRequests } from './request/last-requests.ts'
import { createDeliveryCommits } from './settle/delivery-commits.ts'
import type { StreamKey } from './stream-store.ts'
import type { Take, Taken } from './take/take-deliveries.ts'

let world: WebhookDispatch
let receiver: WebhookReceiver
let key: StreamKey
useWebhookDispatch(async (...made) => {
  ;[world, receiver] = made
  key = await world.register(receiver.origin)
})

type Sent = { details: { ref_id: string } }[]
const refs = () => receiver.requests.map((request) => (request.json as Sent)[0]?.details.ref_id)

/** A dispatcher that sends events singly, and what it took in which way. */
async function watched(change: DispatcherChange = {}) {
  const { take, settle, settleAndTake } = createDeliveryCommits(world.db)
  const seen = { takes: [] as Take[], folded: 0, settled: 0 }
  const dispatcher = await world.dispatcher({
    batchEventsMax: 1,
    take(one) {
      seen.takes.push(one)
      return take(one)
    },
    settle(settlement) {
      seen.settled += 1
      return settle(settlement)
    },
    settleAndTake(settlement, one) {
      seen.takes.push(one)
      seen.folded += 1
      return settleAndTake(settlement, one)
    },
    ...change,
  })
  return { dispatcher, seen }
}

async function recordMany(count: number): Promise<string[]> {
  const events = Array.from({ length: count }, () => newEvent())
  await world.record(...events)
  return events.map((event) => event.refId)
}

describe('a stream that may continue at once', () => {
  it('sends everything in order, and reads the queue once for many requests', async () => {
    const expected = await recordMany(40)
    const { dispatcher, seen } = await watched()
    await dispatcher.runOnce()
    expect(refs()).toEqual(expected)
    expect(seen.folded).toBeGreaterThan(20)
    expect(seen.folded + seen.settled).toBe(40)
    // What was read with the first, the 33rd, and the end of the queue.
    expect(seen.takes.filter((take) => take.ahead === undefined).length).toBeLessThan(10)
    expect(await world.pending(key)).toEqual([])
    const deliveries = await world.deliveries(key)
    expect(deliveries).toHaveLength(40)
    expect(deliveries.every((one) => one.status === 'delivered' && one.attempts === 1)).toBe(true)
  })

  it('keeps the order of new events and of prefetched ones', async () => {
    const expected = await recordMany(10)
    const recordMore = async () => expected.push(...(await recordMany(5)))
    receiver.setScript(({ request }) => ({
      status: request === 6 ? 500 : 200,
      ...(request === 3 ? { after: recordMore() } : {}),
    }))
    const policy = { retryScheduleMs: [1], retryForMs: 3_600_000 }
    const { dispatcher } = await watched({ policy })
    while ((await world.pending(key)).length > 0) await dispatcher.runOnce()
    expect(refs().filter((ref, i, all) => ref !== all[i - 1])).toEqual(expected)
    expect(refs()).toHaveLength(16)
  })

  it('takes turns when others wait for a place or when requests are spaced', async () => {
    await world.register(receiver.origin, { tenantId: 'tn_b' })
    const both = () => [newEvent(), newEvent({ tenantId: 'tn_b' })]
    await world.record(...both(), ...both(), ...both())
    const narrow = await watched({ concurrency: 1 })
    await narrow.dispatcher.runOnce()
    expect(receiver.requests).toHaveLength(6)
    const tenants = receiver.requests.map(({ json }) =>
      JSON.stringify(json).includes(key.webhookId),
    )
    expect(tenants.slice(0, 4)).toEqual([tenants[0], !tenants[0], tenants[0], !tenants[0]])

    await recordMany(3)
    const spaced = await watched({ lingerMs: 1 })
    await spaced.dispatcher.runOnce()
    expect(receiver.requests).toHaveLength(9)
    expect(spaced.seen.folded).toBe(0)
  })

  it('ends its step after a late answer, and releases the memory of its bodies', async () => {
    await recordMany(8)
    const { take } = createDeliveryCommits(world.db)
    const bodies: string[][] = []
    const taken: Taken[] = []
    const { dispatcher, seen } = await watched({
      async take(one) {
        const result = await take(one)
        taken.push(result)
        return result
      },
    })
    receiver.setScript(({ request }) => {
      bodies.push(
        taken.flatMap((one) => (one.kind === 'ready' ? one.events.map((e) => e.body) : [])),
      )
      return request === 6 ? { status: 200, delayMs: 400 } : 200
    })
    await dispatcher.runOnce()
    expect(receiver.requests).toHaveLength(8)
    expect(seen.folded).toBeGreaterThan(0)
    expect(new Set(bodies.flat())).toEqual(new Set(['']))
    // After three quick ones it is quick; with the late one it is not any more.
    expect(seen.settled).toBeGreaterThanOrEqual(5)
  })

  it('uses a new URL with its next request', async () => {
    const other = await createWebhookReceiver()
    await recordMany(6)
    const move = () => world.db.query('update webhooks_subscription set url = $1', [other.origin])
    receiver.setScript(({ request }) => (request === 3 ? { status: 200, after: move() } : 200))
    const { dispatcher } = await watched()
    await dispatcher.runOnce()
    expect([receiver.requests.length, other.requests.length]).toEqual([3, 3])
    await other.close()
  })
})

describe('a failed transaction that settles and takes at once', () => {
  it.each([
    ['the commit surely failed', false],
    ['the commit may have happened', true],
  ])('loses and repeats no event: %s', async (_what, isCommitUnknown) => {
    const expected = await recordMany(8)
    const { settleAndTake } = createDeliveryCommits(world.db)
    let failures = 0
    const { dispatcher, seen } = await watched({
      async settleAndTake(settlement, take) {
        if (failures > 0) return settleAndTake(settlement, take)
        failures += 1
        if (isCommitUnknown) await settleAndTake(settlement, take)
        throw new DatabaseUnavailableError('lost', { isCommitUnknown })
      },
    })
    await dispatcher.runOnce()
    expect(failures).toBe(1)
    expect(seen.settled).toBeGreaterThan(0)
    expect(refs()).toEqual(expected)
    expect(world.lines.filter((line) => line.outcome === 'superseded')).toEqual([])
    expect(await world.deliveries(key)).toHaveLength(8)
  })

  it('sends nothing of a take whose settlement came too late', async () => {
    const expected = await recordMany(8)
    const { settleAndTake } = createDeliveryCommits(world.db)
    let isFirst = true
    const { dispatcher } = await watched({
      async settleAndTake(settlement, take) {
        if (!isFirst) return settleAndTake(settlement, take)
        isFirst = false
        // Another dispatcher has settled it, and has the next one under way.
        const { taken } = await settleAndTake(settlement, take)
        return { settled: false, taken }
      },
    })
    await dispatcher.runOnce()
    expect(isFirst).toBe(false)
    expect(refs()).toEqual(expected)
    expect(world.lines.filter((line) => line.outcome === 'superseded')).toHaveLength(1)
  })

  it('keeps the order when a take of a prefetched event fails', async () => {
    const expected = await recordMany(6)
    const { take } = createDeliveryCommits(world.db)
    let failures = 0
    const { dispatcher } = await watched({
      take(one) {
        if (one.ahead === undefined || failures > 0) return take(one)
        failures += 1
        throw new DatabaseUnavailableError('away')
      },
    })
    await dispatcher.runOnce()
    expect(failures).toBe(1)
    await new Promise((resolve) => setTimeout(resolve, 1_100))
    await dispatcher.runOnce()
    expect(refs()).toEqual(expected)
  })

  it('leaves out a prefetched event that left the queue meanwhile', async () => {
    const expected = await recordMany(6)
    const remove = () =>
      world.db.query(
        `delete from webhooks_pending where event_id = (
           select event_id from webhooks_event where ref_id = $1)`,
        [expected[3]],
      )
    receiver.setScript(({ request }) => (request === 2 ? { status: 200, after: remove() } : 200))
    const { dispatcher } = await watched()
    await dispatcher.runOnce()
    expect(refs()).toEqual(expected.filter((_, i) => i !== 3))
    expect(world.lines.filter((line) => line.msg === 'webhook_stream.failed')).toEqual([])
  })
})

describe('a replay beside a trickle of live events', () => {
  it.each([
    ['events older than the last replay', 5, 0, 1],
    ['events newer than the last replay', 0, 5, 1],
    ['older events, when no live event comes any more', 5, 0, 0],
  ])('is not delayed: %s', async (_what, first, second, live) => {
    const lastRequests = createLastRequests(() => 0)
    const { dispatcher } = await watched({ lastRequests, batchEventsMax: 500 })
    const replay = (from: number) => queueBacklog(world.db, key, { count: 3, from, lane: 1 })
    await replay(first)
    await world.db.query(`update webhooks_stream set state = 'active'`)
    await dispatcher.runOnce()
    expect(await world.pending(key)).toEqual([])
    await replay(second)
    if (live > 0) await recordMany(live)
    await dispatcher.runOnce()
    expect(await world.pending(key)).toEqual([])
  })
})

it('keeps a stream active after a request until a read finds nothing more', async () => {
  let nowMs = 0
  const lastRequests = createLastRequests(() => nowMs)
  const { dispatcher } = await watched({ lastRequests })
  await recordMany(2)
  await dispatcher.runOnce()
  expect(receiver.requests).toHaveLength(2)
  expect(await world.stream(key)).toMatchObject({ state: 'active', delivery_id: null })
  await recordMany(1)
  await dispatcher.runOnce()
  expect(receiver.requests).toHaveLength(3)
  nowMs = 1_000
  await dispatcher.runOnce()
  expect(await world.stream(key)).toMatchObject({ state: 'idle' })
})
