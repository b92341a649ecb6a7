/**
 * What a page of a rescue's walk costs is decided by its plan, not measured: failures of both kinds are
 * reached through their indexes, no more of them than the page has.
 */
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { TestDatabase } from '../../../test/database.ts'
import { createRecordDatabase, seedRecord } from '../../../test/email-record.ts'
import { explaining, planOf, type SeenPlan } from '../../../test/explain.ts'
import { ulidAtTime } from '../../platform/ids.ts'
import { dayAt } from '../../platform/values/date-time.ts'
import { walkFailed } from './rescue-store.ts'

const EMAILS = 4_000
const DAYS = 8
const DAY_MS = 86_400_000
const LIMIT = 60
/** Those of both kinds, the last attempt of the one, which its recipient may tell, and the first of each day. */
const ROWS_MAX = 4 * (LIMIT + DAYS + 2)

let database: TestDatabase
let failures: number
beforeAll(async () => {
  database = await createRecordDatabase(DAYS + 1)
  const emails = Array.from({ length: EMAILS }, (_, i) => {
    const isFailed = i % 20 < 2
    return {
      atMs: Date.now() - ((EMAILS - i) * DAYS * DAY_MS) / EMAILS,
      subject: 'News',
      campaignId: null,
      recipients: [
        {
          email: `user${i}@example.com`,
          type: 'to' as const,
          status: isFailed ? ('failed' as const) : ('delivered' as const),
          deliveredAfterMs: isFailed ? null : 3_000,
          rescuedAfter: 0,
          isRelayed: i % 2 === 0,
        },
      ],
    }
  })
  failures = emails.filter(({ recipients: [one] }) => one?.status === 'failed').length
  await seedRecord(database.db, 'tn_a', emails)
}, 60_000)
afterAll(() => database.close())

it.each(['without', 'with'])(
  'reads a bounded number of rows by index, %s statistics',
  async (statistics) => {
    const { db } = database
    if (statistics === 'with') await db.query('analyze sending_attempt, sending_stopped')
    const range = {
      tenantId: 'tn_a',
      days: { from: dayAt(Date.now() - (DAYS + 1) * DAY_MS), to: dayAt(Date.now()) },
      refIdMin: ulidAtTime(0),
      limit: LIMIT,
    }
    let below = { refId: ulidAtTime(Date.now() + DAY_MS), n: 0, attempt: 0 }
    let found = 0
    for (;;) {
      const plans: SeenPlan[] = []
      const piece = await db.transaction(async (tx) => {
        const walked = await walkFailed(
          explaining(tx, plans, 'auto'),
          { ...range, below },
          undefined,
        )
        for (const { name, values } of plans) {
          const nodes = await planOf(tx, name, values, 'analyze, timing off, format json')
          const scans = nodes.filter((node) => node['Relation Name']?.startsWith('sending_'))
          const bad = scans.filter((node) => !/^Index (Only )?Scan/.test(node['Node Type']))
          const rows = scans.reduce(
            (sum, node) => sum + (node['Actual Rows'] ?? 0) * (node['Actual Loops'] ?? 0),
            0,
          )
          expect(bad).toEqual([])
          expect(rows).toBeLessThanOrEqual(ROWS_MAX)
        }
        expect(plans).toHaveLength(1)
        return walked
      })
      found += piece.length
      const last = piece.at(-1)
      if (last !== undefined) below = last
      if (piece.length < LIMIT) break
    }
    expect(found).toBe(failures)
  },
)
