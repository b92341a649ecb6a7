import type { WebhookReceiver } from '@postrider/testkit'
import { describe, expect, it } from 'vitest'
import { backlogId, queueBacklog } from '../../../../test/webhook-backlog.ts'
import {
  newEvent,
  useWebhookDispatch,
  type WebhookDispatch,
} from '../../../../test/webhook-dispatch.ts'
import { deleteWebhook } from '../../subscriptions/delete-webhook.ts'
import { updateWebhook } from '../../subscriptions/update-webhook.ts'
import type { StreamKey } from '../stream-store.ts'
import { clearStream } from './clear-stream.ts'

const HOUR_MS = 3_600_000
const limits = {
  batchEventsMax: 500,
  batchBytesMax: 1_000_000,
  policy: { retryForMs: 72 * HOUR_MS },
}
let world: WebhookDispatch
let receiver: WebhookReceiver
let key: StreamKey
useWebhookDispatch(async (...made) => {
  ;[world, receiver] = made
  key = await world.register(receiver.origin)
})

const rows = async (text: string) => (await world.db.query<Record<string, unknown>>(text)).rows
const setStream = (columns: string) => world.db.query(`update webhooks_stream set ${columns}`)
const clear = () =>
  world.db.transaction((tx) =>
    clearStream(tx, { ...key, low: ['', ''], limits, random: 0, canKeepAhead: true }),
  )
const NOTHING = { discarded: [], exhausted: [], pointers: [] }
const switchTo = (active: boolean) =>
  updateWebhook(world.deps, 'tn_a', { event: 'EMAIL_EVENT', active })
const remove = () => deleteWebhook(world.deps, 'tn_a', 'EMAIL_EVENT')
const outcomes = () => world.lines.map(({ outcome }) => outcome)
/** One half of a divided delivery and one parked event wait, one delivery is under way. */
async function leaveOpen(dispatcher: { runOnce(): Promise<void> }): Promise<void> {
  receiver.setScript([400, 500])
  await world.record(newEvent(), newEvent())
  await dispatcher.runOnce()
  expect(
    await rows('select due_at is null as is_current from webhooks_open order by turn'),
  ).toEqual([{ is_current: true }, { is_current: false }])
}

describe('a webhook that is switched off', () => {
  it('records its queued events and open deliveries as discarded', async () => {
    const dispatcher = await world.dispatcher()
    await leaveOpen(dispatcher)
    await world.record(newEvent())
    await switchTo(false)
    await dispatcher.runOnce()
    expect(receiver.requests).toHaveLength(2)
    expect(await world.pending(key)).toEqual([])
    expect(await world.stream(key)).toMatchObject({ state: 'idle', delivery_id: null })
    expect((await world.deliveries(key)).map(({ status, attempts }) => [status, attempts])).toEqual(
      [
        // The one that was divided, its halves, and what was queued.
        ['discarded', 1],
        ['discarded', 1],
        ['discarded', 0],
        ['discarded', 0],
      ],
    )
    expect(outcomes().slice(2)).toEqual(['discarded', 'discarded', 'discarded'])
  })

  it('discards a long queue in pieces of 500, a few thousand in a transaction', async () => {
    await queueBacklog(world.db, key, { count: 4_000 })
    await queueBacklog(world.db, key, { count: 2_200, from: 5_000, lane: 1 })
    await switchTo(false)
    const first = await clear()
    expect(first.discarded.map((delivery) => delivery.events)).toEqual([500, 500, 500, 500, 500])
    expect(await rows('select count(*)::integer as left from webhooks_pending')).toEqual([
      { left: 3_700 },
    ])
    await (await world.dispatcher()).runOnce()
    expect(await world.pending(key)).toEqual([])
    expect(await world.stream(key)).toMatchObject({ state: 'idle' })
    const records = await rows(
      'select cardinality(event_ids) as n, attempts, last_attempt from webhooks_delivery order by delivery_id',
    )
    expect(records.map((record) => record.n)).toEqual([...Array(12).fill(500), 200])
    expect(records[0]).toMatchObject({ attempts: 0, last_attempt: null })
    const [items] = await rows(
      'select count(distinct id)::integer as n from webhooks_delivery, unnest(event_ids) id',
    )
    expect(items).toEqual({ n: 6_200 })
    expect(receiver.requests).toEqual([])
  })

  it('begins with new events when it is on again, also while older ones are queued', async () => {
    await queueBacklog(world.db, key, { count: 3_000 })
    await switchTo(false)
    await switchTo(true)
    await world.record(newEvent())
    await (await world.dispatcher()).runOnce()
    expect(receiver.requests.map((request) => (request.json as unknown[]).length)).toEqual([1])
    expect(await world.pending(key)).toEqual([])
    expect(outcomes()).toEqual([...Array(6).fill('discarded'), 'delivered'])
  })

  it('discards an earlier open delivery when it is on again', async () => {
    const dispatcher = await world.dispatcher()
    await leaveOpen(dispatcher)
    await switchTo(false)
    await switchTo(true)
    const next = newEvent()
    await world.record(next)
    await world.due()
    await dispatcher.runOnce()
    expect(receiver.requests.slice(2).map((request) => request.json)).toMatchObject([
      [{ details: { ref_id: next.refId } }],
    ])
    expect(await world.pending(key)).toEqual([])
  })
})

describe('a webhook that is deleted', () => {
  it('has no stream once all waiting events are on record', async () => {
    const dispatcher = await world.dispatcher()
    await leaveOpen(dispatcher)
    await queueBacklog(world.db, key, { count: 3_000 })
    await remove()
    await dispatcher.runOnce()
    expect(receiver.requests).toHaveLength(2)
    for (const table of ['webhooks_pending', 'webhooks_open', 'webhooks_stream'])
      expect(await rows(`select 1 from ${table}`)).toEqual([])
    const [items] = await rows(
      'select count(distinct id)::integer as n from webhooks_delivery, unnest(event_ids) id',
    )
    expect(items).toEqual({ n: 3_002 })
  })

  it('records a request under way as delivered when it is accepted', async () => {
    const { promise: opened, resolve: open } = Promise.withResolvers<void>()
    receiver.setScript([{ status: 200, after: opened }])
    const dispatcher = await world.dispatcher({ batchEventsMax: 1 })
    await world.record(newEvent(), newEvent())
    const run = dispatcher.runOnce()
    await receiver.waitForRequests(1)
    await remove()
    open()
    await run
    await dispatcher.runOnce()
    expect(outcomes()).toEqual(['delivered', 'discarded'])
    expect((await world.deliveries(key)).map((delivery) => delivery.status)).toEqual([
      'delivered',
      'discarded',
    ])
    expect(await rows('select 1 from webhooks_stream')).toEqual([])
    expect(receiver.requests).toHaveLength(1)
  })
})

describe('a receiver that fails for the whole retry time', () => {
  it('exhausts events that are queued as long, in pieces, and keeps younger ones', async () => {
    await queueBacklog(world.db, key, { count: 3_000, queuedAgoMs: 72 * HOUR_MS })
    await queueBacklog(world.db, key, { count: 10, from: 4_000, queuedAgoMs: 71 * HOUR_MS })
    await setStream(`fail_count = 9, first_failure_at = now() - interval '72 hours'`)
    receiver.setScript([500])
    await (await world.dispatcher()).runOnce()
    expect(outcomes()).toEqual([...Array(6).fill('exhausted'), 'retry'])
    expect(await rows('select status, cardinality(event_ids) as n from webhooks_delivery')).toEqual(
      Array(6).fill({ status: 'exhausted', n: 500 }),
    )
    expect(receiver.requests.map((request) => (request.json as unknown[]).length)).toEqual([10])
    expect(await world.pending(key)).toHaveLength(10)
  })

  it('exhausts parked events as old as that, but none while it waits or fails for less', async () => {
    receiver.setScript(() => 400)
    await world.record(newEvent())
    const dispatcher = await world.dispatcher()
    await dispatcher.runOnce()
    await world.db.query(`update webhooks_open set created_at = now() - interval '72 hours'`)
    await queueBacklog(world.db, key, { count: 1, queuedAgoMs: 80 * HOUR_MS })
    await setStream(`first_failure_at = now() - interval '71 hours', fail_count = 9`)
    expect(await clear()).toEqual(NOTHING)
    await setStream(
      `first_failure_at = now() - interval '72 hours', not_before = now() + interval '1 hour'`,
    )
    expect(await clear()).toEqual(NOTHING)
    await world.due()
    expect((await clear()).exhausted).toMatchObject([{ attempts: 1 }, { attempts: 0 }])
    expect(await world.pending(key)).toEqual([])
  })

  it('gets its events when it answers again after it was dormant', async () => {
    await queueBacklog(world.db, key, { count: 5, queuedAgoMs: HOUR_MS })
    await setStream(`fail_count = 30, first_failure_at = now() - interval '6 days'`)
    receiver.setScript([500, 200])
    const dispatcher = await world.dispatcher()
    await dispatcher.runOnce()
    expect(world.lines[0]).toMatchObject({ outcome: 'retry', wait_ms: 6 * HOUR_MS })
    await world.due()
    await dispatcher.runOnce()
    expect(await world.pending(key)).toEqual([])
    expect(await world.stream(key)).toMatchObject({ fail_count: 0, first_failure_at: null })
  })
})

describe('events that have left the log', () => {
  it('are on record as discarded, with the delivery that took over the rest', async () => {
    await queueBacklog(world.db, key, { count: 6 })
    await world.db.query('delete from webhooks_event where event_id = any($1)', [
      [backlogId(0), backlogId(4)],
    ])
    await (await world.dispatcher()).runOnce()
    expect(receiver.requests.map((request) => request.json)).toMatchObject([
      ['1', '2', '3', '5'].map((ref) => ({ details: { ref_id: ref } })),
    ])
    const [discarded, delivered] = await rows(
      'select delivery_id, status, divided_into, cardinality(event_ids) as n from webhooks_delivery order by delivery_id',
    )
    expect(discarded).toMatchObject({
      status: 'discarded',
      n: 6,
      divided_into: [delivered?.delivery_id],
    })
    expect(delivered).toMatchObject({ status: 'delivered', n: 4, divided_into: null })
  })

  it('end a delivery without a successor when all its events are gone', async () => {
    await queueBacklog(world.db, key, { count: 3, isWithoutEvents: true })
    await (await world.dispatcher()).runOnce()
    expect(receiver.requests).toEqual([])
    expect(await rows('select status, divided_into from webhooks_delivery')).toEqual([
      { status: 'discarded', divided_into: null },
    ])
    expect(await world.stream(key)).toMatchObject({ state: 'idle', delivery_id: null })
  })
})

describe('a paused webhook', () => {
  it('keeps its events, and continues when it is resumed', async () => {
    const dispatcher = await world.dispatcher()
    await world.record(newEvent())
    await setStream('paused_at = now()')
    await dispatcher.runOnce()
    await world.record(newEvent())
    await dispatcher.runOnce()
    expect(receiver.requests).toEqual([])
    expect(await clear()).toEqual(NOTHING)
    expect(await world.pending(key)).toHaveLength(2)
    await setStream('paused_at = null')
    await dispatcher.runOnce()
    expect(receiver.requests.map((request) => (request.json as unknown[]).length)).toEqual([2])
  })
})

it('leaves a stream alone that another transaction has locked', async () => {
  await world.record(newEvent())
  await switchTo(false)
  await world.db.transaction(async (tx) => {
    await tx.query('select 1 from webhooks_stream for no key update')
    expect(await clear()).toEqual(NOTHING)
  })
  expect((await clear()).discarded).toHaveLength(1)
})
