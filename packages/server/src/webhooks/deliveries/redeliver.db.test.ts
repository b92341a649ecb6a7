import { redeliverAnswer } from '@postrider/contract'
import { createWebhookReceiver, type WebhookReceiver } from '@postrider/testkit'
import { Check } from 'typebox/value'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { untilBlocked } from '../../../test/blocked.ts'
import { createWebhookApi, type WebhookApi } from '../../../test/webhook-api.ts'
import {
  createWebhookDispatch,
  newEvent,
  useWebhookDispatch,
  type WebhookDispatch,
} from '../../../test/webhook-dispatch.ts'
import {
  clearWebhooks,
  type EventKey,
  insertDelivery,
  insertWebhook,
  makeDays,
  recordUnwanted,
  settle,
} from '../../../test/webhook-record.ts'
import type { Db } from '../../platform/db/index.ts'
import { newId } from '../../platform/ids.ts'
import { createRateLimit } from '../../platform/limits/rate-limit.ts'
import type { StreamKey } from '../dispatch/stream-store.ts'
import { deleteWebhook } from '../subscriptions/delete-webhook.ts'
import { updateWebhook } from '../subscriptions/update-webhook.ts'
import { redeliver } from './redeliver.ts'

const LIMITS = { waitingMax: 6, lookedAtMax: 100, findMax: 3, queueMax: 2, lockTries: 2 }

describe('redelivery', () => {
  let world: WebhookDispatch
  let receiver: WebhookReceiver
  useWebhookDispatch((...made) => {
    ;[world, receiver] = made
  })

  const again = (deliveryId: string) => redeliver(world, 'tn_a', deliveryId)
  const run = async () => (await world.dispatcher()).runOnce()
  const bodies = () => receiver.requests.map((request) => request.body.toString())
  const lastId = async (key: StreamKey) => (await world.deliveries(key)).at(-1)?.delivery_id ?? ''
  const parked = async (key: StreamKey) =>
    (await world.deliveries(key)).find((one) => one.status === 'parked')?.delivery_id ?? ''

  it('[contract 3] sends the events of a settled delivery again, unchanged', async () => {
    const key = await world.register(receiver.origin)
    await world.record(newEvent(), newEvent(), newEvent())
    await run()
    expect(await again(await lastId(key))).toEqual({ replayed: 3 })
    await run()
    expect(bodies()).toEqual([bodies()[0], bodies()[0]])
    expect((await world.deliveries(key)).map((one) => one.status)).toEqual([
      'delivered',
      'delivered',
    ])
  })

  it('sends live events first', async () => {
    const key = await world.register(receiver.origin)
    await world.record(newEvent())
    await run()
    await again(await lastId(key))
    const live = newEvent()
    await world.record(live)
    await (await world.dispatcher({ batchEventsMax: 1 })).runOnce()
    expect(receiver.requests[1]?.json).toMatchObject([{ details: { ref_id: live.refId } }])
    expect(bodies()[2]).toBe(bodies()[0])
  })

  it('[contract 4] goes to the webhook that is registered now, under its id', async () => {
    const old = await world.register(receiver.origin)
    await world.record(newEvent())
    await run()
    const deliveryId = await lastId(old)
    await deleteWebhook(world.deps, 'tn_a', 'EMAIL_EVENT')
    const other = await createWebhookReceiver()
    const key = await world.register(other.origin)
    expect(await again(deliveryId)).toEqual({ replayed: 1 })
    await run()
    expect(receiver.requests).toHaveLength(1)
    expect(other.requests.map((request) => request.json)).toMatchObject([
      [{ details: { webhook_id: key.webhookId } }],
    ])
    const withoutId = (body: string | undefined) => body?.replaceAll(/wh_\w{26}/g, '')
    expect(withoutId(other.requests[0]?.body.toString())).toBe(withoutId(bodies()[0]))
    await other.close()
  })

  it('ignores the event switches', async () => {
    const key = await world.register(receiver.origin)
    await world.record(newEvent())
    await run()
    await updateWebhook(world.deps, 'tn_a', {
      event: 'EMAIL_EVENT',
      webhook_options: { events: { click: true } },
    })
    expect(await again(await lastId(key))).toEqual({ replayed: 1 })
    await run()
    expect(bodies()[1]).toBe(bodies()[0])
  })

  it('makes the waiting attempt of a failed delivery now, and sends nothing twice', async () => {
    receiver.setScript([500])
    const key = await world.register(receiver.origin)
    await world.record(newEvent(), newEvent())
    await run()
    await run()
    expect(receiver.requests).toHaveLength(1)
    const deliveryId = await lastId(key)
    expect(await again(deliveryId)).toEqual({ replayed: 2 })
    expect(await world.pending(key)).toHaveLength(2)
    await run()
    await run()
    expect(bodies()).toEqual([bodies()[0], bodies()[0]])
    expect(await world.deliveries(key)).toMatchObject([
      { delivery_id: deliveryId, status: 'delivered', attempts: 2 },
    ])
  })

  it('tries a parked event at once', async () => {
    receiver.setScript([422, 422, 200])
    const key = await world.register(receiver.origin)
    await world.record(newEvent())
    await run()
    const deliveryId = await parked(key)
    expect(await again(deliveryId)).toEqual({ replayed: 1 })
    await run()
    expect(receiver.requests).toHaveLength(2)
    expect(await parked(key)).toBe(deliveryId)
    await again(deliveryId)
    await run()
    expect(await world.deliveries(key)).toMatchObject([
      { delivery_id: deliveryId, status: 'delivered', attempts: 3 },
    ])
    expect(await world.pending(key)).toEqual([])
  })

  it('queues nothing that is queued already', async () => {
    const key = await world.register(receiver.origin)
    await world.record(newEvent(), newEvent())
    await run()
    const deliveryId = await lastId(key)
    expect(await again(deliveryId)).toEqual({ replayed: 2 })
    expect(await again(deliveryId)).toEqual({ replayed: 0 })
    const both = await Promise.all([again(deliveryId), again(deliveryId)])
    expect(both).toEqual([{ replayed: 0 }, { replayed: 0 }])
    await run()
    expect(receiver.requests).toHaveLength(2)
  })

  it('queues each event once for many concurrent calls', async () => {
    const key = await world.register(receiver.origin)
    await world.record(...Array.from({ length: 20 }, () => newEvent()))
    await run()
    const deliveryId = await lastId(key)
    const counts = await Promise.all(Array.from({ length: 5 }, () => again(deliveryId)))
    expect(counts.map((one) => one.replayed).sort((a, b) => b - a)).toEqual([20, 0, 0, 0, 0])
    expect(await world.pending(key)).toHaveLength(20)
  })

  it('sends discarded events of a webhook that was switched off and on', async () => {
    receiver.setScript([500])
    const key = await world.register(receiver.origin)
    await world.record(newEvent())
    await run()
    const deliveryId = await lastId(key)
    await updateWebhook(world.deps, 'tn_a', { event: 'EMAIL_EVENT', active: false })
    await updateWebhook(world.deps, 'tn_a', { event: 'EMAIL_EVENT', active: true })
    await run()
    expect(await world.deliveries(key)).toMatchObject([{ status: 'discarded' }])
    expect(await again(deliveryId)).toEqual({ replayed: 1 })
    await run()
    expect(bodies()).toEqual([bodies()[0], bodies()[0]])
  })

  it('sends a parked event of a webhook that was switched off and on', async () => {
    receiver.setScript([400])
    const key = await world.register(receiver.origin)
    await world.record(newEvent())
    await run()
    const deliveryId = await lastId(key)
    await updateWebhook(world.deps, 'tn_a', { event: 'EMAIL_EVENT', active: false })
    await updateWebhook(world.deps, 'tn_a', { event: 'EMAIL_EVENT', active: true })
    expect(await again(deliveryId)).toEqual({ replayed: 1 })
    await world.due()
    await run()
    expect(bodies()).toHaveLength(2)
    const all = await world.deliveries(key)
    expect(all.map((one) => one.status).sort()).toEqual(['delivered', 'discarded'])
  })
})

describe('redelivery beside the dispatcher', () => {
  let world: WebhookDispatch
  let key: StreamKey
  const woken: unknown[] = []
  beforeAll(async () => {
    world = await createWebhookDispatch()
  })
  beforeEach(async () => {
    key = await insertWebhook(world.db)
    woken.length = 0
  })
  afterEach(() => world.clear())
  afterAll(() => world.close())

  const again = (deliveryId: string) =>
    redeliver(
      { ...world, wakeups: { wake: (streams) => woken.push(...streams) } },
      'tn_a',
      deliveryId,
    )

  it('counts the queued events, and nothing else, against the daily budget', async () => {
    const { db } = world
    const replayBudget = createRateLimit({ name: 'test', usesMax: 3, windowS: 60 })
    const again = (id: string) => redeliver({ ...world, replayBudget }, 'tn_a', id)
    const members = await recordUnwanted(db, ...Array.from({ length: 5 }, () => newEvent()))
    const firstTwo = await insertDelivery(db, {
      ...{ key, members: members.slice(0, 2), status: 'delivered' },
    })
    const all = await insertDelivery(db, { key, members, status: 'delivered' })
    const one = await insertDelivery(db, { key, members: members.slice(4), status: 'delivered' })
    expect(await again(firstTwo)).toEqual({ replayed: 2 })
    expect(await again(firstTwo)).toEqual({ replayed: 0 })
    await expect(again(all)).rejects.toMatchObject({ headers: { ratelimit: '"test";r=1;t=60' } })
    expect(await world.pending(key)).toHaveLength(2)
    expect(await again(one)).toEqual({ replayed: 1 })
    await expect(again(all)).rejects.toMatchObject({ code: 'rate_limited' })
  })

  it('wakes the stream of a delivery that is tried now', async () => {
    const members = await recordUnwanted(world.db, newEvent())
    const id = await insertDelivery(world.db, { key, members, status: 'retrying', isCurrent: true })
    expect(await again(id)).toEqual({ replayed: 1 })
    expect(woken).toMatchObject([key])
    expect(await world.stream(key)).toMatchObject({ state: 'active', delivery_id: id })
  })

  it('queues events of a delivery that is about to be discarded', async () => {
    const members = await recordUnwanted(world.db, newEvent())
    const id = await insertDelivery(world.db, { key, members, status: 'retrying', isCurrent: true })
    await world.db.query('update webhooks_subscription set generation = 1')
    await world.db.query(`update webhooks_stream set state = 'active', not_before = 'infinity'`)
    const before = await world.stream(key)
    expect(await again(id)).toEqual({ replayed: 1 })
    expect(await again(id)).toEqual({ replayed: 0 })
    expect(await world.stream(key)).toEqual(before)
    const { rows } = await world.db.query('select lane, generation from webhooks_pending')
    expect(rows).toEqual([{ lane: 1, generation: 1 }])
  })

  it('hastens a delivery that waits for its turn, but not a stream that backs off', async () => {
    const members = await recordUnwanted(world.db, newEvent())
    const id = await insertDelivery(world.db, { key, members, status: 'parked' })
    await world.db.query(`update webhooks_stream set not_before = '2099-01-01'`)
    const { not_before: notBefore } = (await world.stream(key)) ?? {}
    expect(await again(id)).toEqual({ replayed: 1 })
    expect(await world.stream(key)).toMatchObject({ state: 'active', not_before: notBefore })
  })

  it('queues the events of a delivery that was settled meanwhile', async () => {
    const { db } = world
    const members = await recordUnwanted(db, newEvent())
    const id = await insertDelivery(db, { key, members, status: 'retrying', isCurrent: true })
    const result = await db.transaction(async (tx) => {
      await tx.query('update webhooks_stream set delivery_id = null where webhook_id = $1', [
        key.webhookId,
      ])
      await settle(tx, key, id, 'delivered')
      const waiting = again(id)
      await untilBlocked(db)
      return { waiting }
    })
    expect(await result.waiting).toEqual({ replayed: 1 })
    expect(await world.pending(key)).toEqual(members.map((member) => member.eventId))
  })
})

describe('POST /v1/webhook/deliveries/{delivery_id}/redeliver', () => {
  let api: WebhookApi
  let db: Db
  beforeAll(async () => {
    api = await createWebhookApi({}, { replayLimits: LIMITS })
    db = api.database.db
    await makeDays(db)
  })
  beforeEach(async () => {
    await clearWebhooks(db)
    api.woken.length = 0
  })
  afterAll(() => api.close())

  const post = (id: string, key?: string) =>
    api.call('POST', `/v1/webhook/deliveries/${id}/redeliver`, { key })
  const pending = async () =>
    (await db.query('select * from webhooks_pending order by event_id')).rows

  it('answers 202 with the number of queued events, and wakes the stream', async () => {
    const key = await insertWebhook(db)
    const members = await recordUnwanted(
      db,
      newEvent(),
      newEvent({ refId: '', event: 'MAILER_DEACTIVATED', success: false, details: {} }),
    )
    const id = await insertDelivery(db, { key, members, status: 'exhausted' })
    const answer = await post(id)
    expect(answer).toMatchObject({
      status: 202,
      body: { success: true, message: 'Redelivery Accepted', replayed: 2 },
    })
    expect(Check(redeliverAnswer, answer.body)).toBe(true)
    expect(await pending()).toMatchObject(
      members.map(({ eventId, day }, i) => ({
        tenant_id: 'tn_a',
        webhook_id: key.webhookId,
        event_id: eventId,
        day,
        lane: 1,
        generation: 0,
        solo: i === 1,
        bytes: expect.any(Number),
      })),
    )
    expect(api.woken).toMatchObject([key])
    const { rows } = await db.query('select state from webhooks_stream')
    expect(rows).toEqual([{ state: 'active' }])
    expect((await post(id, 'webhooks')).status).toBe(202)
  })

  it('answers 202 and queues the events that are still in the log', async () => {
    const key = await insertWebhook(db)
    const [member] = await recordUnwanted(db, newEvent())
    const gone = { eventId: newId('evt'), day: (member as EventKey).day }
    const partly = await insertDelivery(db, {
      key,
      members: [gone, member as EventKey],
      status: 'delivered',
    })
    const wholly = await insertDelivery(db, { key, members: [gone], status: 'delivered' })
    expect((await post(wholly)).body.replayed).toBe(0)
    expect((await post(partly)).body.replayed).toBe(1)
  })

  it('answers 403 to a read-only key', async () => {
    expect((await post(newId('dlv'), 'reader')).status).toBe(403)
  })

  it('answers 404 to an unknown delivery, another tenant, and events without a webhook', async () => {
    const key = await insertWebhook(db)
    const members = await recordUnwanted(db, newEvent())
    const id = await insertDelivery(db, { key, members, status: 'delivered' })
    for (const foreign of [await post(id, 'b'), await post('dlv_x'), await post(newId('dlv'))])
      expect(foreign).toMatchObject({ status: 404, body: { code: 'not_found' } })
    await db.query('delete from webhooks_subscription')
    await insertWebhook(db, { event: 'DOMAIN_VERIFICATION' })
    expect(await post(id)).toMatchObject({ status: 404, body: { code: 'webhook_not_found' } })
    expect(await pending()).toEqual([])
    expect(api.woken).toEqual([])
  })

  it('answers 409 while the webhook is not active', async () => {
    const key = await insertWebhook(db, { active: false })
    const members = await recordUnwanted(db, newEvent())
    const id = await insertDelivery(db, { key, members, status: 'delivered' })
    expect(await post(id)).toMatchObject({ status: 409, body: { code: 'conflict' } })
    expect(await pending()).toEqual([])
  })

  it('answers 429 and queues nothing when too many events would wait', async () => {
    const key = await insertWebhook(db)
    const members = await recordUnwanted(db, ...Array.from({ length: 7 }, () => newEvent()))
    const first = await insertDelivery(db, {
      key,
      members: members.slice(0, 4),
      status: 'delivered',
    })
    const second = await insertDelivery(db, { key, members: members.slice(4), status: 'delivered' })
    expect((await post(first)).body.replayed).toBe(4)
    const refused = await post(second)
    expect(refused).toMatchObject({ status: 429, body: { code: 'rate_limited' } })
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0)
    expect(refused.headers['ratelimit-policy']).toBe('"replayed-events";q=6')
    expect(await pending()).toHaveLength(4)
  })
})
