import { casesOf } from '@postrider/testkit'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts'
import { explained, makeDays } from '../../../test/webhook-record.ts'
import { type FeedLook, fromTheFirst, readFeedKeys } from './feed-store.ts'
import { parseSnapshot } from './snapshot.ts'

const EVENTS = casesOf(200_000, 1_000_000)
const XACTS = EVENTS / 10
const TENANTS = 100

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
  const { db } = database
  await makeDays(db, 40)
  // Of transactions with ten events each; every thousandth event was recorded late.
  for (let from = 0; from < EVENTS; from += 100_000)
    await db.query(
      `insert into webhooks_event (tenant_id, event_id, day, ref_id, event, event_at, is_late,
                                   attempt, body, traceparent, xact)
       select 'tn_' || n / 10 % $2, 'evt_01' || lpad(n::text, 24, '0'),
              case when n % 1000 = 0 then current_date - 30 else current_date end,
              '01JD4M8W6Z' || lpad(n::text, 16, '0'), 'MAIL_DELIVERED', now(), n % 1000 = 0, 0,
              '{"event":"MAIL_DELIVERED","success":true,"details":{"webhook_id":""}}', '',
              (n / 10)::text::xid8
         from generate_series($1::integer, $1 + 99999) n`,
      [from, TENANTS],
    )
}, 300_000)
afterAll(() => database.close())

const all = Array.from({ length: 1_000 }, (_, n) => `tn_${n}`)
const looks: [string, Partial<FeedLook> & { earlier: FeedLook['earlier'] }, number][] = [
  [
    'the last fifth of a second',
    { earlier: parseSnapshot(`${XACTS - 100}:${XACTS - 100}:`) },
    1_100,
  ],
  [
    'a transaction that was open for long',
    { earlier: parseSnapshot(`7:${XACTS - 10}:7`), tenantIds: all },
    1_100,
  ],
  ['a page of one tenant in a day without marks', { earlier: undefined, tenantIds: ['tn_7'] }, 600],
  [
    'a later page',
    {
      earlier: undefined,
      tenantIds: ['tn_7'],
      after: { xact: BigInt(0.6 * XACTS + 7), eventId: 'evt_9' },
    },
    600,
  ],
]

it.each(['without statistics', 'with statistics'])(
  'finds what was committed among many events by index alone, %s',
  async (which) => {
    if (which === 'with statistics') await database.db.query('vacuum analyze webhooks_event')
    for (const [name, look, rowsMax] of looks) {
      const plans: string[] = []
      const keys = await readFeedKeys(
        explained(database.db, plans, 'explain (analyze, costs off)'),
        {
          tenantIds: all,
          later: parseSnapshot(`${XACTS}:${XACTS}:`),
          after: fromTheFirst,
          idMin: '',
          limit: 500,
          ...look,
        },
      )
      expect([name, keys.length > 0]).toEqual([name, true])
      const plan = plans.find((text) => text.includes('webhooks_event')) ?? ''
      expect([name, /Seq Scan on webhooks_/.test(plan)]).toEqual([name, false])
      expect([name, /_xact_idx|_xact_tenant_id_idx/.test(plan)]).toEqual([name, true])
      expect([name, Math.max(...rowsOf(plan)) <= rowsMax, rowsOf(plan)]).toEqual([
        name,
        true,
        expect.any(Array),
      ])
    }
  },
  120_000,
)

/** What looks into the log have read, over all their loops, kept or not. */
function rowsOf(plan: string): number[] {
  let loops = 1
  let isLog = false
  return plan.split('\n').flatMap((line) => {
    const step = /rows=([\d.]+) loops=(\d+)/.exec(line)
    if (step !== null) {
      loops = Number(step[2])
      isLog = line.includes('webhooks_event')
    }
    const removed = /Rows Removed by (?:Index Recheck|Filter): ([\d.]+)/.exec(line)
    return isLog ? Number(step?.[1] ?? removed?.[1] ?? 0) * loops : []
  })
}
