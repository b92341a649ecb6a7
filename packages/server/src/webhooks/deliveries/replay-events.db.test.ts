import { type EventName, eventNames, replayWebhookEventsAnswer } from '@postrider/contract'
import { createWebhookReceiver, type WebhookReceiver } from '@postrider/testkit'
import { Check } from 'typebox/value'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { emptyTables } from '../../../test/empty-tables.ts'
import { createWebhookApi, type WebhookApi } from '../../../test/webhook-api.ts'
import {
  createWebhookDispatch,
  newEvent,
  type WebhookDispatch,
} from '../../../test/webhook-dispatch.ts'
import {
  clearWebhooks,
  deliveryIdAt,
  type EventKey,
  insertDelivery,
  insertWebhook,
  makeDays,
  recordUnwanted,
} from '../../../test/webhook-record.ts'
import { createClock, formatMicros } from '../../platform/clock.ts'
import type { Db } from '../../platform/db/index.ts'
import { newId, newUlid } from '../../platform/ids.ts'
import { createRateLimit } from '../../platform/limits/rate-limit.ts'
import type { StreamKey } from '../dispatch/stream-store.ts'
import { type NewEvent, recordEvents } from '../index.ts'
import { deleteWebhook } from '../subscriptions/delete-webhook.ts'
import { updateWebhook } from '../subscriptions/update-webhook.ts'
import { countEvents, type ReplaySelection, replayEvents } from './replay-events.ts'
import { lockReplays } from './replay-store.ts'

const LIMITS = { waitingMax: 12, lookedAtMax: 40, findMax: 3, queueMax: 5, lockTries: 2 }
const HOUR_MICROS = 3_600_000_000n
const DAY_MICROS = 24n * HOUR_MICROS

describe('a replay', () => {
  let world: WebhookDispatch
  let receiver: WebhookReceiver
  beforeAll(async () => {
    world = await createWebhookDispatch()
    await makeDays(world.db, 10)
  })
  beforeEach(async () => {
    receiver = await createWebhookReceiver()
  })
  afterEach(async () => {
    await receiver.close()
    await world.clear()
  })
  afterAll(() => world.close())

  const replay = async (selection: ReplaySelection, tenantId = 'tn_a') => {
    const { replayed } = await replayEvents(world, tenantId, selection)
    return { replayed }
  }
  const run = async () => (await world.dispatcher()).runOnce()
  type Sent = { details: { ref_id: string; event_at: string; webhook_id: string } }
  const sent = () => receiver.requests.flatMap((request) => request.json as Sent[])
  const everything = { start: '2020-01-01' }

  it('[contract 3] sends unchanged events under the id of the current webhook', async () => {
    const old = await world.register(receiver.origin)
    await world.record(newEvent(), newEvent())
    await run()
    await deleteWebhook(world.deps, 'tn_a', 'EMAIL_EVENT')
    const key = await world.register(receiver.origin)
    expect(await replay(everything)).toEqual({ replayed: 2 })
    await run()
    const [first, second] = receiver.requests.map((request) => request.body.toString())
    expect(first).toContain(old.webhookId)
    expect(second).toBe(first?.replaceAll(old.webhookId, key.webhookId))
  })

  it('counts what it would send, and sends none of it, when it is dry', async () => {
    const key = await world.register(receiver.origin)
    await world.record(newEvent(), newEvent(), newEvent())
    await run()
    const count = (selection: ReplaySelection) => countEvents(world, 'tn_a', selection)
    expect(await count(everything)).toEqual({
      matched: 3,
      replayed: 0,
      webhook_ids: [key.webhookId],
    })
    expect(await count({ ...everything, undelivered: true })).toMatchObject({
      matched: 0,
      replayed: 0,
    })
    expect(await world.pending(key)).toEqual([])
    expect(await replay(everything)).toEqual({ replayed: 3 })
    expect(await count(everything)).toMatchObject({ matched: 0, replayed: 0 })
    await expect(count({})).rejects.toMatchObject({ code: 'validation_failed' })
  })

  it('sends events from before the webhook existed', async () => {
    const event = newEvent()
    await world.record(event)
    await world.register(receiver.origin)
    await run()
    expect(receiver.requests).toEqual([])
    expect(await replay({ ref_id: event.refId })).toEqual({ replayed: 1 })
    await run()
    expect(sent()).toMatchObject([
      { details: { ref_id: event.refId, event_at: formatMicros(event.eventAtMicros) } },
    ])
  })

  it('does not repeat events that are queued or in an unsettled request', async () => {
    receiver.setScript([500])
    const key = await world.register(receiver.origin)
    await world.record(newEvent(), newEvent())
    await run()
    await world.record(newEvent())
    expect(await world.pending(key)).toHaveLength(3)
    expect(await replay(everything)).toEqual({ replayed: 0 })
    await world.due()
    await run()
    expect(sent()).toHaveLength(2 + 2 + 1)
    expect(await replay(everything)).toEqual({ replayed: 3 })
    expect(await replay(everything)).toEqual({ replayed: 0 })
    expect(await world.pending(key)).toHaveLength(3)
  })

  it('sends discarded events of a webhook that was switched off once', async () => {
    const key = await world.register(receiver.origin)
    await world.record(...Array.from({ length: 6 }, () => newEvent()))
    await run()
    // Of a replay that waits, of what is live, and of a delivery that failed.
    expect(await replay(everything)).toEqual({ replayed: 6 })
    receiver.setScript([500])
    await world.record(newEvent(), newEvent())
    const events = await world.pending(key)
    await world.db.query('delete from webhooks_pending where event_id = $1', [events[0]])
    await (await world.dispatcher({ batchEventsMax: 1 })).runOnce()
    await updateWebhook(world.deps, 'tn_a', { event: 'EMAIL_EVENT', active: false })
    await updateWebhook(world.deps, 'tn_a', { event: 'EMAIL_EVENT', active: true })
    receiver.clear()
    expect(await replay(everything)).toEqual({ replayed: 8 })
    expect(await replay(everything)).toEqual({ replayed: 0 })
    await world.due()
    await run()
    expect(sent()).toHaveLength(8)
    expect(new Set(sent().map((one) => one.details.ref_id)).size).toBe(8)
    const all = (await world.deliveries(key)).filter((one) => one.status === 'discarded')
    // One in a request that failed and one live: of the replay, all that waited is queued anew.
    expect(all.flatMap((one) => one.event_ids).sort()).toEqual(events.slice(6))
    expect(await world.pending(key)).toEqual([])
  })

  it('sends every event once while a long queue is being discarded', async () => {
    await world.register(receiver.origin)
    for (let i = 0; i < 12; i++)
      await world.record(...Array.from({ length: 500 }, () => newEvent()))
    await updateWebhook(world.deps, 'tn_a', { event: 'EMAIL_EVENT', active: false })
    await updateWebhook(world.deps, 'tn_a', { event: 'EMAIL_EVENT', active: true })
    const dispatcher = await world.dispatcher()
    const [, { replayed }] = await Promise.all([dispatcher.runOnce(), replay(everything)])
    expect(replayed).toBe(6_000)
    await run()
    expect(sent()).toHaveLength(6_000)
    expect(new Set(sent().map((one) => one.details.ref_id)).size).toBe(6_000)
  }, 30_000)

  it('queues each event once for many concurrent calls', async () => {
    const key = await world.register(receiver.origin)
    await world.record(...Array.from({ length: 50 }, () => newEvent()))
    await run()
    const counts = await Promise.all(Array.from({ length: 4 }, () => replay(everything)))
    expect(counts.reduce((sum, { replayed }) => sum + replayed, 0)).toBe(50)
    expect(await world.pending(key)).toHaveLength(50)
  })

  it('sends every event while new ones keep coming, and the new ones once', async () => {
    await world.register(receiver.origin)
    const old = Array.from({ length: 300 }, () => newEvent())
    await world.record(...old)
    await run()
    receiver.clear()
    const dispatcher = await world.dispatcher({ batchEventsMax: 20 })
    await dispatcher.start()
    const live: NewEvent[] = []
    const recording = (async () => {
      for (let i = 0; i < 100; i++) {
        const event = newEvent()
        live.push(event)
        await world.record(event)
      }
    })()
    const small = { ...LIMITS, waitingMax: 1_000, lookedAtMax: 1_000, findMax: 30, queueMax: 30 }
    const { replayed } = await replayEvents({ ...world, replayLimits: small }, 'tn_a', {
      start: formatMicros(old[0]?.eventAtMicros ?? 0n),
    })
    await recording
    await receiver.waitUntil(() => sent().length >= replayed + live.length)
    await dispatcher.stop()
    const counts = new Map<string, number>()
    for (const { details } of sent())
      counts.set(details.ref_id, (counts.get(details.ref_id) ?? 0) + 1)
    expect(old.every(({ refId }) => counts.get(refId) === 1)).toBe(true)
    // Of those, what had been delivered when the replay began may be among its events.
    const twice = live.filter(({ refId }) => counts.get(refId) === 2).length
    expect(live.every(({ refId }) => [1, 2].includes(counts.get(refId) ?? 0))).toBe(true)
    expect(replayed).toBe(old.length + twice)
  })

  it('can be called again after an interruption, and queues no waiting event twice', async () => {
    const key = await world.register(receiver.origin)
    await world.record(...Array.from({ length: 12 }, () => newEvent()))
    await run()
    const { db } = world
    let transactions = 0
    // Finding takes 12 / 3 + 1 for the events, 1 for late ones, one for webhooks, one for room.
    const failing: Db = {
      ...db,
      transaction: (work, o) => {
        transactions += 1
        if (transactions > 9) throw new Error('the process ended')
        return db.transaction(work, o)
      },
    }
    const deps = { ...world, db: failing, replayLimits: LIMITS }
    await expect(replayEvents(deps, 'tn_a', everything)).rejects.toThrow('the process ended')
    const left = await world.pending(key)
    expect(left).toHaveLength(LIMITS.queueMax)
    const rest = await replayEvents({ ...world, replayLimits: LIMITS }, 'tn_a', everything)
    expect(rest).toMatchObject({ replayed: 12 - left.length })
    expect(await world.pending(key)).toHaveLength(12)
  })

  it('leaves out delivered events when it is limited to undelivered ones', async () => {
    receiver.setScript([200, 422, 200])
    const key = await world.register(receiver.origin)
    const [delivered, refused, unwanted] = [newEvent(), newEvent(), newEvent()]
    await world.record(delivered)
    await run()
    await world.record(refused)
    await run()
    await world.db.query(`update webhooks_open set created_at = now() - interval '4 days'`)
    receiver.setScript([422])
    await world.due()
    await run()
    const statuses = (await world.deliveries(key)).map((one) => one.status)
    expect(statuses).toEqual(['delivered', 'exhausted'])
    await recordUnwanted(world.db, unwanted)
    receiver.setScript([])
    expect(await replay({ ...everything, undelivered: true })).toEqual({ replayed: 2 })
    await run()
    expect(await replay({ ...everything, undelivered: true })).toEqual({ replayed: 0 })
    expect(await replay({ ...everything, undelivered: false })).toEqual({ replayed: 3 })
  })

  it('recognises deliveries from before the day under which a late event is stored', async () => {
    const key = await insertWebhook(world.db)
    const members = await recordUnwanted(world.db, newEvent())
    await world.db.query('update webhooks_event set is_late = true')
    const atMs = Date.now() - 3 * 86_400_000
    await insertDelivery(world.db, { key, members, status: 'delivered', atMs })
    expect(await replay({ ...everything, undelivered: true })).toEqual({ replayed: 0 })
  })

  it('obeys the current event switches, except for MAILER_DEACTIVATED', async () => {
    await world.register(receiver.origin, { events: { delivery: true } })
    const events = [
      newEvent(),
      newEvent({ event: 'MAIL_OPENED' }),
      newEvent({ refId: '', event: 'MAILER_DEACTIVATED', success: false, details: {} }),
    ]
    await recordUnwanted(world.db, ...events)
    expect(await replay(everything)).toEqual({ replayed: 2 })
    await updateWebhook(world.deps, 'tn_a', {
      event: 'EMAIL_EVENT',
      webhook_options: { events: { open: true } },
    })
    expect(await replay(everything)).toEqual({ replayed: 1 })
    await run()
    // It travels alone, as when it was new.
    expect(receiver.requests.map((request) => (request.json as Sent[]).length).sort()).toEqual([
      1, 2,
    ])
  })
})

describe('POST /v1/webhook/replay', () => {
  let api: WebhookApi
  let db: Db
  beforeAll(async () => {
    api = await createWebhookApi({}, { replayLimits: LIMITS })
    db = api.database.db
    await makeDays(db, 10)
  })
  beforeEach(async () => {
    await clearWebhooks(db)
    api.woken.length = 0
  })
  afterAll(() => api.close())

  const post = (payload: object, key?: string) =>
    api.call('POST', '/v1/webhook/replay', { payload, key })
  const pendingOf = async (key: StreamKey) => {
    const { rows } = await db.query<{ event_id: string }>(
      `select event_id from webhooks_pending where tenant_id = $1 and webhook_id = $2
        order by event_id`,
      [key.tenantId, key.webhookId],
    )
    return rows.map((row) => row.event_id)
  }
  const idsOf = (places: readonly (EventKey | undefined)[]) =>
    places.map((place) => place?.eventId ?? '').sort()
  const nowMicros = () => BigInt(Date.now()) * 1000n

  describe('202', () => {
    it('counts the queued events over several pieces, and wakes the stream', async () => {
      const key = await insertWebhook(db)
      const places = await recordUnwanted(db, ...Array.from({ length: 11 }, () => newEvent()))
      const answer = await post({ start: '2020-01-01' }, 'webhooks')
      expect(answer).toMatchObject({
        status: 202,
        body: { success: true, message: 'Replay Accepted', replayed: 11 },
      })
      expect(Check(replayWebhookEventsAnswer, answer.body)).toBe(true)
      expect(await pendingOf(key)).toEqual(idsOf(places))
      const { rows } = await db.query(
        'select distinct lane, generation, solo from webhooks_pending',
      )
      expect(rows).toEqual([{ lane: 1, generation: 0, solo: false }])
      expect(api.woken).toMatchObject([key, key, key])
      expect((await db.query('select state from webhooks_stream')).rows).toEqual([
        { state: 'active' },
      ])
    })

    it('selects events by the microsecond, both ends included', async () => {
      const key = await insertWebhook(db)
      const at = nowMicros() - HOUR_MICROS
      const times = [at - 1n, at, at + 1n, at + 2n, at + 3n]
      const places = await recordUnwanted(
        db,
        ...times.map((eventAtMicros) => newEvent({ eventAtMicros })),
      )
      const [start, end] = [formatMicros(at), formatMicros(at + 2n)]
      expect((await post({ start, end })).body.replayed).toBe(3)
      expect(await pendingOf(key)).toEqual(idsOf(places.slice(1, 4)))
    })

    it('finds events that were recorded late, under any day', async () => {
      const key = await insertWebhook(db)
      const at = nowMicros()
      const far = 200n * DAY_MICROS
      const ago = [0n, HOUR_MICROS / 2n, 2n * HOUR_MICROS, 3n * DAY_MICROS, 9n * DAY_MICROS, far]
      const places = await recordUnwanted(
        db,
        ...ago.map((before) => newEvent({ eventAtMicros: at - before })),
      )
      const { rows } = await db.query('select 1 from webhooks_event where is_late')
      expect(rows).toHaveLength(5)
      for (const [i, before] of ago.entries()) {
        await db.query('delete from webhooks_pending')
        const time = formatMicros(at - before)
        expect((await post({ start: time, end: time })).body.replayed, String(before)).toBe(1)
        expect(await pendingOf(key)).toEqual(idsOf([places[i]]))
      }
      expect((await post({ start: '2020-01-01' })).body.replayed).toBe(5)
    })

    it('finds an event that was recorded just before or after midnight', async () => {
      await insertWebhook(db)
      const midnight = BigInt(Date.parse(new Date().toISOString().slice(0, 10))) * 1000n
      const minutes = 60_000_000n
      const marks = [
        { recordedMs: -1, at: midnight - 9n * minutes },
        { recordedMs: 1, at: midnight - 9n * minutes },
        { recordedMs: -1, at: midnight + 9n * minutes },
      ]
      for (const { recordedMs, at } of marks) {
        await emptyTables(db, 'webhooks_event', 'webhooks_pending')
        const [place] = await recordUnwanted(db, newEvent({ eventAtMicros: at }))
        const eventId = deliveryIdAt(Number(midnight / 1000n) + recordedMs).replace('dlv', 'evt')
        await db.query(
          'update webhooks_event set event_id = $2, is_late = false where event_id = $1',
          [place?.eventId, eventId],
        )
        const time = formatMicros(at)
        const day = time.slice(0, 10)
        const whole = { start: day, end: day }
        const exact = { start: time, end: time }
        // What is yet to happen is not replayed.
        const expected = at < nowMicros() ? 1 : 0
        expect((await post(exact)).body.replayed).toBe(expected)
        await emptyTables(db, 'webhooks_pending')
        expect((await post(whole)).body.replayed).toBe(expected)
      }
    })

    it('finds an event under the day of the database when the clocks differ', async () => {
      await insertWebhook(db)
      const day = '2026-03-10'
      const at = BigInt(Date.parse(`${day}T12:00:00Z`)) * 1000n
      const [place] = await recordUnwanted(db, newEvent({ eventAtMicros: nowMicros() }))
      const eventId = deliveryIdAt(Number(at / 1000n)).replace('dlv', 'evt')
      const time = formatMicros(at)
      await db.query(`create table webhooks_event_march partition of webhooks_event
        for values from ('2026-03-09') to ('2026-03-12')`)
      for (const kept of ['2026-03-09', day, '2026-03-11']) {
        await db.query('delete from webhooks_pending')
        await db.query(
          `update webhooks_event set event_id = $1, event_at = $2, day = $3, is_late = false
            where event_id in ($1, $4)`,
          [eventId, time, kept, place?.eventId],
        )
        expect((await post({ start: time, end: time })).body.replayed, kept).toBe(1)
      }
      await db.query('drop table webhooks_event_march')
    })

    it('leaves out events of the future, which come from a fast clock', async () => {
      await insertWebhook(db)
      const event = newEvent({ eventAtMicros: nowMicros() + HOUR_MICROS })
      await recordUnwanted(db, event, newEvent({ refId: event.refId }))
      const end = formatMicros(nowMicros() + 2n * HOUR_MICROS)
      expect((await post({ start: '2020-01-01', end })).body.replayed).toBe(1)
      await db.query('delete from webhooks_pending')
      expect((await post({ ref_id: event.refId })).body.replayed).toBe(1)
    })

    it('[contract 5] takes dates as whole days in UTC', async () => {
      await insertWebhook(db)
      const today = BigInt(Date.parse(new Date().toISOString().slice(0, 10))) * 1000n
      const first = today - 2n * DAY_MICROS
      const times = [first - 1n, first, first + DAY_MICROS - 1n, first + DAY_MICROS]
      await recordUnwanted(db, ...times.map((eventAtMicros) => newEvent({ eventAtMicros })))
      const day = formatMicros(first).slice(0, 10)
      expect((await post({ start: day, end: day })).body.replayed).toBe(2)
    })

    it('selects by email, by event, and by both within a range', async () => {
      const key = await insertWebhook(db)
      const mine = newEvent({ event: 'MAIL_OPENED' })
      const later = { refId: mine.refId, eventAtMicros: nowMicros() - 1000n }
      const [opened, delivered, other] = await recordUnwanted(
        db,
        { ...mine, eventAtMicros: nowMicros() - HOUR_MICROS },
        newEvent(later),
        newEvent(),
      )
      const since = formatMicros(nowMicros() - HOUR_MICROS / 2n)
      const cases: [ReplaySelection, (EventKey | undefined)[]][] = [
        [{ ref_id: mine.refId }, [opened, delivered]],
        [{ ref_id: mine.refId, event: 'MAIL_OPENED' }, [opened]],
        [{ ref_id: mine.refId, start: since }, [delivered]],
        [{ ref_id: mine.refId, end: since }, [opened]],
        [{ start: '2020-01-01', event: 'MAIL_DELIVERED' }, [delivered, other]],
        [{ ref_id: newUlid() }, []],
        [{ start: '2020-01-01', end: '2020-02-01' }, []],
      ]
      for (const [selection, expected] of cases) {
        await db.query('delete from webhooks_pending')
        const { status, body } = await post(selection)
        expect(status).toBe(202)
        expect(body.replayed).toBe(expected.length)
        expect(await pendingOf(key)).toEqual(idsOf(expected))
      }
    })

    it('selects by received message, and refuses what is none', async () => {
      await insertWebhook(db)
      const key = await insertWebhook(db, { event: 'INCOMING', owner: 'imap_1' })
      const inboundId = newId('in')
      const received = { event: 'INCOMING_EMAIL', owner: 'imap_1', details: {} } as const
      const [mine] = await recordUnwanted(
        db,
        newEvent({ ...received, refId: inboundId }),
        newEvent({ ...received, refId: newId('in') }),
        newEvent(),
      )
      const { status, body } = await post({ inbound_id: inboundId })
      expect(status).toBe(202)
      expect(body.replayed).toBe(1)
      expect(await pendingOf(key)).toEqual(idsOf([mine]))
      for (const selection of [
        { inbound_id: 'x' },
        { inbound_id: newUlid() },
        { inbound_id: inboundId, ref_id: newUlid() },
      ]) {
        const refused = await post(selection)
        expect(refused.status).toBe(400)
        expect(refused.body.errors).toMatchObject([{ path: '/inbound_id' }])
      }
    })

    const incoming = new Set<EventName>(['INCOMING_EMAIL', 'IMAP_ERROR'])
    const routes = eventNames.flatMap((event): { event: EventName; owner?: string }[] => {
      if (incoming.has(event)) return [{ event, owner: 'imap_1' }]
      return event === 'MAILER_DEACTIVATED' ? [{ event }, { event, owner: 'imap_1' }] : [{ event }]
    })
    it.each(routes)('sends %o to the same webhook as a new event', async (route) => {
      for (const event of ['EMAIL_EVENT', 'DOMAIN_VERIFICATION'] as const)
        await insertWebhook(db, { event })
      for (const owner of ['imap_1', 'imap_2'])
        await insertWebhook(db, { event: 'INCOMING', owner })
      const isMessage = !/IMAP|MAILER|DOMAIN|INCOMING/.test(route.event)
      const event = newEvent({ ...route, success: false, ...(isMessage ? {} : { refId: '' }) })
      await db.transaction((tx) => recordEvents(tx, [event]))
      const columns = 'webhook_id, event_id, day, bytes, generation, solo'
      const live = await db.query(`select ${columns}, 1 as lane from webhooks_pending`)
      expect(live.rows).toHaveLength(1)
      await db.query('delete from webhooks_pending')
      expect((await post({ start: '2020-01-01', event: route.event })).body.replayed).toBe(1)
      const replayed = await db.query<Record<string, unknown>>(
        `select ${columns}, lane from webhooks_pending`,
      )
      const [row] = live.rows as { bytes: number }[]
      // Where its body names no webhook, the id is counted all the same.
      const slack = /MAILER|IMAP_ERROR|INCOMING/.test(route.event) ? 29 : 0
      expect(replayed.rows).toEqual([{ ...row, bytes: (row?.bytes ?? 0) + slack }])
    })

    it('sends what it can when one of the webhooks is absent or switched off', async () => {
      const key = await insertWebhook(db)
      const [mail] = await recordUnwanted(
        db,
        newEvent(),
        newEvent({ refId: '', event: 'DOMAIN_VERIFICATION', details: {} }),
      )
      expect((await post({ start: '2020-01-01' })).body.replayed).toBe(1)
      await insertWebhook(db, { event: 'DOMAIN_VERIFICATION', active: false })
      await db.query('delete from webhooks_pending')
      expect((await post({ start: '2020-01-01' })).body.replayed).toBe(1)
      expect(await pendingOf(key)).toEqual(idsOf([mail]))
    })

    it('sends the events of one webhook on request of the operator', async () => {
      await insertWebhook(db)
      const key = await insertWebhook(db, { event: 'DOMAIN_VERIFICATION' })
      const [, domain] = await recordUnwanted(
        db,
        newEvent(),
        newEvent({ refId: '', event: 'DOMAIN_VERIFICATION', details: {} }),
      )
      const clock = { now: () => new Date(), nowMicros }
      const deps = { db, clock, wakeups: { wake: () => undefined } }
      const selection = { start: '2020-01-01', webhook_id: key.webhookId }
      expect(await replayEvents(deps, 'tn_a', selection)).toEqual({
        ...{ replayed: 1, webhook_ids: [key.webhookId] },
      })
      expect(await pendingOf(key)).toEqual(idsOf([domain]))
    })

    it('leaves out events in an open delivery of this webhook, but not of a deleted one', async () => {
      const old = await insertWebhook(db)
      const [open, parked, free] = await recordUnwanted(db, newEvent(), newEvent(), newEvent())
      await insertDelivery(db, {
        key: old,
        members: [open as EventKey],
        status: 'retrying',
        isCurrent: true,
      })
      await insertDelivery(db, { key: old, members: [parked as EventKey], status: 'parked' })
      expect((await post({ start: '2020-01-01' })).body.replayed).toBe(1)
      expect(await pendingOf(old)).toEqual(idsOf([free]))
      await db.query('delete from webhooks_subscription')
      const key = await insertWebhook(db)
      expect((await post({ start: '2020-01-01' })).body.replayed).toBe(3)
      expect(await pendingOf(key)).toHaveLength(3)
    })
  })

  describe('400', () => {
    it.each([
      [{}, '/start'],
      [{ event: 'MAIL_OPENED' }, '/start'],
      [{ end: '2026-11-20' }, '/start'],
      [{ start: 'now' }, '/start'],
      [{ start: '2026-11-20', end: 'x' }, '/end'],
      [{ start: '2026-11-21', end: '2026-11-20' }, '/start'],
      [{ ref_id: 'x' }, '/ref_id'],
      [{ start: '2026-11-20', event: 'EMAIL_EVENT' }, '/event'],
      [{ start: '2026-11-20', undelivered: 'yes' }, '/undelivered'],
      [{ start: '2026-11-20', webhook_id: 'wh_1' }, '/webhook_id'],
    ])('refuses %o at %s', async (selection, path) => {
      await insertWebhook(db)
      expect(await post(selection)).toMatchObject({
        status: 400,
        body: { code: 'validation_failed', errors: [{ path }] },
      })
    })

    it('names the bound of a selection that is too large, and queues nothing', async () => {
      const key = await insertWebhook(db)
      const refId = newUlid()
      await recordUnwanted(db, ...Array.from({ length: 13 }, () => newEvent({ refId })))
      for (const [selection, path] of [
        [{ start: '2020-01-01' }, '/start'],
        [{ ref_id: refId }, '/ref_id'],
      ] as const) {
        const { status, body } = await post(selection)
        expect(status).toBe(400)
        expect(body.errors).toMatchObject([{ path, message: expect.stringContaining(' 12 ') }])
      }
      expect(await pendingOf(key)).toEqual([])
    })

    it('names the bound of events that it looks at, whatever it selects', async () => {
      const key = await insertWebhook(db)
      const refId = newUlid()
      const events = Array.from({ length: 45 }, () => newEvent({ refId }))
      await db.transaction((tx) => recordEvents(tx, events))
      const waiting = await pendingOf(key)
      for (const selection of [{ start: '2020-01-01' }, { ref_id: refId }]) {
        const { status, body } = await post(selection)
        expect(status).toBe(400)
        expect(body.errors?.[0]?.message).toContain(' 40 ')
      }
      expect(await pendingOf(key)).toEqual(waiting)
    })
  })

  it('answers 401 without a key, and 403 to a read-only key', async () => {
    expect((await post({ start: '2020-01-01' }, '')).status).toBe(401)
    expect((await post({ start: '2020-01-01' }, 'reader')).status).toBe(403)
  })

  it('answers 404 when no webhook takes such events, or when there is no webhook', async () => {
    const notFound = { status: 404, body: { code: 'webhook_not_found' } }
    await recordUnwanted(db, newEvent())
    expect(await post({ start: '2020-01-01' })).toMatchObject(notFound)
    await insertWebhook(db, { event: 'DOMAIN_VERIFICATION' })
    for (const event of ['MAIL_OPENED', 'MAILER_DEACTIVATED', 'IMAP_ERROR', 'INCOMING_EMAIL'])
      expect(await post({ start: '2020-01-01', event })).toMatchObject(notFound)
    expect((await post({ start: '2020-01-01', event: 'DOMAIN_VERIFICATION' })).status).toBe(202)
    await insertWebhook(db, { tenantId: 'tn_b' })
    expect(await post({ start: '2020-01-01', event: 'MAIL_OPENED' })).toMatchObject(notFound)
  })

  it('answers 409 when every webhook that takes such events is inactive', async () => {
    await insertWebhook(db, { active: false })
    await recordUnwanted(db, newEvent())
    for (const selection of [{ start: '2020-01-01' }, { ref_id: newUlid(), event: 'MAIL_OPENED' }])
      expect(await post(selection)).toMatchObject({ status: 409, body: { code: 'conflict' } })
  })

  it('answers 404 or 409 when no found event has an active webhook', async () => {
    const mail = newEvent()
    const domain = newEvent({ refId: '', event: 'DOMAIN_VERIFICATION', details: {} })
    await recordUnwanted(db, mail)
    const other = await insertWebhook(db, { event: 'DOMAIN_VERIFICATION' })
    const selections = [{ ref_id: mail.refId }, { start: '2020-01-01' }]
    for (const selection of selections)
      expect(await post(selection)).toMatchObject({
        status: 404,
        body: { code: 'webhook_not_found', message: expect.stringContaining('these events') },
      })
    expect(await post({ start: '2020-01-01', end: '2020-01-02' })).toMatchObject({
      status: 202,
      body: { message: expect.stringMatching(/^Nothing/), replayed: 0 },
    })
    await insertWebhook(db, { active: false })
    for (const selection of selections)
      expect(await post(selection)).toMatchObject({ status: 409, body: { code: 'conflict' } })
    // Those that are taken are sent, and again those that wait are no reason for a refusal.
    await recordUnwanted(db, domain)
    for (const replayed of [1, 0])
      expect(await post({ start: '2020-01-01' })).toMatchObject({ status: 202, body: { replayed } })
    expect(await pendingOf(other)).toHaveLength(1)
    expect((await post({ ref_id: mail.refId })).status).toBe(409)
  })

  it('answers 202 with 0 when the event switches leave out all events', async () => {
    await insertWebhook(db, { toggles: { open: true } })
    const event = newEvent()
    await recordUnwanted(db, event)
    for (const selection of [{ ref_id: event.refId }, { start: '2020-01-01' }])
      expect(await post(selection)).toMatchObject({
        status: 202,
        body: { message: expect.stringMatching(/^Nothing/), replayed: 0 },
      })
  })

  describe('429', () => {
    it('queues nothing when the events do not fit beside the waiting ones', async () => {
      const key = await insertWebhook(db)
      const first = await recordUnwanted(db, ...Array.from({ length: 7 }, () => newEvent()))
      expect((await post({ start: '2020-01-01' })).body.replayed).toBe(7)
      await recordUnwanted(db, ...Array.from({ length: 6 }, () => newEvent()))
      const refused = await post({ start: '2020-01-01' })
      expect(refused).toMatchObject({ status: 429, body: { code: 'rate_limited' } })
      expect(refused.body.message).toContain('12')
      expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0)
      expect(refused.headers.ratelimit).toMatch(/^"replayed-events";r=5;t=\d+$/)
      expect(await pendingOf(key)).toEqual(idsOf(first))
      // What is live does not count.
      await db.query('update webhooks_pending set lane = 0')
      expect((await post({ start: '2020-01-01' })).body.replayed).toBe(6)
    })

    it('counts the events that a concurrent replay is about to queue', async () => {
      const key = await insertWebhook(db)
      for (const event of ['MAIL_OPENED', 'MAIL_CLICKED'] as const)
        await recordUnwanted(db, ...Array.from({ length: 5 }, () => newEvent({ event })))
      await recordUnwanted(db, ...Array.from({ length: 4 }, () => newEvent()))
      expect((await post({ start: '2020-01-01', event: 'MAIL_DELIVERED' })).body.replayed).toBe(4)
      const gate = Promise.withResolvers<void>()
      const reached = Promise.withResolvers<void>()
      // Held between its last statement and its commit.
      const held: Db = {
        ...db,
        transaction: (work, o) =>
          db.transaction(async (tx) => {
            const result = await work(tx)
            const { rowCount } = await tx.query('select 1 from webhooks_pending')
            if (rowCount > 4) {
              reached.resolve()
              await gate.promise
            }
            return result
          }, o),
      }
      const clock = { now: () => new Date(), nowMicros }
      const deps = { clock, wakeups: { wake: () => undefined }, replayLimits: LIMITS }
      const select = (event: EventName) => ({ start: '2020-01-01', event })
      const first = replayEvents({ ...deps, db: held }, 'tn_a', select('MAIL_OPENED'))
      await reached.promise
      const queued = Promise.withResolvers<void>()
      // What finds the lock taken ends its transaction: it does not wait in one.
      const counted: Db = {
        ...db,
        transaction: async (work, o) => {
          const result = await db.transaction(work, o)
          if (result === undefined) queued.resolve()
          return result
        },
      }
      const second = replayEvents({ ...deps, db: counted }, 'tn_a', select('MAIL_CLICKED'))
      const refused = expect(second).rejects.toMatchObject({ code: 'rate_limited' })
      await queued.promise
      gate.resolve()
      expect(await first).toMatchObject({ replayed: 5 })
      await refused
      expect(await pendingOf(key)).toHaveLength(9)
    })

    it('[contract 2] counts all replayed events of a day against a budget', async () => {
      const usesMax = 5
      const budget = createRateLimit({ name: 'replayed', usesMax, windowS: 60 })
      const key = await insertWebhook(db)
      const other = await insertWebhook(db, { tenantId: 'tn_b' })
      const replayAgain = async (tenantId = 'tn_a') => {
        await db.query('delete from webhooks_pending')
        const deps = { db, clock: createClock(), wakeups: { wake: () => undefined } }
        return replayEvents({ ...deps, replayBudget: budget }, tenantId, { start: '2020-01-01' })
      }
      await recordUnwanted(db, newEvent(), newEvent(), newEvent())
      await recordUnwanted(db, newEvent({ tenantId: 'tn_b' }))
      expect(await replayAgain()).toMatchObject({ replayed: 3 })
      await expect(replayAgain()).rejects.toMatchObject({
        code: 'rate_limited',
        headers: { ratelimit: expect.stringContaining('r=2') },
      })
      expect(await pendingOf(key)).toEqual([])
      expect(await replayAgain('tn_b')).toMatchObject({ replayed: 1 })
      expect(await pendingOf(other)).toHaveLength(1)
    })

    it('says when to try again while another process replays for the tenant', async () => {
      await insertWebhook(db)
      await recordUnwanted(db, newEvent())
      const refused = await db.transaction(async (tx) => {
        await lockReplays(tx, 'tn_a')
        return await post({ start: '2020-01-01' })
      })
      expect(refused).toMatchObject({
        status: 429,
        headers: {
          'retry-after': '5',
          'ratelimit-policy': '"replays-at-once";q=1',
          ratelimit: '"replays-at-once";r=0;t=5',
        },
        body: { code: 'rate_limited', message: 'Another replay of this tenant is under way' },
      })
      expect((await post({ start: '2020-01-01' })).body.replayed).toBe(1)
    })

    it('never lets more events wait than allowed with many concurrent replays', async () => {
      const key = await insertWebhook(db)
      const events = Array.from({ length: 4 }, (_, i) =>
        newEvent({ event: eventNames[i] ?? 'SMTP_ERROR' }),
      )
      for (const { event } of events)
        await recordUnwanted(db, ...Array.from({ length: 10 }, () => newEvent({ event })))
      const answers = await Promise.all(
        events.map(({ event }) => post({ start: '2020-01-01', event })),
      )
      expect(answers.map(({ status }) => status).sort()).toContain(429)
      expect((await pendingOf(key)).length).toBeLessThanOrEqual(LIMITS.waitingMax)
      expect((await pendingOf(key)).length).toBeGreaterThan(0)
    })
  })

  it('never queues an event of another tenant, with any selection', async () => {
    const mine = await insertWebhook(db)
    const theirs = await insertWebhook(db, { tenantId: 'tn_b' })
    const event = newEvent()
    const [place] = await recordUnwanted(db, event)
    const [foreign, late] = await recordUnwanted(
      db,
      { ...event, tenantId: 'tn_b' },
      newEvent({ tenantId: 'tn_b', eventAtMicros: nowMicros() - DAY_MICROS }),
    )
    const selections = [{ start: '2020-01-01' }, { ref_id: event.refId }]
    for (const selection of selections) {
      await db.query('delete from webhooks_pending')
      expect((await post(selection, 'a')).body.replayed).toBe(1)
      expect(await pendingOf(mine)).toEqual(idsOf([place]))
      expect(await pendingOf(theirs)).toEqual([])
    }
    await db.query('delete from webhooks_pending')
    expect((await post({ start: '2020-01-01' }, 'b')).body.replayed).toBe(2)
    expect(await pendingOf(theirs)).toEqual(idsOf([foreign, late]))
    expect(await pendingOf(mine)).toEqual([])
    expect((await post({ start: '2020-01-01', undelivered: true }, 'a')).body.replayed).toBe(1)
  })
})
