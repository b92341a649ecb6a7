import { createWebhookReceiver, type WebhookReceiver } from '@postrider/testkit'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import {
  createWebhookDispatch,
  newEvent,
  type WebhookDispatch,
} from '../../../test/webhook-dispatch.ts'
import { recordEvents } from '../events/record-events.ts'
import { idleStreams, type StreamKey } from './stream-store.ts'

let world: WebhookDispatch
let receiver: WebhookReceiver
let key: StreamKey
beforeAll(async () => {
  world = await createWebhookDispatch({ poolMax: 12 })
  receiver = await createWebhookReceiver()
})
beforeEach(async () => {
  key = await world.register(receiver.origin)
})
afterEach(() => world.clear())
afterAll(async () => {
  await world.close()
  await receiver.close()
})

const goIdle = async (of = key) => (await world.db.transaction((tx) => idleStreams(tx, [of])))[0]
const drain = (of = key) =>
  world.db.query('delete from webhooks_pending where tenant_id = $1 and webhook_id = $2', [
    of.tenantId,
    of.webhookId,
  ])
const state = async () => (await world.stream(key))?.state

describe('making a stream idle', () => {
  it('is refused while an event is queued or a request is frozen', async () => {
    await world.record(newEvent())
    expect(await goIdle()).toBe('busy')
    await drain()
    await world.db.query(`update webhooks_stream set delivery_id = 'dlv_1'`)
    expect(await goIdle()).toBe('busy')
    await world.db.query('update webhooks_stream set delivery_id = null')
    expect(await goIdle()).toBe('idle')
    expect(await state()).toBe('idle')
    expect(await goIdle()).toBe('idle')
  })

  it('is refused while a writer has not committed its event', async () => {
    await world.record(newEvent())
    await drain()
    await world.db.transaction(async (tx) => {
      await recordEvents(tx, [newEvent()])
      expect(await goIdle()).toBe('locked')
    })
    expect(await state()).toBe('active')
  })

  it('is undone by a writer that waited for it', async () => {
    await world.record(newEvent())
    await drain()
    const writing = await world.db.transaction(async (tx) => {
      expect(await idleStreams(tx, [key])).toEqual(['idle'])
      return { done: world.record(newEvent()) }
    })
    await writing.done
    expect(await state()).toBe('active')
  })

  it('is allowed with parked events for later, and refused when one is due', async () => {
    const park = (dueAt: string) =>
      world.db.query(
        `insert into webhooks_open (tenant_id, delivery_id, day, webhook_id, bucket, generation,
                                    event_ids, event_days, traceparent, due_at)
         values ($1, 'dlv_' || clock_timestamp(), current_date, $2, 1, 0, '{e}', array[current_date],
                 't', ${dueAt})`,
        [key.tenantId, key.webhookId],
      )
    await world.db.query(`update webhooks_stream set state = 'active'`)
    await park(`now() + interval '1 hour'`)
    expect(await goIdle()).toBe('idle')
    await park(`'-infinity'`)
    expect(await goIdle()).toBe('busy')
  })

  it('deletes the stream of a deleted webhook once nothing of it is left', async () => {
    await world.record(newEvent())
    await world.db.query('delete from webhooks_subscription')
    expect(await goIdle()).toBe('busy')
    expect(await state()).toBe('active')
    await drain()
    await world.db.transaction(async (tx) => {
      await tx.query('select 1 from webhooks_stream for key share')
      expect(await goIdle()).toBe('locked')
    })
    expect(await goIdle()).toBe('idle')
    expect(await state()).toBeUndefined()
    expect(await goIdle()).toBe('locked')
  })

  it('settles each stream of a group by itself', async () => {
    const busy = await world.register(receiver.origin, { tenantId: 'tn_b' })
    const held = await world.register(receiver.origin, { tenantId: 'tn_c' })
    await world.record(newEvent({ tenantId: 'tn_b' }))
    await world.db.transaction(async (tx) => {
      await tx.query(`select 1 from webhooks_stream where tenant_id = 'tn_c' for key share`)
      const idlings = await world.db.transaction((other) => idleStreams(other, [held, busy, key]))
      expect(idlings).toEqual(['locked', 'busy', 'idle'])
    })
  })

  it('loses no wake-up against many concurrent writers', async () => {
    const streams = [key]
    for (const tenantId of ['tn_b', 'tn_c', 'tn_d'])
      streams.push(await world.register(receiver.origin, { tenantId }))
    let idlings = 0
    await Promise.all(
      streams.map(async (of) => {
        const { tenantId } = of
        const write = () => world.record(newEvent({ tenantId }))
        for (let round = 0; round < 250; round += 1) {
          const [first] = await Promise.all([goIdle(of), write(), goIdle(of), write(), write()])
          if (first === 'idle') idlings += 1
          const stream = await world.stream(of)
          const isLost = stream?.state === 'idle' && (await world.pending(of)).length > 0
          expect(isLost).toBe(false)
          await drain(of)
        }
      }),
    )
    expect(idlings).toBeGreaterThan(0)
  }, 120_000)

  it('leaves no event behind against writers that wake nobody', async () => {
    const dispatchers = [await world.dispatcher(), await world.dispatcher()]
    const refIds: string[] = []
    let isWriting = true
    const writers = Array.from({ length: 6 }, async () => {
      for (let i = 0; i < 60; i += 1) {
        const event = newEvent()
        refIds.push(event.refId)
        await world.db.transaction((tx) => recordEvents(tx, [event]))
      }
    })
    const running = dispatchers.map(async (dispatcher) => {
      while (isWriting) await dispatcher.runOnce()
    })
    await Promise.all(writers)
    isWriting = false
    await Promise.all(running)
    for (const dispatcher of dispatchers) await dispatcher.runOnce()
    type Sent = { details: { ref_id: string } }[]
    // Two on one stream may both send what is under way: the same bytes.
    const bodies = new Set(receiver.requests.map((request) => request.body.toString()))
    const sent = [...bodies].flatMap((body) =>
      (JSON.parse(body) as Sent).map((event) => event.details.ref_id),
    )
    expect(new Set(sent)).toEqual(new Set(refIds))
    expect(sent).toHaveLength(refIds.length)
    expect(await world.pending(key)).toEqual([])
    expect(await state()).toBe('idle')
  })
})
