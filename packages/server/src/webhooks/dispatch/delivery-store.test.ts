import { createWebhookReceiver, type WebhookReceiver } from '@postrider/testkit'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import {
  createWebhookDispatch,
  newEvent,
  type WebhookDispatch,
} from '../../../test/webhook-dispatch.ts'
import { newId } from '../../platform/ids.ts'
import { peekPending } from '../event-store.ts'
import { updateWebhook } from '../update-webhook.ts'
import type { DeliveryStep } from './decide-delivery.ts'
import { createDeliveryCommits } from './delivery-commits.ts'
import {
  discardOpenDelivery,
  loadOpenDelivery,
  type NewDelivery,
  type OpenDelivery,
} from './delivery-store.ts'
import { settleDeliveries } from './settlement-store.ts'
import { loadStream, type StreamKey } from './stream-store.ts'

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

async function next(): Promise<NewDelivery> {
  const streamVersion = (await loadStream(world.db, key))?.version ?? ''
  const { events } = await peekPending(world.db, key, { events: 500, bytes: 1_000_000 })
  const deliveryId = newId('dlv')
  return {
    ...key,
    deliveryId,
    day: events[0]?.day ?? '',
    eventIds: events.map((event) => event.eventId),
    eventDays: events.map((event) => event.day),
    traceparent: 't',
    streamVersion,
  }
}
async function freeze(delivery: NewDelivery) {
  return (await commits.freezes.add(delivery)) !== undefined
}
async function open(): Promise<OpenDelivery> {
  expect(await freeze(await next())).toBe(true)
  const delivery = await loadOpenDelivery(world.db, key)
  if (delivery === undefined) throw new Error('nothing is open')
  return delivery
}
const settle = (delivery: OpenDelivery, step: DeliveryStep, failCount = 0) =>
  commits.settlements.add({
    delivery,
    failCount,
    attempt: { at: new Date(), durationMs: 1, status: 200 },
    step,
  })
const delivered = { kind: 'delivered' } as const
const retry = { kind: 'retry', waitMs: 3_600_000 } as const

describe('freezing', () => {
  it('answers where the request goes', async () => {
    expect(await commits.freezes.add(await next())).toMatchObject({ url: receiver.origin })
  })

  it.each([
    ['URL', () => ({ webhook_url: `${receiver.origin}/new` })],
    ['headers', () => ({ headers: { 'X-New': '1' } })],
  ])('is refused when the %s changed since the stream was read', async (_what, change) => {
    const stale = await next()
    await updateWebhook(world.deps, 'tn_a', { event: 'EMAIL_EVENT', ...change() })
    expect(await freeze(stale)).toBe(false)
  })

  it('takes effect once of two at the same time', async () => {
    const [one, two] = [await next(), await next()]
    const others = createDeliveryCommits(world.db)
    const results = await Promise.all([freeze(one), others.freezes.add(two)])
    expect(results.filter(Boolean)).toHaveLength(1)
    expect(await world.deliveries(key)).toHaveLength(1)
  })

  it('is refused when another dispatcher has delivered a part of it since it was read', async () => {
    const part = await next()
    await world.record(newEvent())
    const stale = await next()
    expect(await freeze(part)).toBe(true)
    const opened = await loadOpenDelivery(world.db, key)
    if (opened === undefined) throw new Error('nothing is open')
    await settle(opened, delivered)
    expect(await freeze(stale)).toBe(false)
    expect(await world.deliveries(key)).toHaveLength(1)
    expect(await freeze(await next())).toBe(true)
  })

  it('is refused while another one is open, and for an inactive webhook, whatever was read', async () => {
    const version = async () => {
      const { rows } = await world.db.query<{ version: string }>(
        'select xmin::text as version from webhooks_stream',
      )
      return { streamVersion: rows[0]?.version ?? '' }
    }
    const delivery = await next()
    await world.db.query(`update webhooks_stream set delivery_id = 'dlv_other'`)
    expect(await freeze({ ...delivery, ...(await version()) })).toBe(false)
    await world.db.query('update webhooks_stream set delivery_id = null')
    await world.db.query('update webhooks_subscription set active = false')
    expect(await freeze({ ...delivery, ...(await version()) })).toBe(false)
    await world.db.query('update webhooks_subscription set active = true')
    expect(await freeze({ ...delivery, ...(await version()) })).toBe(true)
  })

  it('waits for a settlement under way, and is then refused', async () => {
    const opened = await open()
    const stale = { ...(await next()), deliveryId: newId('dlv') }
    const freezing = await world.db.transaction(async (tx) => {
      await settleDeliveries(tx, [
        {
          delivery: opened,
          failCount: 0,
          attempt: { at: new Date(), durationMs: 1 },
          step: delivered,
        },
      ])
      return { result: freeze(stale) }
    })
    expect(await freezing.result).toBe(false)
  })

  it.each([
    ['off', false],
    ['off and on again', true],
  ])('is refused for a webhook that was switched %s', async (_what, active) => {
    const stale = await next()
    for (const state of [false, active])
      await updateWebhook(world.deps, 'tn_a', { event: 'EMAIL_EVENT', active: state })
    expect(await freeze(stale)).toBe(false)
    expect(await world.deliveries(key)).toEqual([])
    expect(await world.stream(key)).toMatchObject({ delivery_id: null })
  })
})

describe('settling', () => {
  it('takes effect once: the second writes nothing', async () => {
    const delivery = await open()
    expect(await settle(delivery, delivered)).toBe(true)
    expect(await settle(delivery, delivered)).toBe(false)
    expect(await settle(delivery, retry)).toBe(false)
    expect(await world.deliveries(key)).toMatchObject([{ status: 'delivered', attempts: 1 }])
    expect(await world.attempts(key)).toHaveLength(1)
    expect(await world.stream(key)).toMatchObject({ fail_count: 0 })
  })

  it('that comes late does not touch the next delivery', async () => {
    const first = await open()
    await settle(first, delivered)
    await world.record(newEvent())
    const second = await open()
    for (const step of [delivered, retry, { kind: 'exhausted', waitMs: 1 }] as const)
      expect(await settle(first, step)).toBe(false)
    expect(await loadOpenDelivery(world.db, key)).toMatchObject({ deliveryId: second.deliveryId })
    expect(await world.pending(key)).toEqual(second.eventIds)
  })

  it('of two that failed together backs off once, and counts both attempts', async () => {
    const delivery = await open()
    expect(await settle(delivery, retry)).toBe(true)
    const before = await world.stream(key)
    expect(await settle(delivery, { ...retry, waitMs: 1 })).toBe(true)
    expect(await world.stream(key)).toEqual(before)
    expect(before).toMatchObject({ fail_count: 1 })
    expect(await world.deliveries(key)).toMatchObject([{ status: 'retrying', attempts: 2 }])
    expect(await world.attempts(key)).toMatchObject([{ attempt: 1 }, { attempt: 2 }])
  })

  it('of one that failed beside one that succeeded leaves it delivered', async () => {
    const delivery = await open()
    await settle(delivery, retry)
    expect(await settle(delivery, delivered)).toBe(true)
    expect(await world.deliveries(key)).toMatchObject([{ status: 'delivered', attempts: 2 }])
    expect(await world.pending(key)).toEqual([])
    expect((await loadStream(world.db, key))?.waitMs).toBe(0)
  })

  it('deletes the pointers of its events and no other', async () => {
    const delivery = await open()
    await world.record(newEvent())
    await settle(delivery, delivered)
    expect(await world.pending(key)).toHaveLength(1)
  })
})

describe('discarding', () => {
  it('with an id touches no other delivery', async () => {
    const { deliveryId } = await open()
    const discard = (id: string) => world.db.transaction((tx) => discardOpenDelivery(tx, key, id))
    expect(await discard('dlv_other')).toBe(false)
    expect(await loadOpenDelivery(world.db, key)).toMatchObject({ deliveryId })
    expect(await discard(deliveryId)).toBe(true)
    expect(await loadOpenDelivery(world.db, key)).toBeUndefined()
    expect(await world.pending(key)).toHaveLength(2)
  })
})
