import type { ListWebhookDeliveriesQuery } from '@postrider/contract'
import { casesOf } from '@postrider/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts'
import {
  deliveryIdOf,
  explained,
  fillRecord,
  insertWebhook,
  makeDays,
} from '../../../test/webhook-record.ts'
import { createClock } from '../../platform/clock.ts'
import { getDelivery } from './get-delivery.ts'
import { listDeliveries } from './list-deliveries.ts'
import { redeliver } from './redeliver.ts'
import { replayEvents } from './replay-events.ts'

const DAYS = 10
/** Together, many times as many as a step may read. */
const DELIVERIES_A_DAY = casesOf(4_000, 10_000)
const PARKED = 3_000
const dayAgo = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 10)
/** Of the event that is of a received message. */
const MESSAGE = deliveryIdOf(dayAgo(5), 778).slice(4)

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
  const { db } = database
  await makeDays(db, DAYS)
  for (const tenantId of ['tn_a', 'tn_b']) {
    const { webhookId } = await insertWebhook(db, { tenantId })
    const size = { days: DAYS, deliveriesADay: DELIVERIES_A_DAY, parked: PARKED }
    await fillRecord(db, { tenantId, webhookId, ...size })
  }
  await db.query(
    `update webhooks_event set ref_id = 'in_' || ref_id where tenant_id = 'tn_a' and ref_id = $1`,
    [MESSAGE],
  )
  await db.query(
    `insert into webhooks_subscription
       (tenant_id, webhook_id, event, owner, url, method, headers_sealed, header_names)
     select 'tn_a', 'wh_' || n, 'INCOMING', 'imap_' || n, '', 'POST', '', '{}'
       from generate_series(1, 1000) n`,
  )
}, 120_000)
afterAll(() => database.close())

const wholeTable = /Seq Scan on webhooks_/
/** The key by email, used for all of a tenant. */
const wrongKey =
  /event_at_att\w*_key on .*\n\s*Index Cond: \(\(tenant_id = [^)]*\) AND (?!\(ref_id)/

/** Read by any step of a plan that was run, over all its loops, kept or not. */
function mostRows(plan: string): number {
  let most = 0
  let loops = 1
  for (const line of plan.split('\n')) {
    const step = /rows=([\d.]+) loops=(\d+)/.exec(line)
    if (step !== null) loops = Number(step[2])
    const removed = /Rows Removed by (?:Index Recheck|Filter|Join Filter): ([\d.]+)/.exec(line)
    most = Math.max(most, Number(step?.[1] ?? removed?.[1] ?? 0) * loops)
  }
  return most
}

describe.each(['without statistics', 'with statistics'])(
  `a record of ${2 * DAYS * DELIVERIES_A_DAY} deliveries %s`,
  (which) => {
    beforeAll(async () => {
      if (which === 'with statistics') await database.db.query('vacuum analyze')
    }, 60_000)

    const day = dayAgo(5)
    const some = deliveryIdOf(day, 777)
    // Of each of the two tables up to the bound of a page.
    const queries: [ListWebhookDeliveriesQuery, number][] = [
      [{}, 110],
      [{ pageSize: 500 }, 1_010],
      [{ start: day, end: day }, 110],
      [{ status: 'exhausted' }, 60],
      [{ status: 'discarded' }, 60],
      [{ status: 'delivered' }, 2_100],
      [{ status: 'pending' }, 2_100],
      [{ status: 'parked' }, 2_100],
      [{ status: 'open' }, 110],
      [{ webhook_id: 'wh_1' }, 4_010],
      [{ webhook_id: 'wh_1', status: 'open' }, 2_100],
      [{ event: 'IMAP_ERROR' }, 4_010],
      [{ ref_id: some.slice(4) }, PARKED + 1],
      [{ ref_id: some.slice(4), event: 'MAIL_DELIVERED' }, PARKED + 1],
      [{ inbound_id: `in_${MESSAGE}` }, PARKED + 1],
    ]
    it.each(queries)(
      'lists deliveries by %o with at most %i rows in any step',
      async (query, rowsMax) => {
        const plans: string[] = []
        const db = explained(database.db, plans, 'explain (analyze, costs off)')
        await listDeliveries({ db }, 'tn_a', query)
        expect(plans.length).toBeGreaterThanOrEqual(4)
        for (const plan of plans) {
          expect(plan).not.toMatch(wholeTable)
          expect(mostRows(plan)).toBeLessThanOrEqual(rowsMax)
        }
      },
    )

    it('reads one delivery with a handful of rows', async () => {
      const plans: string[] = []
      const db = explained(database.db, plans, 'explain (analyze, costs off)')
      const delivery = await getDelivery({ db }, { tenantId: 'tn_a', mayReadContent: true }, some)
      expect(delivery.request.body).not.toBeNull()
      for (const plan of plans) {
        expect(plan).not.toMatch(wholeTable)
        expect(mostRows(plan)).toBeLessThanOrEqual(5)
      }
    })

    it.each([
      ['a day', { start: day, end: day }, DELIVERIES_A_DAY],
      [
        'what was never delivered',
        { start: day, undelivered: true },
        (5 + 1) * (DELIVERIES_A_DAY / 100),
      ],
      ['an email', { ref_id: some.slice(4) }, 1],
    ])('replays %s with an index lookup for each event', async (_, selection, count) => {
      const plans: string[] = []
      const deps = {
        db: explained(database.db, plans),
        clock: createClock(),
        wakeups: { wake: () => undefined },
      }
      expect(await replayEvents(deps, 'tn_a', selection)).toMatchObject({ replayed: count })
      await database.db.query('delete from webhooks_pending')
      for (const plan of plans) {
        expect(plan).not.toMatch(wholeTable)
        expect(plan).not.toMatch(wrongKey)
        expect(plan).not.toMatch(/Filter: .*event = \(?CASE/)
      }
      // What is frozen is looked up by key, not compared one by one.
      expect(plans.join()).toContain('frozen.members ?')
    })

    it('redelivers with an index lookup for each event', async () => {
      const plans: string[] = []
      const deps = {
        db: explained(database.db, plans),
        clock: createClock(),
        wakeups: { wake: () => undefined },
      }
      expect(await redeliver(deps, 'tn_a', some)).toEqual({ replayed: 1 })
      await database.db.query('delete from webhooks_pending')
      for (const plan of plans) {
        expect(plan).not.toMatch(wholeTable)
        expect(plan).not.toMatch(wrongKey)
      }
    })
  },
)
