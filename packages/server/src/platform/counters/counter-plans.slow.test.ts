/** What statistics cost is decided by their plans: a million sums of others are not looked at. */
import { casesOf } from '@postrider/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts'
import { explaining, type PlanMode, type SeenPlan } from '../../../test/explain.ts'
import { readInOrder } from '../db/index.ts'
import { addCounterChanges, foldCounters, readCounters, readGroups } from './counter-store.ts'

const ROWS = casesOf(200_000, 1_000_000)
const GROUPS = 50
const HOUR = 3_600_000
const TODAY = Math.floor(Date.now() / (24 * HOUR)) * 24 * HOUR

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
  const { db } = database
  // 100 tenants, of each 50 groups an hour for up to 200 hours, and one mailer.
  await db.query(
    `insert into platform_counter_group (tenant_id, grouped_by, span, at, key, name, n)
     select 'tn_' || i % 100, 'recipient_domain', 'hour',
            $1::timestamptz - (i / 100 / ${GROUPS}) * interval '1 hour', 'd' || i / 100 % ${GROUPS}, 'delivered', 1
       from generate_series(0, ${ROWS - 1}) i`,
    [new Date(TODAY)],
  )
  await db.query(
    `insert into platform_counter (tenant_id, subject, span, at, name, n)
     select 'tn_' || i % 100, 'smtp_' || i % 100, 'hour',
            $1::timestamptz - (i / 100) * interval '1 hour', 'delivered', 1
       from generate_series(0, ${ROWS / 5 - 1}) i`,
    [new Date(TODAY)],
  )
}, 120_000)
afterAll(() => database.close())

const SUMS = new Set(['platform_counter', 'platform_counter_group'])

function reads(plans: readonly SeenPlan[]) {
  return plans.flatMap(({ name, nodes }) =>
    nodes
      .filter((node) => SUMS.has(node['Relation Name'] ?? ''))
      .map((node) => ({ name, type: node['Node Type'] })),
  )
}

describe.each<PlanMode>(['force_custom_plan', 'force_generic_plan'])(
  'the sums of a day, %s',
  (mode) => {
    it.each(['without', 'with'])(
      'are read and folded by index, %s statistics',
      async (has) => {
        const { db } = database
        if (has === 'with') await db.query('analyze platform_counter, platform_counter_group')
        const plans: SeenPlan[] = []
        const of = {
          tenantId: 'tn_7',
          from: new Date(TODAY - 23 * HOUR),
          before: new Date(TODAY + HOUR),
        }
        await readInOrder(db, async (tx) => {
          const seen = explaining(tx, plans, mode)
          const groups = await readGroups(seen, {
            ...of,
            groupedBy: 'recipient_domain',
            interval: 'hour',
            limit: 10,
          })
          expect(groups.length).toBe(11)
          expect(groups.find(({ key }) => key === '')?.n).toBeGreaterThanOrEqual(40 * 24)
          const counters = await readCounters(seen, { ...of, subject: undefined, interval: 'hour' })
          expect(counters.length).toBe(24)
        })
        await db
          .transaction(async (tx) => {
            const at = new Date(TODAY)
            const change = { tenantId: 'tn_7', subject: 'smtp_7', name: 'delivered', at, n: 1 }
            const changes = ['d1', 'new', 'newer'].map((recipient_domain) => {
              return { ...change, groups: { recipient_domain } }
            })
            await addCounterChanges(tx, changes)
            expect(
              await foldCounters(explaining(tx, plans, mode), { limit: 500, groupsMax: 51 }),
            ).toBe(1)
            throw new Error('taken back')
          })
          .catch((error: Error) => expect(error.message).toBe('taken back'))
        expect(new Set(plans.map(({ name }) => name)).size).toBe(3)
        const scans = reads(plans).filter(({ type }) => type !== 'ModifyTable')
        expect(scans.length).toBeGreaterThan(3)
        expect(scans.filter(({ type }) => !/^(Index|Bitmap)/.test(type))).toEqual([])
      },
      60_000,
    )
  },
)
