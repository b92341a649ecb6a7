import type { ListEventsQuery } from '@postrider/contract'
import { casesOf } from '@postrider/testkit'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts'
import { mostRows } from '../../../test/explain.ts'
import { explained, makeDays } from '../../../test/webhook-record.ts'
import { ulidAtTime } from '../../platform/ids.ts'
import { dayAt } from '../../platform/values/date-time.ts'
import { listEvents } from './list-events.ts'

const EVENTS = casesOf(500_000, 1_000_000)
const A_DAY = EVENTS / 10
const caller = { tenantId: 'tn_a', mayReadContent: true }
const DAY_MS = 86_400_000
const dayAgo = (days: number) => dayAt(Date.now() - days * DAY_MS)
const REF_ID = '01JD4M8W6Z0000000000000777'

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
  const { db } = database
  await makeDays(db, 10)
  // In steps, each below the limit of a statement.
  for (let from = 0; from < EVENTS; from += A_DAY) {
    const atMs = Date.now() - (10 - from / A_DAY) * DAY_MS
    await db.query(
      `insert into webhooks_event (tenant_id, event_id, day, ref_id, event, event_at, is_late,
                                   attempt, body, traceparent)
       select 'tn_a', 'evt_' || $2::text || lpad(n::text, 16, '0'), $3::date,
              case when n % ${A_DAY / 2} = 0 then $4 else '01JD4M8W6Z' || lpad(n::text, 16, '0') end,
              case when n % 1000 = 0 then 'MAIL_BOUNCE' else 'MAIL_DELIVERED' end,
              $5::timestamptz + n * interval '1 microsecond', false, 0,
              '{"event":"MAIL_DELIVERED","success":true,"details":{"webhook_id":"","email":["a'
                || n || '@example.com"],"mailer_id":"smtp_' || n % 10000 || '"}}', ''
         from generate_series($1::integer, $1 + ${A_DAY - 1}) n`,
      [from, ulidAtTime(atMs).slice(0, 10), dayAt(atMs), REF_ID, new Date(atMs)],
    )
  }
}, 300_000)
afterAll(() => database.close())

const queries: [ListEventsQuery, number][] = [
  [{}, 200],
  [{ pageSize: 500 }, 1_200],
  [{ event: 'MAIL_BOUNCE' }, 20_000],
  [{ event: 'IMAP_ERROR' }, 20_000],
  [{ email: 'a7@example.com' }, 5_000],
  [{ mailer_id: 'smtp_7' }, 5_000],
  [{ ref_id: REF_ID }, 200],
  [{ ref_id: REF_ID, event: 'MAIL_BOUNCE' }, 200],
  [{ start: dayAgo(5), end: dayAgo(5) }, 200],
  [{ end: dayAgo(5), event: 'MAIL_BOUNCE' }, 20_000],
]

it.each(['without statistics', 'with statistics'])(
  'lists many events by index alone, with bounded rows, %s',
  async (which) => {
    if (which === 'with statistics') await database.db.query('vacuum analyze webhooks_event')
    for (const [query, rowsMax] of queries) {
      const plans: string[] = []
      const db = explained(database.db, plans, 'explain (analyze, costs off)')
      await listEvents({ db }, caller, query)
      expect(plans.length).toBeGreaterThanOrEqual(1)
      for (const plan of plans) {
        expect(plan).not.toMatch(/Seq Scan on webhooks_/)
        expect([query, mostRows(plan) <= rowsMax, mostRows(plan)]).toEqual([
          query,
          true,
          expect.any(Number),
        ])
      }
    }
  },
  120_000,
)
