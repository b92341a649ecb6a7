/** [invariant 8] Receivers that hang, over real connections: who is served meanwhile is counted. */
import { createWebhookReceiver, type WebhookReceiver } from '@postrider/testkit'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest'
import { testKeyRing } from '../../../../test/webhook-api.ts'
import {
  createWebhookDispatch,
  newEvent,
  type WebhookDispatch,
} from '../../../../test/webhook-dispatch.ts'
import type { NewEvent } from '../../events/event.ts'
import { createSubscription } from '../../subscriptions/create-subscription.ts'
import type { Dispatcher } from './worker.ts'

const DEAD = 200
const ROUNDS = 5
const healthyTenants = Array.from({ length: 20 }, (_, i) => `tn_ok_${i}`)
let world: WebhookDispatch
let receiver: WebhookReceiver
let dispatcher: Dispatcher
let release: () => void

beforeAll(async () => {
  world = await createWebhookDispatch({ poolMax: 10 })
})
beforeEach(async () => {
  const gate = Promise.withResolvers<void>()
  release = gate.resolve
  receiver = await createWebhookReceiver({
    script: ({ path }) => (path.startsWith('/dead') ? { status: 200, after: gate.promise } : 200),
  })
  // Nothing that hangs ends by itself while a test lasts.
  dispatcher = await world.dispatcher({ concurrency: 512, timeoutMs: 600_000 })
  for (const tenantId of healthyTenants)
    await world.register(`${receiver.origin}/ok/${tenantId}`, { tenantId })
})
afterEach(async () => {
  release()
  await dispatcher.stop()
  await receiver.close()
  await world.clear()
})
afterAll(() => world.close())

const requestsTo = (prefix: string) =>
  receiver.requests.filter((request) => request.path.startsWith(prefix))

/** Events of healthy tenants, again and again, each after the last has arrived. */
async function serveHealthy(): Promise<void> {
  for (let round = 1; round <= ROUNDS; round += 1) {
    await world.record(...healthyTenants.map((tenantId) => newEvent({ tenantId })))
    const wanted = round * healthyTenants.length
    await receiver.waitUntil(() => requestsTo('/ok').length >= wanted)
  }
}

it('delays nobody while the receivers of 200 tenants hang from their first request on', async () => {
  const dead = Array.from({ length: DEAD }, (_, i) => `tn_dead_${i}`)
  for (const tenantId of dead)
    await world.register(`${receiver.origin}/dead/${tenantId}`, { tenantId })
  await dispatcher.start()
  await world.record(...dead.map((tenantId) => newEvent({ tenantId })))
  await serveHealthy()
  await receiver.waitUntil(() => requestsTo('/dead').length === DEAD)
  // More for those that hang starts nothing more.
  await world.record(...dead.map((tenantId) => newEvent({ tenantId })))
  await serveHealthy()
  expect(requestsTo('/dead')).toHaveLength(DEAD)
})

it('gives 300 hanging webhooks of one tenant a part of the places, and delays nobody', async () => {
  const owners = Array.from({ length: 300 }, (_, i) => `imap_${i}`)
  const incoming = { tenantId: 'tn_dead', event: 'INCOMING_EMAIL' } as const
  await world.db.transaction(async (tx) => {
    for (const owner of owners)
      await createSubscription(tx, testKeyRing, {
        tenantId: 'tn_dead',
        event: 'INCOMING',
        owner,
        url: `${receiver.origin}/dead/${owner}`,
        headers: [],
      })
  })
  const events = owners.map((owner): NewEvent => newEvent({ ...incoming, owner }))
  await dispatcher.start()
  await world.record(...events)
  await serveHealthy()
  await receiver.waitUntil(() => requestsTo('/dead').length === 96)
  await serveHealthy()
  expect(requestsTo('/dead')).toHaveLength(96)
  release()
  await receiver.waitUntil(() => requestsTo('/dead').length === 300)
})
