import { createWebhookReceiver, type WebhookReceiver } from '@postrider/testkit'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { emptyTables } from '../../../../test/empty-tables.ts'
import { backlogId, queueBacklog } from '../../../../test/webhook-backlog.ts'
import { createWebhookDispatch, type WebhookDispatch } from '../../../../test/webhook-dispatch.ts'
import type { Tx } from '../../../platform/db/index.ts'
import type { StreamKey } from '../stream-store.ts'
import type { QueuedEvent } from '../take/prefetch.ts'
import type { ReadyDelivery, Take, Taken } from '../take/take-deliveries.ts'
import { type Turn, takeTurns } from './delivery-commits.ts'
import type { Settlement } from './settle-deliveries.ts'

let world: WebhookDispatch
let receiver: WebhookReceiver
let keys: StreamKey[]
beforeAll(async () => {
  world = await createWebhookDispatch()
  receiver = await createWebhookReceiver()
})
beforeEach(async () => {
  keys = []
  for (const tenantId of ['tn_a', 'tn_b', 'tn_c'])
    keys.push(await world.register(receiver.origin, { tenantId }))
})
afterEach(() => world.clear())
afterAll(async () => {
  await world.close()
  await receiver.close()
})

const limits = { batchEventsMax: 1, batchBytesMax: 1_000_000, policy: { retryForMs: 3_600_000 } }
const takeOf = (key: StreamKey, change: Partial<Take> = {}): Take => ({
  ...key,
  low: ['', ''],
  limits,
  random: 0,
  canKeepAhead: true,
  ...change,
})
const settlementOf = ({ delivery, stream }: ReadyDelivery): Settlement => ({
  ...delivery,
  failCount: stream.failCount,
  epoch: stream.epoch,
  attempt: '{"at":"2026-01-02T03:04:05Z","duration_ms":1,"header_names":[]}',
  step: { kind: 'delivered', endsProbe: true },
  halves: [],
})
const turn = (turns: readonly Turn[]) => world.db.transaction((tx) => takeTurns(tx, turns))
function readyOf(taken: Taken | undefined): ReadyDelivery {
  if (taken?.kind !== 'ready') throw new Error(taken?.kind)
  return taken
}
async function takeAll(of: readonly StreamKey[]): Promise<ReadyDelivery[]> {
  const results = await turn(of.map((key) => ({ take: takeOf(key) })))
  return results.map((result) => readyOf(result.taken))
}
const backlog = (count: number) =>
  Promise.all(keys.map((key) => queueBacklog(world.db, key, { count })))
const rowsIn = async (table: string) =>
  (await world.db.query<Record<string, unknown>>(`select * from ${table}`)).rows
/** While another transaction holds the stream. */
async function whileHeld<T>(key: StreamKey, work: () => Promise<T>): Promise<T> {
  return world.db.transaction(async (tx: Tx) => {
    await tx.query(`select from webhooks_stream where webhook_id = $1 for no key update`, [
      key.webhookId,
    ])
    return work()
  })
}

describe('a turn', () => {
  it('settles the last request and takes the next, for each stream of a group', async () => {
    await backlog(3)
    const first = await takeAll(keys)
    const results = await turn(
      keys.map((key, i) => ({
        settlement: settlementOf(first[i] as ReadyDelivery),
        take: takeOf(key),
      })),
    )
    expect(results.map((result) => result.settled)).toEqual([true, true, true])
    for (const [i, result] of results.entries()) {
      const { delivery } = readyOf(result.taken)
      expect(delivery).toMatchObject({ ...keys[i], eventIds: [backlogId(1)] })
      expect(await world.stream(keys[i] as StreamKey)).toMatchObject({
        delivery_id: delivery.deliveryId,
      })
    }
    expect(await rowsIn('webhooks_open')).toHaveLength(3)
    expect(await rowsIn('webhooks_delivery')).toHaveLength(3)
    expect(await rowsIn('webhooks_pending')).toHaveLength(3)
  })

  it('may only settle or only take, and each gets its own answer', async () => {
    await backlog(2)
    const [a, b] = await takeAll(keys.slice(0, 2))
    const results = await turn([
      { settlement: settlementOf(a as ReadyDelivery) },
      { take: takeOf(keys[2] as StreamKey) },
      { settlement: settlementOf(b as ReadyDelivery), take: takeOf(keys[1] as StreamKey) },
    ])
    expect(results.map(({ settled, taken }) => [settled, taken?.kind])).toEqual([
      [true, undefined],
      [undefined, 'ready'],
      [true, 'ready'],
    ])
    expect(readyOf(results[1]?.taken).delivery).toMatchObject({
      tenantId: 'tn_c',
      eventIds: [backlogId(0)],
    })
    expect(readyOf(results[2]?.taken).delivery).toMatchObject({
      tenantId: 'tn_b',
      eventIds: [backlogId(1)],
    })
  })

  it('does nothing for a locked stream, and serves the others', async () => {
    await backlog(2)
    const first = await takeAll(keys)
    const [held] = keys
    const results = await whileHeld(held as StreamKey, () =>
      turn(
        keys.map((key, i) => ({
          settlement: settlementOf(first[i] as ReadyDelivery),
          take: takeOf(key),
        })),
      ),
    )
    expect(results[0]).toEqual({ settled: 'locked', taken: { kind: 'busy' } })
    for (const { settled, taken } of results.slice(1)) {
      expect(settled).toBe(true)
      // Not the one that has just been settled.
      expect(readyOf(taken).delivery.eventIds).toEqual([backlogId(1)])
    }
  })

  it('settles and takes in one transaction', async () => {
    await backlog(2)
    const [first] = await takeAll(keys.slice(0, 1))
    const [key] = keys
    const interrupted = world.db.transaction(async (tx) => {
      await takeTurns(tx, [
        { settlement: settlementOf(first as ReadyDelivery), take: takeOf(key as StreamKey) },
      ])
      throw new Error('killed')
    })
    await expect(interrupted).rejects.toThrow('killed')
    expect(await rowsIn('webhooks_delivery')).toEqual([])
    expect(await rowsIn('webhooks_open')).toMatchObject([
      { delivery_id: first?.delivery.deliveryId, event_ids: [backlogId(0)] },
    ])
  })
})

it('reads a bounded number of bytes for a group, and leaves the rest to the next', async () => {
  await backlog(20)
  const large = { ...limits, batchEventsMax: 500, batchBytesMax: 100_000_000 }
  await world.db.query('update webhooks_pending set bytes = 600000')
  const takes = keys.map((key) => ({ take: takeOf(key, { limits: large }) }))
  const first = await turn(takes)
  expect(first.map(({ taken }) => taken)).toMatchObject([
    { kind: 'ready' },
    { kind: 'wait', waitMs: 0 },
    { kind: 'wait', waitMs: 0 },
  ])
  expect(await rowsIn('webhooks_open')).toHaveLength(1)
  // One that is larger than that alone goes all the same.
  await world.db.query('update webhooks_pending set bytes = 1000000')
  const second = await turn(takes.slice(1))
  expect(second.map(({ taken }) => taken?.kind)).toEqual(['ready', 'wait'])
})

describe('a prefetched event', () => {
  const lane = 1
  const later = 100

  async function prefetch(): Promise<QueuedEvent[]> {
    const [ready] = await takeAll(keys.slice(0, 1))
    await turn([{ settlement: settlementOf(ready as ReadyDelivery) }])
    return [...(ready?.ahead ?? [])]
  }
  const takeAhead = (ahead: QueuedEvent | undefined) =>
    turn([{ take: takeOf(keys[0] as StreamKey, { ahead }) }])

  it('is read with the one before it in single mode, unless it is replayed', async () => {
    const [key] = keys
    await queueBacklog(world.db, key as StreamKey, { count: 3 })
    await queueBacklog(world.db, key as StreamKey, { count: 2, from: later, lane })
    const ahead = await prefetch()
    expect(ahead.map(({ event }) => event.eventId)).toEqual([backlogId(1), backlogId(2)])
    expect(ahead.every(({ event }) => event.body !== '')).toBe(true)
    const { events } = readyOf(
      (
        await turn([
          { take: takeOf(key as StreamKey, { limits: { ...limits, batchEventsMax: 2 } }) },
        ])
      )[0]?.taken,
    )
    expect(events.map((event) => event.eventId)).toEqual([backlogId(1), backlogId(2)])
  })

  it('is read up to 64 KiB of bodies, and not where it cannot be kept', async () => {
    const [key] = keys
    await queueBacklog(world.db, key as StreamKey, { count: 10 })
    await world.db.query('update webhooks_pending set bytes = 20000')
    const [ready] = await takeAll(keys.slice(0, 1))
    expect(ready?.ahead).toHaveLength(2)
    await turn([{ settlement: settlementOf(ready as ReadyDelivery) }])
    const [result] = await turn([{ take: takeOf(key as StreamKey, { canKeepAhead: false }) }])
    expect(readyOf(result?.taken).ahead).toEqual([])
  })

  it('is ignored where events travel in batches', async () => {
    await backlog(3)
    const [next] = await prefetch()
    const together = { ahead: next, limits: { ...limits, batchEventsMax: 500 } }
    const [result] = await turn([{ take: takeOf(keys[0] as StreamKey, together) }])
    expect(readyOf(result?.taken).delivery.eventIds).toEqual([backlogId(1), backlogId(2)])
  })

  it('is taken from the queue with its prefetched body', async () => {
    await backlog(2)
    const [next] = await prefetch()
    const ready = readyOf((await takeAhead(next))[0]?.taken)
    expect(ready).toMatchObject({ events: [next?.event], pointers: [next?.pointer], ahead: [] })
    expect(ready.delivery.eventIds).toEqual([backlogId(1)])
    expect(await world.pending(keys[0] as StreamKey)).toEqual([backlogId(1)])
  })

  it('is not taken once it has left the queue, even when another event has its position', async () => {
    await backlog(2)
    const [next] = await prefetch()
    await world.db.query('delete from webhooks_pending')
    await expect(takeAhead(next)).rejects.toMatchObject({ name: 'StaleReadError' })
    await emptyTables(world.db, 'webhooks_pending')
    await queueBacklog(world.db, keys[0] as StreamKey, { count: 4, from: later })
    await expect(takeAhead(next)).rejects.toMatchObject({ name: 'StaleReadError' })
    expect(await world.pending(keys[0] as StreamKey)).toHaveLength(4)
    expect(await rowsIn('webhooks_open')).toEqual([])
  })

  it('waits for an open delivery, a pause and a discard', async () => {
    await backlog(3)
    const [next] = await prefetch()
    const [key] = keys
    const set = (columns: string) => world.db.query(`update webhooks_stream set ${columns}`)
    const [open] = await takeAll(keys.slice(0, 1))
    expect(readyOf((await takeAhead(next))[0]?.taken).delivery.deliveryId).toBe(
      open?.delivery.deliveryId,
    )
    await set('paused_at = now()')
    expect((await takeAhead(next))[0]?.taken).toEqual({ kind: 'none' })
    await set('paused_at = null, delivery_id = null')
    await world.db.query('update webhooks_subscription set generation = 1')
    expect((await takeAhead(next))[0]?.taken).toEqual({ kind: 'clear' })
    await world.db.query('delete from webhooks_subscription')
    expect((await takeAhead(next))[0]?.taken).toEqual({ kind: 'clear' })
    expect(await world.pending(key as StreamKey)).toHaveLength(2)
  })
})
