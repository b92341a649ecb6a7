import { createWebhookReceiver } from '@postrider/testkit'
import { expect, it } from 'vitest'
import { createWebhookDispatch, newEvent } from '../../../../test/webhook-dispatch.ts'
import { updateWebhook } from '../../subscriptions/update-webhook.ts'

it('observes the duration of requests, and counts discarded deliveries without one', async () => {
  const world = await createWebhookDispatch()
  const receiver = await createWebhookReceiver({ script: [500, 200] })
  const seen: { outcome: string; durationMs?: number; events: number }[] = []
  const dispatcher = await world.dispatcher({ observe: (what) => seen.push(what) })
  await world.register(receiver.origin)
  await world.record(newEvent(), newEvent())
  await dispatcher.runOnce()
  await world.due()
  await dispatcher.runOnce()
  const durationMs = expect.any(Number)
  expect(seen).toEqual([
    { outcome: 'retry', durationMs, events: 2 },
    { outcome: 'delivered', durationMs, events: 2 },
  ])
  await world.record(newEvent())
  await updateWebhook(world.deps, 'tn_a', { event: 'EMAIL_EVENT', active: false })
  await dispatcher.runOnce()
  expect(seen.slice(2)).toEqual([{ outcome: 'discarded', events: 1 }])
  await receiver.close()
  await world.close()
})
