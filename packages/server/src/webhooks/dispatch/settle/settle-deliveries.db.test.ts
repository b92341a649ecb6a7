import { createWebhookReceiver, type WebhookReceiver } from '@postrider/testkit'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { queueBacklog } from '../../../../test/webhook-backlog.ts'
import {
  createWebhookDispatch,
  newEvent,
  type WebhookDispatch,
} from '../../../../test/webhook-dispatch.ts'
import { updateWebhook } from '../../subscriptions/update-webhook.ts'
import type { StreamKey } from '../stream-store.ts'
import { divideDelivery } from '../take/divide-delivery.ts'
import type { ReadyDelivery } from '../take/take-deliveries.ts'
import type { DeliveryStep } from './decide-delivery.ts'
import { createDeliveryCommits } from './delivery-commits.ts'
import { type Settlement, settleDeliveries } from './settle-deliveries.ts'

const HOUR_MS = 3_600_000
const limits = { batchEventsMax: 500, batchBytesMax: 1_000_000, policy: { retryForMs: HOUR_MS } }
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
  await world.record(newEvent(), newEvent())
})
afterEach(() => world.clear())
afterAll(async () => {
  await world.close()
  await receiver.close()
})

async function open(of = key): Promise<ReadyDelivery> {
  const taken = await commits.take({ ...of, low: ['', ''], limits, random: 0, canKeepAhead: true })
  if (taken.kind !== 'ready') throw new Error(taken.kind)
  return taken
}
const ATTEMPT = {
  at: '2026-01-02T03:04:05.000Z',
  duration_ms: 12,
  status: 500,
  error: null,
  response: 'no',
  timings: { totalMs: 12 },
  header_names: ['Content-Type', 'X-Secret'],
}
const settlementOf = (
  { delivery, stream }: ReadyDelivery,
  step: DeliveryStep,
  halves: Settlement['halves'] = [],
): Settlement => ({
  tenantId: delivery.tenantId,
  webhookId: delivery.webhookId,
  deliveryId: delivery.deliveryId,
  failCount: stream.failCount,
  epoch: stream.epoch,
  isParked: delivery.isParked,
  attempt: JSON.stringify(ATTEMPT),
  step,
  halves,
})
const settle = (ready: ReadyDelivery, step: DeliveryStep, halves: Settlement['halves'] = []) =>
  commits.settle(settlementOf(ready, step, halves))
const rows = async (text: string) => (await world.db.query<Record<string, unknown>>(text)).rows
const setStream = (columns: string) => world.db.query(`update webhooks_stream set ${columns}`)

const delivered = { kind: 'delivered', endsProbe: true } as const
const retry = { kind: 'retry', waitMs: HOUR_MS } as const
const parked = { kind: 'parked', waitMs: HOUR_MS } as const
const givenUp = { kind: 'exhausted', isReceiverUp: false, waitMs: HOUR_MS } as const
const refused = { kind: 'exhausted', isReceiverUp: true, waitMs: 0 } as const

describe('an accepted delivery', () => {
  it('is on record with its last attempt and its events, and its stream is free', async () => {
    await setStream('fail_count = 0, parked_in_row = 3, is_probing = true')
    const ready = await open()
    expect(await settle(ready, delivered)).toBe(true)
    const { deliveryId, eventIds, traceparent } = ready.delivery
    expect(await rows('select * from webhooks_open')).toEqual([])
    expect(await rows('select *, day::text, event_ids from webhooks_delivery')).toMatchObject([
      {
        tenant_id: 'tn_a',
        delivery_id: deliveryId,
        webhook_id: key.webhookId,
        status: 'delivered',
        mode: 'array',
        event_ids: eventIds,
        traceparent,
        attempts: 1,
        divided_into: null,
        last_attempt: { attempt: 1, ...ATTEMPT },
      },
    ])
    expect(await rows('select 1 from webhooks_attempt')).toEqual([])
    expect(await world.stream(key)).toMatchObject({
      delivery_id: null,
      fail_count: 0,
      first_failure_at: null,
      parked_in_row: 0,
      is_probing: false,
      last_ok_at: expect.any(Date),
    })
  })

  it('keeps the next batch small after a back-off', async () => {
    await setStream('is_probing = true')
    await settle(await open(), { kind: 'delivered', endsProbe: false })
    expect(await world.stream(key)).toMatchObject({ is_probing: true })
  })

  it('is settled once: a second settlement writes nothing', async () => {
    const ready = await open()
    expect(await settle(ready, delivered)).toBe(true)
    for (const step of [delivered, retry, parked, givenUp])
      expect(await settle(ready, step)).toBe(false)
    expect(await world.deliveries(key)).toMatchObject([{ status: 'delivered', attempts: 1 }])
    expect(await world.attempts(key)).toHaveLength(1)
    expect(await world.stream(key)).toMatchObject({ fail_count: 0 })
  })

  it('leaves events that were queued meanwhile and the next delivery alone', async () => {
    const first = await open()
    await world.record(newEvent())
    await settle(first, delivered)
    expect(await rows('select 1 from webhooks_pending')).toHaveLength(1)
    const second = await open()
    for (const step of [delivered, retry, parked, givenUp, refused])
      expect(await settle(first, step)).toBe(false)
    expect(await world.stream(key)).toMatchObject({ delivery_id: second.delivery.deliveryId })
    expect(await world.pending(key)).toEqual(second.delivery.eventIds)
  })
})

describe('a delivery whose receiver failed', () => {
  it('stays open for its stream, which backs off, and its attempt is on record', async () => {
    const ready = await open()
    expect(await settle(ready, retry)).toBe(true)
    expect(await rows('select * from webhooks_open')).toMatchObject([
      { status: 'retrying', attempts: 1, due_at: null, next_attempt_at: expect.any(Date) },
    ])
    const [attempt] = await rows('select *, day::text from webhooks_attempt')
    expect(attempt).toMatchObject({
      delivery_id: ready.delivery.deliveryId,
      attempt: 1,
      at: new Date(ATTEMPT.at),
      duration_ms: 12,
      status: 500,
      error: null,
      response: 'no',
      timings: { totalMs: 12 },
      header_names: ATTEMPT.header_names,
    })
    expect(await world.stream(key)).toMatchObject({
      delivery_id: ready.delivery.deliveryId,
      fail_count: 1,
      is_probing: true,
      first_failure_at: expect.any(Date),
      parked_in_row: 0,
    })
    expect(
      await commits.take({ ...key, low: ['', ''], limits, random: 0, canKeepAhead: true }),
    ).toMatchObject({
      kind: 'wait',
    })
  })

  it('counts each attempt, and keeps the time of the first failure', async () => {
    const firstFailures: unknown[] = []
    for (let attempt = 1; attempt <= 3; attempt += 1) {
      await settle(await open(), retry)
      firstFailures.push((await world.stream(key))?.first_failure_at)
      await world.due()
    }
    expect(await world.attempts(key)).toMatchObject([1, 2, 3].map((attempt) => ({ attempt })))
    expect(await world.stream(key)).toMatchObject({ fail_count: 3 })
    expect(firstFailures).toEqual([firstFailures[0], firstFailures[0], firstFailures[0]])
    await settle(await open(), delivered)
    expect(await world.deliveries(key)).toMatchObject([{ status: 'delivered', attempts: 4 }])
    expect(await rows('select last_attempt from webhooks_delivery')).toMatchObject([
      { last_attempt: { attempt: 4 } },
    ])
  })

  it('backs off once, and counts both attempts, when two dispatchers settle it', async () => {
    const [one, two] = [await open(), await open()]
    expect(await settle(one, retry)).toBe(true)
    const before = await world.stream(key)
    expect(await settle(two, { ...retry, waitMs: 1 })).toBe(true)
    expect(await world.stream(key)).toEqual(before)
    expect(before).toMatchObject({ fail_count: 1 })
    expect(await world.deliveries(key)).toMatchObject([{ status: 'retrying', attempts: 2 }])
    expect(await world.attempts(key)).toMatchObject([{ attempt: 1 }, { attempt: 2 }])
  })

  it('is delivered when another dispatcher succeeded with it', async () => {
    const [one, two] = [await open(), await open()]
    await settle(one, retry)
    expect(await settle(two, delivered)).toBe(true)
    expect(await world.deliveries(key)).toMatchObject([{ status: 'delivered', attempts: 2 }])
    expect(await world.pending(key)).toEqual([])
    expect(await world.stream(key)).toMatchObject({ fail_count: 0, first_failure_at: null })
  })

  it('is given up when its time is over, and the stream still waits', async () => {
    const ready = await open()
    await settle(ready, givenUp)
    expect(await rows('select status, last_attempt from webhooks_delivery')).toMatchObject([
      { status: 'exhausted', last_attempt: { attempt: 1 } },
    ])
    expect(await world.stream(key)).toMatchObject({ delivery_id: null, fail_count: 1 })
    expect(
      await commits.take({ ...key, low: ['', ''], limits, random: 0, canKeepAhead: true }),
    ).toMatchObject({
      kind: 'wait',
    })
  })
})

describe('a delivery whose content was refused', () => {
  it('is divided: it is discarded, and names the two that have its events', async () => {
    await world.record(newEvent())
    await setStream('fail_count = 2, first_failure_at = now(), parked_in_row = 4')
    const ready = await open()
    const halves = divideDelivery(ready)
    await settle(ready, { kind: 'divided', batchBytesMax: 700 }, halves)
    const [first, second] = halves
    expect(await rows('select status, divided_into, event_ids from webhooks_delivery')).toEqual([
      {
        status: 'discarded',
        divided_into: [first?.deliveryId, second?.deliveryId],
        event_ids: ready.delivery.eventIds,
      },
    ])
    const opened = await rows('select * from webhooks_open order by turn')
    expect(opened).toMatchObject([
      { delivery_id: first?.deliveryId, event_ids: ready.delivery.eventIds.slice(0, 2) },
      { delivery_id: second?.deliveryId, event_ids: ready.delivery.eventIds.slice(2) },
    ])
    const traceOf = (text: unknown) => String(text).slice(3, 35)
    expect(opened.map((row) => traceOf(row.traceparent))).toEqual(
      [0, 2].map((i) => traceOf(ready.events[i]?.traceparent)),
    )
    expect(await world.stream(key)).toMatchObject({
      delivery_id: null,
      fail_count: 0,
      first_failure_at: null,
      parked_in_row: 4,
      batch_bytes_max: 700,
      batch_shrunk_at: expect.any(Date),
    })
    expect((await open()).delivery.eventIds).toEqual(first?.eventIds)
  })

  it('is divided once by two dispatchers', async () => {
    const ready = await open()
    const divide = () => settle(ready, { kind: 'divided' }, divideDelivery(ready))
    expect([await divide(), await divide()]).toEqual([true, false])
    expect(await rows('select 1 from webhooks_open')).toHaveLength(2)
  })

  it('is parked when it has one event: it stays open, and its stream is free', async () => {
    await setStream('fail_count = 2, first_failure_at = now()')
    const ready = await open()
    await settle(ready, parked)
    const [row] = await rows('select *, due_at = next_attempt_at as is_same from webhooks_open')
    expect(row).toMatchObject({
      delivery_id: ready.delivery.deliveryId,
      status: 'parked',
      attempts: 1,
      is_same: true,
    })
    expect(await world.attempts(key)).toMatchObject([{ attempt: 1 }])
    expect(await world.stream(key)).toMatchObject({
      delivery_id: null,
      fail_count: 0,
      first_failure_at: null,
      parked_in_row: 1,
    })
    expect(
      await commits.take({ ...key, low: ['', ''], limits, random: 0, canKeepAhead: true }),
    ).toEqual({
      kind: 'empty',
    })
    await world.due()
    expect((await open()).delivery).toMatchObject({
      deliveryId: ready.delivery.deliveryId,
      attempts: 1,
    })
  })

  it('counts once in a row of refusals when it was parked before', async () => {
    await settle(await open(), parked)
    await world.due()
    await settle(await open(), parked)
    expect(await world.stream(key)).toMatchObject({ parked_in_row: 1, fail_count: 0 })
    expect(await rows('select status, attempts from webhooks_open')).toEqual([
      { status: 'parked', attempts: 2 },
    ])
  })

  it.each([
    ['parked', { ...parked, backOffMs: HOUR_MS }],
    ['exhausted', { ...refused, waitMs: HOUR_MS }],
  ] as const)(
    'makes its stream wait, without a failure, where everything is refused: %s',
    async (_, step) => {
      const since = '2026-01-02T00:00:00.000Z'
      await setStream(`fail_count = 2, first_failure_at = '${since}', parked_in_row = 10`)
      await settle(await open(), step)
      expect(await world.stream(key)).toMatchObject({
        parked_in_row: 11,
        fail_count: 2,
        first_failure_at: new Date(since),
        delivery_id: null,
      })
      expect(
        await commits.take({ ...key, low: ['', ''], limits, random: 0, canKeepAhead: true }),
      ).toMatchObject({
        kind: 'wait',
      })
    },
  )

  it('is given up when its time is over, and its stream continues', async () => {
    await world.record(newEvent())
    await settle(await open(), refused)
    expect(await rows('select status from webhooks_delivery')).toEqual([{ status: 'exhausted' }])
    expect(await world.stream(key)).toMatchObject({ fail_count: 0, parked_in_row: 1 })
    await world.record(newEvent())
    expect((await open()).events).toHaveLength(1)
  })
})

describe('a settlement', () => {
  it('a settlement of a group settles each delivery by itself', async () => {
    const keys = [key]
    for (let i = 0; i < 9; i += 1)
      keys.push(await world.register(receiver.origin, { tenantId: `tn_${i}` }))
    for (const of of keys.slice(1)) await queueBacklog(world.db, of, { count: 2 })
    const steps: DeliveryStep[] = [delivered, retry, { kind: 'divided' }, parked, givenUp, refused]
    const readies = await Promise.all(keys.map((of) => open(of)))
    const settlements = readies.map((ready, i) => {
      const step = steps[i % steps.length] ?? delivered
      return settlementOf(ready, step, step.kind === 'divided' ? divideDelivery(ready) : [])
    })
    const stale = settlementOf(
      {
        ...(readies[0] as ReadyDelivery),
        delivery: { ...(readies[1] as ReadyDelivery).delivery, deliveryId: 'dlv_other' },
      },
      delivered,
    )
    const isOurs = await world.db.transaction((tx) => settleDeliveries(tx, [stale, ...settlements]))
    expect(isOurs).toEqual([false, ...settlements.map(() => true)])
    const statuses = await Promise.all(
      keys.map(async (of) => (await world.deliveries(of)).map((delivery) => delivery.status)),
    )
    const expected = [
      ['delivered'],
      ['retrying'],
      ['discarded', 'pending', 'pending'],
      ['parked'],
      ['exhausted'],
      ['exhausted'],
    ]
    expect(statuses).toEqual(keys.map((_, i) => expected[i % expected.length]))
  })

  it('does not undo an update that ended the back-off meanwhile', async () => {
    await settle(await open(), retry)
    await world.due()
    const ready = await open()
    await updateWebhook(world.deps, 'tn_a', {
      event: 'EMAIL_EVENT',
      webhook_url: `${receiver.origin}/new`,
    })
    expect(await settle(ready, retry)).toBe(true)
    expect(await open()).toMatchObject({ delivery: { attempts: 2 } })
  })

  it('the settlement of a request to an earlier URL does not change the health of the stream', async () => {
    const steps: DeliveryStep[] = [
      delivered,
      retry,
      { kind: 'divided', batchBytesMax: 70_000 },
      { ...parked, backOffMs: HOUR_MS },
      refused,
      givenUp,
    ]
    for (const [n, step] of steps.entries()) {
      const of = await world.register(receiver.origin, { tenantId: `tn_${n}` })
      await queueBacklog(world.db, of, { count: 2 })
      await setStream(`is_probing = true`)
      const ready = await open(of)
      await updateWebhook(world.deps, of.tenantId, {
        event: 'EMAIL_EVENT',
        headers: { 'X-New': 'new' },
      })
      await setStream(`fail_count = ${step.kind === 'delivered' ? 2 : 0}`)
      const before = await world.stream(of)
      const halves = step.kind === 'divided' ? divideDelivery(ready) : []
      expect(await settle(ready, step, halves)).toBe(true)
      const kept = step.kind === 'retry' ? ready.delivery.deliveryId : null
      expect(await world.stream(of)).toEqual({ ...before, delivery_id: kept })
    }
  })

  it('writes nothing after the stream was deleted', async () => {
    const ready = await open()
    await world.db.query('delete from webhooks_stream')
    const before = await rows('select * from webhooks_open')
    for (const step of [delivered, retry, parked, givenUp])
      expect(await settle(ready, step)).toBe(false)
    expect(await rows('select * from webhooks_open')).toEqual(before)
    expect(await rows('select 1 from webhooks_delivery')).toEqual([])
    expect(await rows('select 1 from webhooks_stream')).toEqual([])
  })

  it('leaves the delivery open when it is rolled back', async () => {
    const ready = await open()
    const interrupted = world.db.transaction(async (tx) => {
      expect(await settleDeliveries(tx, [settlementOf(ready, delivered)])).toEqual([true])
      throw new Error('killed')
    })
    await expect(interrupted).rejects.toThrow('killed')
    expect((await open()).delivery.deliveryId).toBe(ready.delivery.deliveryId)
    expect(await rows('select 1 from webhooks_delivery')).toEqual([])
  })
})
