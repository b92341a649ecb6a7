import { createWebhookReceiver, type WebhookReceiver } from '@postrider/testkit'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { emptyTables } from '../../../../test/empty-tables.ts'
import { backlogId, queueBacklog } from '../../../../test/webhook-backlog.ts'
import {
  createWebhookDispatch,
  newEvent,
  type WebhookDispatch,
} from '../../../../test/webhook-dispatch.ts'
import { recordEvents } from '../../events/record-events.ts'
import { updateWebhook } from '../../subscriptions/update-webhook.ts'
import { createDeliveryCommits } from '../settle/delivery-commits.ts'
import { type Settlement, settleDeliveries } from '../settle/settle-deliveries.ts'
import type { StreamKey } from '../stream-store.ts'
import type { OpenDelivery } from './delivery.ts'
import { type ReadyDelivery, type Take, type Taken, takeDeliveries } from './take-deliveries.ts'

const DAY_MS = 86_400_000
const limits = { batchEventsMax: 500, batchBytesMax: 1_000_000, policy: { retryForMs: 3 * DAY_MS } }
let world: WebhookDispatch
let receiver: WebhookReceiver
let key: StreamKey
let commits: ReturnType<typeof createDeliveryCommits>
beforeAll(async () => {
  world = await createWebhookDispatch()
  receiver = await createWebhookReceiver()
  commits = createDeliveryCommits(world.db)
})
beforeEach(async () => {
  key = await world.register(receiver.origin)
})
afterEach(() => world.clear())
afterAll(async () => {
  await world.close()
  await receiver.close()
})

const takeOf = (of: StreamKey, change: Partial<Take> = {}): Take => ({
  ...of,
  low: ['', ''],
  limits,
  random: 0,
  canKeepAhead: true,
  ...change,
})
const take = (change: Partial<Take> = {}): Promise<Taken> => commits.take(takeOf(key, change))
async function ready(change: Partial<Take> = {}): Promise<ReadyDelivery> {
  const taken = await take(change)
  if (taken.kind !== 'ready') throw new Error(taken.kind)
  return taken
}
const setStream = (columns: string) => world.db.query(`update webhooks_stream set ${columns}`)
const rowsIn = async (table: string) =>
  (await world.db.query<Record<string, unknown>>(`select * from ${table}`)).rows
const settlementOf = (delivery: ReadyDelivery['delivery']): Settlement => ({
  ...delivery,
  failCount: 0,
  epoch: 0,
  attempt: '{"at":"2026-01-02T03:04:05Z"}',
  step: { kind: 'delivered', endsProbe: true },
  halves: [],
})

describe('taking a new batch', () => {
  it('returns the target of the request and its events', async () => {
    const events = [newEvent(), newEvent()]
    await world.record(...events)
    const taken = await ready()
    expect(taken.target).toMatchObject({ url: receiver.origin, isActive: true })
    expect(taken.events.map((event) => event.traceparent)).toEqual(
      events.map((event) => event.traceparent),
    )
    expect(taken.delivery).toMatchObject({
      ...key,
      attempts: 0,
      ageMs: 0,
      eventIds: taken.events.map((event) => event.eventId),
    })
  })

  it('moves its events, and no others, from the queue into the open delivery', async () => {
    await world.record(newEvent(), newEvent(), newEvent())
    const { delivery } = await ready({ limits: { ...limits, batchEventsMax: 2 } })
    expect(await rowsIn('webhooks_pending')).toHaveLength(1)
    expect(await rowsIn('webhooks_open')).toMatchObject([
      {
        delivery_id: delivery.deliveryId,
        webhook_id: key.webhookId,
        event_ids: delivery.eventIds,
        traceparent: delivery.traceparent,
        status: 'pending',
        attempts: 0,
        due_at: null,
      },
    ])
    expect(await world.stream(key)).toMatchObject({ delivery_id: delivery.deliveryId })
  })

  it('changes nothing when its transaction does not commit', async () => {
    await world.record(newEvent(), newEvent())
    const before = [await rowsIn('webhooks_pending'), await world.stream(key)]
    const interrupted = world.db.transaction(async (tx) => {
      const [taken] = await takeDeliveries(tx, [takeOf(key)])
      expect(taken?.kind).toBe('ready')
      throw new Error('killed')
    })
    await expect(interrupted).rejects.toThrow('killed')
    expect([await rowsIn('webhooks_pending'), await world.stream(key)]).toEqual(before)
    expect(await rowsIn('webhooks_open')).toEqual([])
  })

  it('serves a group of streams at once, each by its own tenant', async () => {
    const keys = [key]
    for (const tenantId of ['tn_b', 'tn_c', 'tn_d'])
      keys.push(await world.register(`${receiver.origin}/${tenantId}`, { tenantId }))
    await world.record(...keys.map(({ tenantId }) => newEvent({ tenantId })))
    await world.record(...keys.map(({ tenantId }) => newEvent({ tenantId })))
    const taken = await world.db.transaction((tx) =>
      takeDeliveries(
        tx,
        keys.map((of) => takeOf(of)),
      ),
    )
    taken.forEach((one, i) => {
      if (one.kind !== 'ready') throw new Error(one.kind)
      expect(one.delivery).toMatchObject({ ...keys[i], eventIds: expect.any(Array) })
      expect(one.events).toHaveLength(2)
      expect(one.target.url.endsWith(keys[i]?.tenantId ?? '') || i === 0).toBe(true)
    })
    expect(await rowsIn('webhooks_pending')).toEqual([])
    expect(await rowsIn('webhooks_open')).toHaveLength(4)
  })

  describe('after a change of the filter', () => {
    const filter = (events: object) =>
      updateWebhook(world.deps, key.tenantId, { event: 'EMAIL_EVENT', webhook_options: { events } })
    const named = (event: 'MAIL_OPENED' | 'MAIL_CLICKED' | 'MAILER_DEACTIVATED') =>
      newEvent({ event })
    const namesOf = ({ events }: ReadyDelivery) =>
      events.map(({ body }) => (JSON.parse(body) as { event: string }).event)

    it('keeps events that pass the new filter, and drops the others from the queue', async () => {
      await world.record(named('MAIL_OPENED'), named('MAIL_CLICKED'), named('MAIL_OPENED'))
      await filter({ click: true })
      const taken = await ready()
      expect(namesOf(taken)).toEqual(['MAIL_CLICKED'])
      expect(taken.delivery.eventIds).toHaveLength(1)
      expect(await rowsIn('webhooks_pending')).toEqual([])
      expect(await rowsIn('webhooks_event')).toHaveLength(3)
    })

    it('continues when nothing is left of a batch', async () => {
      await world.record(...Array.from({ length: 4 }, () => named('MAIL_OPENED')))
      await world.record(named('MAIL_CLICKED'))
      await filter({ click: true })
      const small = { limits: { ...limits, batchEventsMax: 2 } }
      for (let i = 0; i < 2; i += 1) expect(await take(small)).toEqual({ kind: 'wait', waitMs: 0 })
      expect(await rowsIn('webhooks_open')).toEqual([])
      expect(namesOf(await ready(small))).toEqual(['MAIL_CLICKED'])
    })

    it('repeats an earlier request unchanged', async () => {
      await world.record(named('MAIL_OPENED'), named('MAIL_CLICKED'))
      const first = await ready()
      await filter({ click: true })
      const again = await ready()
      expect(again.delivery.deliveryId).toBe(first.delivery.deliveryId)
      expect(namesOf(again)).toEqual(['MAIL_OPENED', 'MAIL_CLICKED'])
    })

    it('sends replayed events and events that are exempt from the filter', async () => {
      await queueBacklog(world.db, key, { count: 2, lane: 1 })
      await filter({ click: true })
      expect(namesOf(await ready())).toEqual(['MAIL_DELIVERED', 'MAIL_DELIVERED'])
      await setStream('delivery_id = null')
      await world.record(named('MAILER_DEACTIVATED'))
      expect(namesOf(await ready())).toEqual(['MAILER_DEACTIVATED'])
    })

    it('applies the filter to prefetched events', async () => {
      await world.record(named('MAIL_OPENED'), named('MAIL_OPENED'), named('MAIL_CLICKED'))
      const single = { limits: { ...limits, batchEventsMax: 1 } }
      const { ahead } = await ready(single)
      expect(ahead).toHaveLength(2)
      await setStream('delivery_id = null')
      await filter({ click: true })
      expect(await take({ ...single, ahead: ahead[0] })).toEqual({ kind: 'wait', waitMs: 0 })
      expect(namesOf(await ready({ ...single, ahead: ahead[1] }))).toEqual(['MAIL_CLICKED'])
    })
  })

  it('takes live events before replayed ones, each in order of their ids', async () => {
    await queueBacklog(world.db, key, { count: 3, lane: 1 })
    await queueBacklog(world.db, key, { count: 2, from: 10 })
    const batches: string[][] = []
    for (let i = 0; i < 2; i += 1) {
      const { pointers } = await ready({ limits: { ...limits, batchEventsMax: 3 } })
      batches.push((pointers ?? []).map((pointer) => pointer.event_id))
      await setStream('delivery_id = null')
    }
    expect(batches).toEqual([
      [backlogId(10), backlogId(11), backlogId(0)],
      [backlogId(1), backlogId(2)],
    ])
  })

  it('reads above the cursor of each queue', async () => {
    await queueBacklog(world.db, key, { count: 3 })
    await queueBacklog(world.db, key, { count: 3, from: 10, lane: 1 })
    const { delivery } = await ready({ low: [backlogId(1), backlogId(11)] })
    expect(delivery.eventIds).toEqual([backlogId(2), backlogId(12)])
    await setStream('delivery_id = null')
    expect(await take({ low: [backlogId(1), backlogId(11)] })).toEqual({ kind: 'empty' })
    expect((await ready()).delivery.eventIds).toHaveLength(4)
  })

  it('never mixes generations, and takes a solo event alone', async () => {
    await queueBacklog(world.db, key, { count: 2, generation: 0 })
    await queueBacklog(world.db, key, { count: 2, generation: 1, from: 2 })
    await queueBacklog(world.db, key, { count: 1, generation: 1, from: 4, solo: true })
    await queueBacklog(world.db, key, { count: 1, generation: 1, from: 5 })
    const sizes: number[] = []
    for (let i = 0; i < 4; i += 1) {
      sizes.push((await ready()).events.length)
      await setStream('delivery_id = null')
    }
    expect(sizes).toEqual([2, 2, 1, 1])
  })

  it('is small after a back-off, and stays below a refused size', async () => {
    await queueBacklog(world.db, key, { count: 200 })
    await setStream('is_probing = true')
    expect((await ready()).events).toHaveLength(50)
    await setStream('delivery_id = null, is_probing = false, batch_bytes_max = 1000')
    await setStream('batch_shrunk_at = now()')
    expect((await ready()).events).toHaveLength(9)
    await setStream(`delivery_id = null, batch_shrunk_at = now() - interval '20 minutes'`)
    expect((await ready()).events).toHaveLength(39)
  })

  it('does not wait for a settlement, and sees all of it once the stream is free', async () => {
    await world.record(newEvent())
    const { delivery } = await ready()
    await world.record(newEvent())
    const during = await world.db.transaction(async (tx) => {
      await settleDeliveries(tx, [settlementOf(delivery)])
      return take()
    })
    expect(during).toEqual({ kind: 'busy' })
    const after = await ready()
    expect(after.delivery.deliveryId).not.toBe(delivery.deliveryId)
    expect(after.events).toHaveLength(1)
  })
})

it.each([
  ['a take is flushed before its request', 'take', 'on'],
  ['a take with a settlement is flushed', 'settleAndTake', 'on'],
  ['a settlement alone need not be flushed', 'settle', 'off'],
] as const)('uses the right durability: %s', async (_what, how, expected) => {
  const seen: unknown[] = []
  const { db } = world
  const { take, settle, settleAndTake } = createDeliveryCommits({
    ...db,
    get stats() {
      return db.stats
    },
    transaction: (work, o) =>
      db.transaction(async (tx) => {
        const answer = await work(tx)
        seen.push(...(await tx.query('show synchronous_commit')).rows)
        return answer
      }, o),
  })
  const key = { tenantId: 'tn_none', webhookId: 'wh_none' }
  const limits = { batchEventsMax: 1, batchBytesMax: 1, policy: { retryForMs: 1 } }
  const one: Take = { ...key, low: ['', ''], limits, random: 0, canKeepAhead: true }
  const delivery = { ...key, deliveryId: 'dlv_none', isParked: false } as OpenDelivery
  if (how === 'take') await take(one)
  else if (how === 'settle') await settle(settlementOf(delivery))
  else await settleAndTake(settlementOf(delivery), one)
  expect(seen).toEqual([{ synchronous_commit: expected }])
})

describe('two dispatchers', () => {
  it('take one delivery when they take at the same time', async () => {
    const others = createDeliveryCommits(world.db)
    for (let round = 0; round < 20; round += 1) {
      await world.record(newEvent(), newEvent())
      const taken = await Promise.all([take(), others.take(takeOf(key))])
      const fresh = taken.filter((one) => one.kind === 'ready' && one.pointers !== undefined)
      expect(fresh).toHaveLength(1)
      for (const one of taken)
        if (one.kind === 'ready')
          expect(one.delivery.deliveryId).toBe((await world.stream(key))?.delivery_id)
        else expect(one).toEqual({ kind: 'busy' })
      expect(await rowsIn('webhooks_open')).toHaveLength(1)
      await emptyTables(world.db, 'webhooks_open')
      await setStream('delivery_id = null')
    }
  })

  it('do not wait for a locked stream of the same group', async () => {
    const other = await world.register(receiver.origin, { tenantId: 'tn_b' })
    await world.record(newEvent(), newEvent({ tenantId: 'tn_b' }))
    await world.db.transaction(async (tx) => {
      await tx.query(`select 1 from webhooks_stream where tenant_id = 'tn_b' for no key update`)
      const taken = await Promise.all([take(), commits.take(takeOf(other))])
      expect(taken.map((one) => one.kind)).toEqual(['ready', 'busy'])
    })
    expect((await commits.take(takeOf(other))).kind).toBe('ready')
  })

  it('do not block writers of events, and are not blocked by them', async () => {
    await world.record(newEvent())
    await world.db.transaction(async (tx) => {
      await recordEvents(tx, [newEvent()])
      expect((await ready()).events).toHaveLength(1)
    })
    await setStream('delivery_id = null')
    await world.db.transaction(async (tx) => {
      const [taken] = await takeDeliveries(tx, [takeOf(key)])
      expect(taken?.kind).toBe('ready')
      await world.record(newEvent())
    })
    expect(await rowsIn('webhooks_pending')).toHaveLength(1)
  })
})

describe('a due parked event', () => {
  it('takes turns with queued events by chance', async () => {
    await world.record(newEvent())
    const { delivery } = await ready()
    await setStream('delivery_id = null')
    await world.db.query(`update webhooks_open set status = 'parked', due_at = now()`)
    // Nothing is queued.
    expect(await ready({ random: 0.9 })).toMatchObject({ delivery: { isParked: true } })
    await setStream('delivery_id = null')
    await world.db.query('update webhooks_open set due_at = now()')
    await world.record(newEvent())
    const live = await ready({ random: 0.5 })
    expect(live.pointers).toHaveLength(1)
    await world.record(newEvent())
    await setStream('delivery_id = null')
    expect((await ready({ random: 0.4 })).delivery.deliveryId).toBe(delivery.deliveryId)
  })
})

describe('the state of a stream', () => {
  it('gives nothing when it is gone or paused, and keeps the events of a paused one', async () => {
    await world.record(newEvent())
    expect(await take({ tenantId: 'tn_other' })).toEqual({ kind: 'none' })
    await setStream('paused_at = now()')
    expect(await take()).toEqual({ kind: 'none' })
    expect(await rowsIn('webhooks_pending')).toHaveLength(1)
    await setStream('paused_at = null')
    expect((await take()).kind).toBe('ready')
  })

  it('says how long it backs off, by the clock of the database', async () => {
    await world.record(newEvent())
    await setStream(`not_before = now() + interval '1 hour'`)
    const taken = await take()
    if (taken.kind !== 'wait') throw new Error(taken.kind)
    expect(taken.waitMs).toBeGreaterThan(3_500_000)
    expect(taken.waitMs).toBeLessThanOrEqual(3_600_000)
  })

  it('is to be cleared when the webhook is off or gone, even while it waits', async () => {
    await world.record(newEvent())
    await setStream(`not_before = now() + interval '1 hour'`)
    await world.db.query('update webhooks_subscription set active = false')
    expect(await take()).toEqual({ kind: 'clear' })
    await world.db.query('delete from webhooks_subscription')
    expect(await take()).toEqual({ kind: 'clear' })
  })

  it('repeats an open delivery: the same events, with URL and headers read anew', async () => {
    await world.record(newEvent(), newEvent())
    const first = await ready()
    await world.record(newEvent())
    await updateWebhook(world.deps, 'tn_a', {
      event: 'EMAIL_EVENT',
      webhook_url: `${receiver.origin}/new`,
    })
    const second = await ready()
    expect(second).toMatchObject({
      delivery: { deliveryId: first.delivery.deliveryId, eventIds: first.delivery.eventIds },
      target: { url: `${receiver.origin}/new` },
      events: first.events,
      pointers: undefined,
    })
    expect(second.delivery.ageMs).toBeGreaterThan(0)
  })

  it('gives halves in order first, then parked events, then newer ones', async () => {
    await queueBacklog(world.db, key, { count: 5 })
    const open = (id: string, event: string, dueAt: string) =>
      world.db.query(
        `insert into webhooks_open (tenant_id, delivery_id, day, webhook_id, bucket, generation,
                                    event_ids, event_days, traceparent, due_at, turn)
         select $1, $2, current_date, $3, 1, 0, array[$4::text],
                array[(now() - interval '1 hour')::date], 't', ${dueAt}, $4`,
        [key.tenantId, id, key.webhookId, event],
      )
    await queueBacklog(world.db, key, { count: 5, from: 100 })
    await world.db.query('delete from webhooks_pending where event_id >= $1', [backlogId(100)])
    await open('dlv_late', backlogId(100), `now() + interval '1 hour'`)
    await open('dlv_parked_2', backlogId(101), `now() - interval '1 minute'`)
    await open('dlv_parked_1', backlogId(102), `now() - interval '1 hour'`)
    await open('dlv_half_2', backlogId(104), `'-infinity'`)
    await open('dlv_half_1', backlogId(103), `'-infinity'`)
    const order: string[] = []
    for (let i = 0; i < 5; i += 1) {
      const { delivery } = await ready()
      expect((await world.stream(key))?.delivery_id).toBe(delivery.deliveryId)
      const [row] = await rowsIn(`webhooks_open where delivery_id = '${delivery.deliveryId}'`)
      expect(row?.due_at).toBeNull()
      order.push(delivery.deliveryId.replace(/^dlv_[0-9A-Z]{26}$/, 'new'))
      await setStream('delivery_id = null')
    }
    expect(order).toEqual(['dlv_half_1', 'dlv_half_2', 'dlv_parked_1', 'dlv_parked_2', 'new'])
  })
})
