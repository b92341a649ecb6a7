import { createWebhookReceiver, type WebhookReceiver } from '@postrider/testkit'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import {
  createWebhookDispatch,
  newEvent,
  type WebhookDispatch,
} from '../../../../test/webhook-dispatch.ts'
import { DatabaseUnavailableError } from '../../../platform/db/index.ts'
import { recordEvents } from '../../events/record-events.ts'
import { createDeliveryCommits } from '../settle/delivery-commits.ts'
import type { Dispatcher } from './worker.ts'

let world: WebhookDispatch
let receiver: WebhookReceiver
const started: Dispatcher[] = []
beforeAll(async () => {
  world = await createWebhookDispatch()
})
beforeEach(async () => {
  receiver = await createWebhookReceiver()
})
afterEach(async () => {
  for (const dispatcher of started.splice(0)) await dispatcher.stop()
  await receiver.close()
  await world.clear()
})
afterAll(() => world.close())

async function start(change: Parameters<WebhookDispatch['dispatcher']>[0] = {}) {
  const dispatcher = await world.dispatcher(change)
  started.push(dispatcher)
  await dispatcher.start()
  return dispatcher
}
/** As another process does it: nobody here is told. */
const recordElsewhere = (...events: Parameters<typeof recordEvents>[1]) =>
  world.db.transaction((tx) => recordEvents(tx, events))
const at = (path: string) => receiver.requests.filter((request) => request.path === path)
const waitForPath = (path: string) => receiver.waitFor((request) => request.path === path)

function limiter(): { readonly opened: Promise<void>; open(): void } {
  const { promise, resolve } = Promise.withResolvers<void>()
  return { opened: promise, open: () => resolve() }
}

describe('the dispatcher', () => {
  it('delivers events from before and after its start', async () => {
    await world.register(receiver.origin)
    await world.record(newEvent())
    await start()
    await receiver.waitForRequests(1)
    await world.record(newEvent())
    await receiver.waitForRequests(2)
  })

  it('finds events of another process by itself', async () => {
    await world.register(receiver.origin)
    await start()
    await recordElsewhere(newEvent())
    await receiver.waitForRequests(1)
    await recordElsewhere(newEvent())
    await receiver.waitForRequests(2)
  })

  it('tries again by itself after the wait', async () => {
    await world.register(receiver.origin)
    receiver.setScript([500, 500, 500, 200])
    await start({ policy: { retryScheduleMs: [1, 1_100, 1], retryForMs: 3_600_000 } })
    await world.record(newEvent())
    await receiver.waitForRequests(4)
    expect(new Set(receiver.requests.map((request) => request.body.toString())).size).toBe(1)
  })

  it('has one request of a webhook under way, while further events gather', async () => {
    await world.register(receiver.origin)
    const { opened, open } = limiter()
    receiver.setScript([{ status: 200, after: opened }])
    await start()
    await world.record(newEvent())
    await receiver.waitForRequests(1)
    for (let i = 0; i < 5; i += 1) await world.record(newEvent())
    await world.register(`${receiver.origin}/other`, { tenantId: 'tn_b' })
    await recordElsewhere(newEvent({ tenantId: 'tn_b' }))
    // Found by a sweep, which has found the first stream too.
    await waitForPath('/other')
    expect(at('/')).toHaveLength(1)
    open()
    await receiver.waitForRequests(3)
    expect(receiver.requests[2]?.json).toHaveLength(5)
  })

  it('spaces the requests of one webhook, and of no other', async () => {
    await world.register(receiver.origin)
    await world.register(`${receiver.origin}/other`, { tenantId: 'tn_b' })
    await start({ lingerMs: 600_000 })
    await world.record(newEvent())
    // The first goes at once.
    await receiver.waitForRequests(1)
    await world.nextLine('webhook_delivery.finished')
    await world.record(newEvent())
    await recordElsewhere(newEvent({ tenantId: 'tn_b' }))
    await waitForPath('/other')
    expect(at('/')).toHaveLength(1)
  })

  it('[invariant 8] does not delay a healthy receiver while others hang', async () => {
    const healthy = await createWebhookReceiver()
    const { opened, open } = limiter()
    receiver.setScript(() => ({ status: 200, after: opened }))
    const tenants = Array.from({ length: 12 }, (_, i) => `tn_dead_${i}`)
    for (const tenantId of tenants) await world.register(receiver.origin, { tenantId })
    await world.register(healthy.origin)
    await start({ concurrency: 64 })
    await world.record(...tenants.map((tenantId) => newEvent({ tenantId })))
    await receiver.waitForRequests(tenants.length)
    for (let i = 1; i <= 20; i += 1) {
      await world.record(newEvent())
      await healthy.waitForRequests(i)
    }
    expect(receiver.requests).toHaveLength(tenants.length)
    open()
    await healthy.close()
  })

  it('looks again after a wake-up that comes just when it found nothing', async () => {
    await world.register(receiver.origin)
    const { idlings } = createDeliveryCommits(world.db)
    let isFirst = true
    const dispatcher = await start({
      idlings: {
        ...idlings,
        async add(key) {
          const result = await idlings.add(key)
          if (result === 'idle' && isFirst) {
            isFirst = false
            await world.record(newEvent())
          }
          return result
        },
      },
    })
    await world.record(newEvent())
    await dispatcher.runOnce()
    expect(receiver.requests).toHaveLength(2)
  })

  it('serves many streams in turn with a single place', async () => {
    const tenants = Array.from({ length: 20 }, (_, i) => `tn_${i}`)
    for (const tenantId of tenants)
      await world.register(`${receiver.origin}/${tenantId}`, { tenantId })
    const dispatcher = await world.dispatcher({ concurrency: 1, batchEventsMax: 1 })
    const events = tenants.flatMap((tenantId) => [newEvent({ tenantId }), newEvent({ tenantId })])
    await world.record(...events)
    await dispatcher.runOnce()
    const paths = receiver.requests.map((request) => request.path)
    expect(new Set(paths.slice(0, 20)).size).toBe(20)
    expect(new Set(paths.slice(20)).size).toBe(20)
  })
})

describe('two dispatchers on the same streams', () => {
  it('lose no event, settle each delivery once, and never mix their batches', async () => {
    const key = await world.register(receiver.origin)
    receiver.setScript((request) => (request.request % 7 === 0 ? 500 : 200))
    const policy = { retryScheduleMs: [1], retryForMs: 3_600_000 }
    await Promise.all([1, 2].map(() => start({ policy, batchEventsMax: 5 })))
    const events = Array.from({ length: 300 }, () => newEvent())
    const writers = [0, 1, 2].map(async (writer) => {
      for (let i = writer; i < events.length; i += 3) {
        const event = events[i]
        if (event !== undefined) await world.record(event)
      }
    })
    await Promise.all(writers)
    type Sent = { details: { ref_id: string } }[]
    const delivered = () =>
      new Set(
        receiver.requests
          .filter((request) => request.answer.status === 200)
          .flatMap((request) => (request.json as Sent).map((event) => event.details.ref_id)),
      )
    await receiver.waitUntil(() => delivered().size === events.length)
    for (const dispatcher of started) await dispatcher.stop()
    await (await world.dispatcher()).runOnce()

    expect(await world.pending(key)).toEqual([])
    expect(await world.stream(key)).toMatchObject({ state: 'idle', delivery_id: null })
    const deliveries = await world.deliveries(key)
    expect(new Set(deliveries.map((delivery) => delivery.status))).toEqual(new Set(['delivered']))
    // Each event was in exactly one delivery, each delivery had one body however often it was sent.
    const members = deliveries.flatMap((delivery) => delivery.event_ids)
    expect(members).toHaveLength(events.length)
    expect(new Set(members).size).toBe(events.length)
    const bodies = new Set(receiver.requests.map((request) => request.body.toString()))
    expect(bodies.size).toBe(deliveries.length)
    const attempts = await world.attempts(key)
    expect(attempts).toHaveLength(deliveries.reduce((sum, delivery) => sum + delivery.attempts, 0))
  })
})

describe('stopping the dispatcher', () => {
  it('works before the start, twice, concurrently, and before another start', async () => {
    const dispatcher = await world.dispatcher()
    await dispatcher.stop()
    await Promise.all([dispatcher.stop(), dispatcher.stop()])
    await world.register(receiver.origin)
    await dispatcher.start()
    await dispatcher.start()
    await world.record(newEvent())
    await receiver.waitForRequests(1)
    const stopping = dispatcher.stop()
    await dispatcher.start()
    await stopping
    await world.record(newEvent())
    await receiver.waitForRequests(2)
    await dispatcher.stop()
  })

  it('lets the request under way be settled, and starts no other', async () => {
    const key = await world.register(receiver.origin)
    const { opened, open } = limiter()
    receiver.setScript([{ status: 200, after: opened }])
    const dispatcher = await start({ batchEventsMax: 1 })
    await world.record(...Array.from({ length: 10 }, () => newEvent()))
    await receiver.waitForRequests(1)
    const stopped = dispatcher.stop()
    open()
    await stopped
    expect(receiver.requests).toHaveLength(1)
    expect(await world.pending(key)).toHaveLength(9)
    expect(await world.deliveries(key)).toMatchObject([{ status: 'delivered' }])
    await dispatcher.runOnce()
    expect(receiver.requests).toHaveLength(1)
  })
})

describe('leases of buckets', () => {
  it('start nothing more once they are lost, and the new owner continues', async () => {
    const key = await world.register(receiver.origin)
    const { opened, open } = limiter()
    receiver.setScript([{ status: 200, after: opened }])
    const first = await world.dispatcher({ batchEventsMax: 1 })
    started.push(first)
    await first.start()
    await world.record(newEvent(), newEvent())
    await receiver.waitForRequests(1)
    await first.leases.stop()
    open()
    await world.record(newEvent())
    // Until it has nothing under way.
    await first.runOnce()
    expect(receiver.requests).toHaveLength(1)
    expect(await world.deliveries(key)).toMatchObject([{ status: 'delivered' }])
    await (await world.dispatcher()).runOnce()
    expect(receiver.requests).toHaveLength(2)
    expect(receiver.requests[1]?.json).toHaveLength(2)
    expect(await world.pending(key)).toEqual([])
  })

  it('are kept until every request that may start in the bucket is over', async () => {
    const keptMs: number[] = []
    const { leases } = await world.dispatcher()
    const seen: typeof leases = {
      ...leases,
      usedBy(user) {
        keptMs.push(user.giveBackMsMax)
        return leases.usedBy(user)
      },
    }
    await world.dispatcher({ leases: seen, timeoutMs: 10_000 })
    // What is quick begins for the time of two requests, and the last one may take as long as one.
    expect(keptMs).toHaveLength(1)
    expect(keptMs[0]).toBeGreaterThan(30_000)
  })

  it('trigger a look at buckets that are gained', async () => {
    await world.register(receiver.origin)
    const dispatcher = await world.dispatcher()
    started.push(dispatcher)
    await dispatcher.leases.stop()
    await dispatcher.start()
    await world.record(newEvent())
    await dispatcher.leases.start()
    await receiver.waitForRequests(1)
  })
})

describe('unexpected faults', () => {
  it('are logged, make their stream back off, and delay no other', async () => {
    await world.register(`${receiver.origin}/bad`)
    await world.register(`${receiver.origin}/good`, { tenantId: 'tn_b' })
    await world.record(newEvent(), newEvent({ tenantId: 'tn_b' }))
    const { egress } = world
    const dispatcher = await world.dispatcher({
      concurrency: 1,
      egress: {
        ...egress,
        request: (o) =>
          String(o.url).endsWith('/bad')
            ? Promise.reject(new TypeError('a bug'))
            : egress.request(o),
      },
    })
    await dispatcher.runOnce()
    expect(receiver.requests.map((request) => request.path)).toEqual(['/good'])
    const failures = () => world.lines.filter(({ msg }) => msg === 'webhook_stream.failed')
    expect(failures()).toMatchObject([{ tenant_id: 'tn_a', err: { message: 'a bug' } }])
    await dispatcher.runOnce()
    expect(failures()).toHaveLength(1)
    // Nothing is lost by it.
    await (await world.dispatcher()).runOnce()
    expect(at('/bad')).toHaveLength(1)
  })

  it('unexpected faults of the database pass by themselves, and no request is repeated', async () => {
    const key = await world.register(receiver.origin)
    const { opened, open } = limiter()
    receiver.setScript([{ status: 200, after: opened }])
    let isAway = false
    const { db } = world
    const away = () => Promise.reject(new DatabaseUnavailableError('away'))
    await start({
      db: {
        ...db,
        get stats() {
          return db.stats
        },
        query: (s, values) => (isAway ? away() : db.query(s, values)),
        transaction: (work, o) => (isAway ? away() : db.transaction(work, o)),
      },
    })
    await world.record(newEvent())
    await receiver.waitForRequests(1)
    isAway = true
    const failed = world.nextLine('webhook_sweep.failed')
    open()
    await failed
    const finished = world.nextLine('webhook_delivery.finished')
    isAway = false
    expect(await finished).toMatchObject({ outcome: 'delivered', attempt: 1 })
    await world.record(newEvent())
    await receiver.waitForRequests(2)
    expect(receiver.requests[1]?.body).not.toEqual(receiver.requests[0]?.body)
    for (const dispatcher of started) await dispatcher.stop()
    expect(await world.pending(key)).toEqual([])
  })
})

it('reads a stream once that has nothing left', async () => {
  await world.register(receiver.origin)
  let steps = 0
  const { db } = world
  const { take, settleAndTake } = createDeliveryCommits(db)
  const dispatcher = await world.dispatcher({
    take(one) {
      steps += 1
      return take(one)
    },
    settleAndTake(settlement, one) {
      steps += 1
      return settleAndTake(settlement, one)
    },
  })
  await world.record(newEvent())
  await dispatcher.runOnce()
  expect(steps).toBe(2)
  // A wake-up for what is delivered already, as after a commit that was seen before its wake-up.
  await dispatcher.start()
  const { rows } = await db.query<{ tenant_id: string; webhook_id: string; bucket: number }>(
    'select tenant_id, webhook_id, bucket from webhooks_stream',
  )
  const touched = rows.map((row) => ({
    tenantId: row.tenant_id,
    webhookId: row.webhook_id,
    bucket: row.bucket,
  }))
  world.wakeups.wake(touched)
  await dispatcher.runOnce()
  expect(steps).toBe(3)
  await dispatcher.stop()
})
