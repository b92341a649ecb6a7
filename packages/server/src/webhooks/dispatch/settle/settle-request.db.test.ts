import { createWebhookReceiver, type WebhookReceiver } from '@postrider/testkit'
import pg from 'pg'
import { describe, expect, it } from 'vitest'
import {
  newEvent,
  useWebhookDispatch,
  type WebhookDispatch,
} from '../../../../test/webhook-dispatch.ts'
import { DatabaseUnavailableError } from '../../../platform/db/index.ts'
import { timeOfUlid, ulidAtTime } from '../../../platform/ids.ts'
import { updateWebhook } from '../../subscriptions/update-webhook.ts'
import type { StreamKey } from '../stream-store.ts'
import { createDeliveryCommits } from './delivery-commits.ts'
import { type SettleDeps, settleRequest } from './settle-request.ts'

let world: WebhookDispatch
let receiver: WebhookReceiver
let key: StreamKey
useWebhookDispatch(async (...made) => {
  ;[world, receiver] = made
  key = await world.register(receiver.origin)
})

const away = () => Promise.reject(new DatabaseUnavailableError('away'))
const run = async () => (await world.dispatcher()).runOnce()

describe('a request that was answered', () => {
  it('is not repeated when its outcome could not be written at once', async () => {
    const { settle } = createDeliveryCommits(world.db)
    let tries = 0
    const dispatcher = await world.dispatcher({
      settleAndTake: away,
      settle: (settlement) => (++tries < 3 ? away() : settle(settlement)),
    })
    await world.record(newEvent())
    await dispatcher.runOnce()
    expect(tries).toBe(3)
    expect(receiver.requests).toHaveLength(1)
    expect(await world.deliveries(key)).toMatchObject([{ status: 'delivered', attempts: 1 }])
  })

  it('is given up when the dispatcher stops, as a fault of its own stream', async () => {
    const deps: SettleDeps = { db: world.db, log: {} as SettleDeps['log'], settle: away }
    const settled = settleRequest(deps, {} as never, AbortSignal.abort())
    await expect(settled).rejects.toMatchObject({ name: 'UnsettledError' })
    await expect(settled).rejects.not.toBeInstanceOf(DatabaseUnavailableError)
  })

  it('does not wait for a locked stream of another webhook', async () => {
    const other = await createWebhookReceiver()
    const held = await world.register(other.origin, { tenantId: 'tn_b' })
    const gate = Promise.withResolvers<void>()
    for (const one of [receiver, other]) one.setScript([{ status: 200, after: gate.promise }])
    await world.record(newEvent(), newEvent({ tenantId: 'tn_b' }))
    const dispatcher = await world.dispatcher()
    await dispatcher.start()
    await receiver.waitForRequests(1)
    await other.waitForRequests(1)
    const holder = new pg.Client({ connectionString: world.database.url })
    await holder.connect()
    try {
      await holder.query('begin')
      await holder.query('select from webhooks_stream where webhook_id = $1 for update', [
        held.webhookId,
      ])
      gate.resolve()
      const finished = world.nextLine('webhook_delivery.finished')
      expect(await finished).toMatchObject({ tenant_id: 'tn_a', outcome: 'delivered' })
      await world.record(newEvent())
      await receiver.waitForRequests(2)
      expect(await world.deliveries(held)).toMatchObject([{ status: 'pending' }])
      await holder.query('rollback')
      await world.nextLine('webhook_delivery.finished')
    } finally {
      await holder.end()
      await dispatcher.stop()
      await other.close()
    }
    expect(other.requests).toHaveLength(1)
    expect(await world.deliveries(held)).toMatchObject([{ status: 'delivered', attempts: 1 }])
  })
})

describe('an open delivery whose day the record does not have', () => {
  const STRANGE = `dlv_${ulidAtTime(Date.parse('2001-02-03'))}`
  const freeze = async (status: number) => {
    receiver.setScript([status])
    await world.record(newEvent(), newEvent())
    await run()
    await world.db.query(`update webhooks_open set delivery_id = $1, day = '2001-02-03'`, [STRANGE])
    await world.db.query(
      'update webhooks_stream set delivery_id = $1 where delivery_id is not null',
      [STRANGE],
    )
    await world.due()
  }
  const isOfToday = (id: string) => Date.now() - timeOfUlid(id).getTime() < 3_600_000

  it('gets an id of today, and is settled under it after one request', async () => {
    await freeze(500)
    await run()
    expect(receiver.requests).toHaveLength(2)
    const [delivery] = await world.deliveries(key)
    expect(delivery).toMatchObject({ status: 'delivered', attempts: 2 })
    expect(isOfToday(delivery?.delivery_id ?? '')).toBe(true)
    const line = world.lines.find(({ msg }) => msg === 'webhook_delivery.rehoused')
    expect(line).toMatchObject({
      former_id: STRANGE,
      delivery_id: delivery?.delivery_id,
      level: 50,
    })
    expect(await world.stream(key)).toMatchObject({ delivery_id: null, state: 'idle' })
  })

  it('gets an id of today when it fails again, and when its webhook is switched off', async () => {
    await freeze(500)
    receiver.setScript([503])
    await run()
    expect(await world.deliveries(key)).toMatchObject([{ status: 'retrying', attempts: 2 }])
    await freeze(500)
    await updateWebhook(world.deps, 'tn_a', { event: 'EMAIL_EVENT', active: false })
    await run()
    const all = await world.deliveries(key)
    expect(all.every((one) => one.status === 'discarded' && isOfToday(one.delivery_id))).toBe(true)
    expect(all).toHaveLength(2)
    expect(await world.pending(key)).toEqual([])
    expect(await world.stream(key)).toMatchObject({ state: 'idle' })
  })
})

describe('a process with a wrong clock', () => {
  it('gives deliveries ids by the clock of the database', async () => {
    const { now } = Date
    receiver.setScript([413, 200, 200])
    await world.record(newEvent(), newEvent())
    const dispatcher = await world.dispatcher()
    Date.now = () => now() + 20 * 86_400_000
    try {
      await dispatcher.runOnce()
    } finally {
      Date.now = now
    }
    const all = await world.deliveries(key)
    expect(all.map((one) => one.status)).toEqual(['discarded', 'delivered', 'delivered'])
    expect(receiver.requests).toHaveLength(3)
    for (const { delivery_id: id } of all)
      expect(Math.abs(timeOfUlid(id).getTime() - now())).toBeLessThan(3_600_000)
  })
})
