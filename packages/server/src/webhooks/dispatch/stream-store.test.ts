import { createWebhookReceiver, type WebhookReceiver } from '@postrider/testkit'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import {
  createWebhookDispatch,
  newEvent,
  type WebhookDispatch,
} from '../../../test/webhook-dispatch.ts'
import { recordEvents } from '../record-events.ts'
import { restStreams, type StreamKey } from './stream-store.ts'

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

const rest = async (of = key) => (await world.db.transaction((tx) => restStreams(tx, [of])))[0]
const drain = (of = key) =>
  world.db.query('delete from webhooks_pending where tenant_id = $1 and webhook_id = $2', [
    of.tenantId,
    of.webhookId,
  ])
const state = async () => (await world.stream(key))?.state

describe('going idle', () => {
  it('is refused while something is pending, and while a request is frozen', async () => {
    await world.record(newEvent())
    expect(await rest()).toBe('busy')
    await drain()
    await world.db.query(`update webhooks_stream set delivery_id = 'dlv_1'`)
    expect(await rest()).toBe('busy')
    await world.db.query('update webhooks_stream set delivery_id = null')
    expect(await rest()).toBe('idle')
    expect(await state()).toBe('idle')
    expect(await rest()).toBe('idle')
  })

  it('is refused while a writer has not committed what it adds', async () => {
    await world.record(newEvent())
    await drain()
    await world.db.transaction(async (tx) => {
      await recordEvents(tx, [newEvent()])
      expect(await rest()).toBe('locked')
    })
    expect(await state()).toBe('active')
  })

  it('is undone by a writer that waited for it', async () => {
    await world.record(newEvent())
    await drain()
    const writing = await world.db.transaction(async (tx) => {
      expect(await restStreams(tx, [key])).toEqual(['idle'])
      return { done: world.record(newEvent()) }
    })
    await writing.done
    expect(await state()).toBe('active')
  })

  it('of a webhook that is gone is refused', async () => {
    await world.db.query('delete from webhooks_stream')
    expect(await rest()).toBe('locked')
  })

  it('loses no wake-up: thousands of writes against it', async () => {
    const streams = [key]
    for (const tenantId of ['tn_b', 'tn_c', 'tn_d'])
      streams.push(await world.register(receiver.origin, { tenantId }))
    let rests = 0
    await Promise.all(
      streams.map(async (of) => {
        const { tenantId } = of
        for (let round = 0; round < 500; round += 1) {
          const [result] = await Promise.all([
            rest(of),
            world.record(newEvent({ tenantId })),
            rest(of),
          ])
          if (result === 'idle') rests += 1
          const stream = await world.stream(of)
          const isLost = stream?.state === 'idle' && (await world.pending(of)).length > 0
          expect(isLost).toBe(false)
          await drain(of)
        }
      }),
    )
    expect(rests).toBeGreaterThan(0)
  }, 120_000)
})
