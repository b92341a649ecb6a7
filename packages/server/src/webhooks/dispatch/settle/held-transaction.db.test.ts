/**
 * Rows that were taken stay in the tables while any transaction could still see them. Counted by what a
 * look reads, never by time.
 */
import { createWebhookReceiver, type WebhookReceiver } from '@postrider/testkit'
import pg from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { explaining, planOf, type SeenPlan } from '../../../../test/explain.ts'
import { backlogId, queueBacklog } from '../../../../test/webhook-backlog.ts'
import { createWebhookDispatch, type WebhookDispatch } from '../../../../test/webhook-dispatch.ts'
import { updateWebhook } from '../../subscriptions/update-webhook.ts'
import type { QueueCursorIds } from '../take/queue-cursor.ts'
import { type Take, takeDeliveries } from '../take/take-deliveries.ts'
import { createDeliveryCommits } from './delivery-commits.ts'

let world: WebhookDispatch
let receiver: WebhookReceiver
beforeAll(async () => {
  world = await createWebhookDispatch()
  receiver = await createWebhookReceiver()
})
afterAll(async () => {
  await receiver.close()
  await world.close()
})

/** Blocks that the look of this take reads. */
async function blocksOf(take: Take): Promise<number> {
  const rolledBack = new Error('only looked')
  let blocks = 0
  await world.db
    .transaction(async (tx) => {
      const plans: SeenPlan[] = []
      await takeDeliveries(explaining(tx, plans, 'auto'), [take])
      const { values = [] } = plans.find((plan) => plan.name === 'webhooks.peek_pending') ?? {}
      const options = 'format json, analyze, buffers, timing off'
      const [top] = await planOf(tx, 'webhooks.peek_pending', values, options)
      blocks = (top?.['Shared Hit Blocks'] ?? 0) + (top?.['Shared Read Blocks'] ?? 0)
      throw rolledBack
    })
    .catch((error: unknown) => {
      if (error !== rolledBack) throw error
    })
  return blocks
}

it('does not read taken events again while a long transaction is open elsewhere', async () => {
  const key = await world.register(receiver.origin)
  await queueBacklog(world.db, key, { count: 12_000 })
  const holder = new pg.Client({ connectionString: world.database.url })
  await holder.connect()
  await holder.query('begin isolation level repeatable read')
  await holder.query('select 1 from webhooks_pending limit 1')
  try {
    const { take, settleAndTake } = createDeliveryCommits(world.db)
    let last: Take | undefined
    const note = (one: Take) => {
      if (last === undefined || one.low[0] >= last.low[0]) last = one
    }
    const dispatcher = await world.dispatcher({
      take(one) {
        note(one)
        return take(one)
      },
      settleAndTake(settlement, one) {
        note(one)
        return settleAndTake(settlement, one)
      },
    })
    await dispatcher.runOnce()
    expect(await world.pending(key)).toEqual([])
    if (last === undefined) throw new Error('nothing was taken')
    // The next look as the dispatcher made it, and one that begins at the first id.
    await queueBacklog(world.db, key, { count: 10, from: 20_000 })
    expect(await blocksOf(last)).toBeLessThan(50)
    expect(await blocksOf({ ...last, low: ['', ''] })).toBeGreaterThan(250)
  } finally {
    await holder.end()
  }
}, 60_000)

it('continues an emptied stream at its cursor, and finds later events below it at once', async () => {
  const key = await world.register(receiver.origin, { tenantId: 'tn_c' })
  await queueBacklog(world.db, key, { count: 600, from: 1_000 })
  const lows: QueueCursorIds[] = []
  const { take, settleAndTake } = createDeliveryCommits(world.db)
  const note = (one: Take) => {
    if (one.webhookId === key.webhookId) lows.push([...one.low])
  }
  const dispatcher = await world.dispatcher({
    take(one) {
      note(one)
      return take(one)
    },
    settleAndTake(settlement, one) {
      note(one)
      return settleAndTake(settlement, one)
    },
  })
  await dispatcher.runOnce()
  await world.db.query(`update webhooks_stream set state = 'active'`)
  await dispatcher.runOnce()
  expect(lows.at(-1)).toEqual([backlogId(1_599), ''])
  // Of a writer that committed late.
  await queueBacklog(world.db, key, { count: 5, from: 10 })
  await world.db.query(`update webhooks_stream set state = 'active'`)
  await dispatcher.runOnce()
  expect(await world.pending(key)).toEqual([])
}, 30_000)

it('does not read discarded events of a long queue again', async () => {
  const key = await world.register(receiver.origin, { tenantId: 'tn_b' })
  await queueBacklog(world.db, key, { count: 6_000 })
  await queueBacklog(world.db, key, { count: 6_000, from: 10_000, lane: 1 })
  await updateWebhook(world.deps, 'tn_b', { event: 'EMAIL_EVENT', active: false })
  const { take, settleAndTake } = createDeliveryCommits(world.db)
  const note = (one: Take) => {
    if (one.webhookId === key.webhookId) lows.push([...one.low])
  }
  const lows: QueueCursorIds[] = []
  const dispatcher = await world.dispatcher({
    take(one) {
      note(one)
      return take(one)
    },
    settleAndTake(settlement, one) {
      note(one)
      return settleAndTake(settlement, one)
    },
  })
  await dispatcher.runOnce()
  expect(await world.pending(key)).toEqual([])
  // Each piece begins where the last ended.
  expect(lows).toEqual([
    ['', ''],
    [backlogId(2_499), ''],
    [backlogId(4_999), ''],
    [backlogId(5_999), backlogId(11_499)],
    [backlogId(5_999), backlogId(13_999)],
    [backlogId(5_999), backlogId(13_999)],
  ])
})
