import type { WebhookReceiver } from '@postrider/testkit'
import { describe, expect, it } from 'vitest'
import {
  newEvent,
  useWebhookDispatch,
  type WebhookDispatch,
} from '../../../../test/webhook-dispatch.ts'
import type { NewEvent } from '../../events/event.ts'

const HOUR_MS = 3_600_000
let world: WebhookDispatch
let receiver: WebhookReceiver
useWebhookDispatch((...made) => {
  ;[world, receiver] = made
})

type Sent = { details: { ref_id: string } }[]
const refsOf = (json: unknown) => (json as Sent).map((event) => event.details.ref_id)
const sent = () => receiver.requests.map((request) => refsOf(request.json))
const accepted = () =>
  receiver.requests.filter((r) => r.answer.status === 200).flatMap((r) => refsOf(r.json))
const outcomes = () => world.lines.map(({ outcome }) => outcome)
const events = (count: number) => Array.from({ length: count }, () => newEvent())
/** Refuses whatever holds one of these. */
const refuse =
  (poison: readonly NewEvent[], status: number) => (request: { readonly json: unknown }) => {
    const refs = refsOf(request.json)
    return { status: poison.some((event) => refs.includes(event.refId)) ? status : 200 }
  }
const rows = async (text: string) => (await world.db.query<Record<string, unknown>>(text)).rows

describe('a poisonous event', () => {
  it.each([400, 413, 415, 422])(
    '(%i) is isolated by halving, parked, and delays no other event',
    async (status) => {
      const key = await world.register(receiver.origin)
      const batch = events(8)
      const poison = batch.slice(5, 6)
      receiver.setScript(refuse(poison, status))
      for (const event of batch) await world.record(event)
      const dispatcher = await world.dispatcher()
      await dispatcher.runOnce()
      const refs = batch.map((event) => event.refId)
      // 8, then halves in the order of events: 4, (4) 2, (2) 1, 1.
      expect(sent()).toEqual([
        refs,
        refs.slice(0, 4),
        refs.slice(4),
        refs.slice(4, 6),
        refs.slice(4, 5),
        refs.slice(5, 6),
        refs.slice(6),
      ])
      expect(accepted().sort()).toEqual(refs.filter((ref) => ref !== poison[0]?.refId).sort())
      expect(await rows(`select status, attempts from webhooks_open`)).toEqual([
        { status: 'parked', attempts: 1 },
      ])
      expect(await world.stream(key)).toMatchObject({ state: 'idle', fail_count: 0 })
      expect(outcomes()).toEqual([
        'divided',
        'delivered',
        'divided',
        'divided',
        'delivered',
        'parked',
        'delivered',
      ])
    },
  )

  it('is tried when it is due, after halves and new events', async () => {
    const key = await world.register(receiver.origin)
    const batch = events(2)
    const [healthy, poison] = batch as [NewEvent, NewEvent]
    const { promise: opened, resolve: open } = Promise.withResolvers<void>()
    receiver.setScript((request) => ({ ...refuse([poison], 422)(request), after: opened }))
    const later = newEvent()
    await world.record(...batch)
    const dispatcher = await world.dispatcher()
    const run = dispatcher.runOnce()
    await receiver.waitForRequests(1)
    await world.record(later)
    open()
    await run
    const refs = [healthy.refId, poison.refId]
    expect(sent()).toEqual([refs, [refs[0]], [refs[1]], [later.refId]])
    receiver.setScript(() => 200)
    await world.due()
    await dispatcher.runOnce()
    expect(sent().at(-1)).toEqual([poison.refId])
    expect(await world.pending(key)).toEqual([])
    expect(outcomes().at(-1)).toBe('delivered')
    expect((await world.attempts(key)).map((attempt) => attempt.status)).toEqual([
      422, 200, 422, 200, 200,
    ])
  })

  it('is tried by its own schedule until its time is over, and then exhausted', async () => {
    const key = await world.register(receiver.origin)
    receiver.setScript(() => 400)
    await world.record(newEvent())
    const policy = { retryScheduleMs: [HOUR_MS, 2 * HOUR_MS], retryForMs: 10 * HOUR_MS }
    const dispatcher = await world.dispatcher({ policy })
    for (let round = 0; round < 3; round += 1) {
      await dispatcher.runOnce()
      await world.due()
    }
    const waits = world.lines.map(({ wait_ms: waitMs }) => Math.round(Number(waitMs) / HOUR_MS))
    expect(waits).toEqual([1, 2, 2])
    await world.db.query(`update webhooks_open set created_at = now() - interval '10 hours'`)
    await dispatcher.runOnce()
    expect(outcomes()).toEqual(['parked', 'parked', 'parked', 'exhausted'])
    expect(await world.deliveries(key)).toMatchObject([{ status: 'exhausted', attempts: 4 }])
    expect(await world.pending(key)).toEqual([])
    expect(await world.stream(key)).toMatchObject({ state: 'idle', fail_count: 0 })
    const bodies = receiver.requests.map((request) => request.body.toString())
    expect(new Set(bodies).size).toBe(1)
  })

  it('keeps its bytes while its receiver fails in between', async () => {
    await world.register(receiver.origin)
    receiver.setScript([400, 503, 400, 200])
    await world.record(newEvent())
    const dispatcher = await world.dispatcher()
    for (let round = 0; round < 4; round += 1) {
      await dispatcher.runOnce()
      await world.due()
    }
    expect(outcomes()).toEqual(['parked', 'retry', 'parked', 'delivered'])
    const [first, ...others] = receiver.requests
    for (const other of others) expect(other.body).toEqual(first?.body)
  })
})

describe('a receiver that refuses everything', () => {
  it('is asked after a wait once ten events in a row were parked', async () => {
    const key = await world.register(receiver.origin)
    receiver.setScript(() => 400)
    await world.record(...events(40))
    const dispatcher = await world.dispatcher()
    await dispatcher.runOnce()
    expect(outcomes()).not.toContain('retry')
    const parked = outcomes().filter((outcome) => outcome === 'parked').length
    expect(parked).toBe(11)
    expect(await world.stream(key)).toMatchObject({
      fail_count: 0,
      first_failure_at: null,
      parked_in_row: 11,
      delivery_id: null,
    })
    expect(await world.pending(key)).toHaveLength(40)
    const requests = receiver.requests.length
    await dispatcher.runOnce()
    expect(receiver.requests).toHaveLength(requests)
    // It comes back: everything is delivered, what was parked when it is due.
    receiver.setScript(() => 200)
    await world.due()
    await dispatcher.runOnce()
    expect(await world.pending(key)).toEqual([])
    expect(await world.stream(key)).toMatchObject({ fail_count: 0, parked_in_row: 0 })
    expect(new Set(accepted()).size).toBe(40)
  })

  it('delays events behind twenty poisonous ones by ten first waits', async () => {
    const key = await world.register(receiver.origin)
    const batch = events(200)
    receiver.setScript(refuse(batch.slice(0, 20), 400))
    for (const event of batch) await world.record(event)
    const dispatcher = await world.dispatcher()
    const waits: number[] = []
    for (let round = 0; round < 12; round += 1) {
      await dispatcher.runOnce()
      const [stream] = await rows(
        `select extract(epoch from not_before - now())::float8 as "waitS"
           from webhooks_stream where not_before > now()`,
      )
      if (stream === undefined) break
      waits.push(Number(stream.waitS))
      await world.db.query(`update webhooks_stream set not_before = '-infinity'`)
    }
    expect(waits).toHaveLength(10)
    expect(Math.max(...waits)).toBeLessThanOrEqual((1.2 * HOUR_MS) / 1000)
    expect(new Set(accepted()).size).toBe(180)
    expect(await world.stream(key)).toMatchObject({ fail_count: 0, first_failure_at: null })
  })

  it('is asked with new events, so that poisonous ones delay no other event', async () => {
    const key = await world.register(receiver.origin)
    const poison = events(12)
    receiver.setScript(refuse(poison, 400))
    for (const event of poison) await world.record(event)
    const dispatcher = await world.dispatcher()
    for (let round = 0; round < 3; round += 1) {
      await dispatcher.runOnce()
      await world.due()
    }
    const refused = await world.stream(key)
    expect(refused?.parked_in_row).toBeGreaterThanOrEqual(10)
    const live = newEvent()
    await world.record(live)
    const before = receiver.requests.length
    await dispatcher.runOnce()
    expect(sent()[before]).toEqual([live.refId])
    expect(accepted()).toEqual([live.refId])
  })

  it('is not assumed for a single event that is refused often', async () => {
    const key = await world.register(receiver.origin)
    const poison = [newEvent()]
    receiver.setScript(refuse(poison, 400))
    await world.record(...poison)
    const dispatcher = await world.dispatcher()
    for (let round = 0; round < 13; round += 1) {
      await dispatcher.runOnce()
      await world.due()
    }
    expect(receiver.requests).toHaveLength(13)
    expect(outcomes().every((outcome) => outcome === 'parked')).toBe(true)
    expect(await world.stream(key)).toMatchObject({ fail_count: 0, parked_in_row: 1 })
  })

  it('is not assumed when it accepts some events in between', async () => {
    const key = await world.register(receiver.origin)
    const batch = events(24)
    receiver.setScript(
      refuse(
        batch.filter((_, i) => i % 2 === 0),
        422,
      ),
    )
    for (const event of batch) await world.record(event)
    await (await world.dispatcher()).runOnce()
    expect(outcomes()).not.toContain('retry')
    expect(outcomes().filter((outcome) => outcome === 'parked')).toHaveLength(12)
    expect(await world.stream(key)).toMatchObject({ fail_count: 0 })
    expect(new Set(accepted()).size).toBe(12)
  })
})

describe('a 413 answer', () => {
  it('halves the following batches', async () => {
    const key = await world.register(receiver.origin)
    const large = () =>
      events(8).map((event) => ({
        ...event,
        details: { ...event.details, failed_reason: 'x'.repeat(30_000) },
      }))
    await world.record(...large())
    receiver.setScript([413])
    const dispatcher = await world.dispatcher()
    await dispatcher.runOnce()
    const size = receiver.requests[0]?.body.length ?? 0
    expect(await world.stream(key)).toMatchObject({ batch_bytes_max: Math.floor(size / 2) })
    await world.record(...large())
    await dispatcher.runOnce()
    expect(sent().map((refs) => refs.length)).toEqual([8, 4, 4, 3, 3, 2])
    await world.db.query(
      `update webhooks_stream set batch_shrunk_at = now() - interval '20 minutes'`,
    )
    await world.record(...large())
    await dispatcher.runOnce()
    expect(sent().at(-1)).toHaveLength(8)
  })
})

describe('a stream after a back-off', () => {
  it('repeats the request, then sends a small batch, then full ones', async () => {
    const key = await world.register(receiver.origin)
    await world.record(newEvent())
    receiver.setScript([500])
    const dispatcher = await world.dispatcher()
    await dispatcher.runOnce()
    await world.record(...events(120))
    await world.due()
    await dispatcher.runOnce()
    expect(sent().map((refs) => refs.length)).toEqual([1, 1, 50, 70])
    expect(await world.pending(key)).toEqual([])
    expect(await world.stream(key)).toMatchObject({ is_probing: false })
  })
})
