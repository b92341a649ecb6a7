/**
 * What a piece of a retry or a cancel costs is decided by its plans, not measured: at a million recipients who
 * wait, rows are reached by an index, and no more of them than the piece has.
 */
import { casesOf } from '@postrider/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { TestDatabase } from '../../../test/database.ts'
import { explaining, planOf, type SeenPlan } from '../../../test/explain.ts'
import { createSendingDatabase } from '../../../test/sending.ts'
import { type Tx, transactByIndex } from '../../platform/db/index.ts'
import { dayOfUlid, ulidAtTime } from '../../platform/ids.ts'
import {
  dropWaiting,
  loadWaiting,
  retryWaiting,
  type WaitingPlace,
  walkWaiting,
} from './waiting-store.ts'

const EMAILS = casesOf(100, 1_000)
const RECIPIENTS = 1_000
const LIMIT = 500
/** An update or delete reads a row twice: to lock it, and to change it. */
const ROWS_MAX = 2 * LIMIT + 2
const BASE = ulidAtTime(Date.now()).slice(0, 10)

let database: TestDatabase
beforeAll(async () => {
  database = await createSendingDatabase()
  const ids = `'${BASE}' || lpad(e::text, 16, '0')`
  const day = dayOfUlid(`${BASE}${'0'.repeat(16)}`)
  const each = `generate_series(1, ${EMAILS}) e cross join generate_series(0, ${RECIPIENTS - 1}) n`
  await database.fill(
    `insert into sending_email (tenant_id, ref_id, day, mailer_id, from_email, subject,
                                max_attempts, expires_at, traceparent, created_at)
     select 'tn_a', ${ids}, $1, 'smtp_a', 'a@example.com', 'News', 5, now(), '', now()
       from generate_series(1, ${EMAILS}) e`,
    [day],
  )
  await database.fill(
    `insert into sending_recipient (tenant_id, ref_id, n, day, email, type, status, message_id,
                                    created_at)
     select 'tn_a', ${ids}, n, $1, n || '@example.com', 'to', 'deferred', '', now() from ${each}`,
    [day],
  )
  await database.fill(
    `insert into sending_queue (tenant_id, ref_id, n, mailer_id, bucket, due_at, attempt,
                                max_attempts, expires_at, content_bytes)
     select case when e % 2 = 0 then 'tn_a' else 'tn_b' end, ${ids}, n, 'smtp_a', 1,
            now() + interval '1 hour', 2, 5, now() + interval '3 days', 100 from ${each}`,
  )
  await database.fill(
    `insert into sending_scheduled (tenant_id, ref_id, n, mailer_id, bucket, due_at, max_attempts,
                                    expires_at, content_bytes)
     select 'tn_a', ${ids}, n, 'smtp_a', 1, now() + interval '1 day', 5, now(), 100
       from generate_series(1, ${EMAILS}) e cross join generate_series(1000, 1049) n`,
  )
}, 300_000)
afterAll(() => database.close())

class Undone extends Error {}

/** Runs it with its plans looked at, and takes back what it changed. */
async function look(work: (tx: Tx) => Promise<void>): Promise<void> {
  const plans: SeenPlan[] = []
  await transactByIndex(database.db, async (tx) => {
    await tx.query('savepoint before')
    await work(explaining(tx, plans, 'auto'))
    await tx.query('rollback to before')
    for (const { name, values } of plans) {
      const nodes = await planOf(tx, name, values, 'analyze, timing off, format json')
      const scans = nodes.filter((node) => node['Relation Name']?.startsWith('sending_'))
      const reads = scans.filter((node) => node['Node Type'] !== 'ModifyTable')
      const bad = reads
        .filter((node) => !/^(Index (Only )?Scan|Tid Scan)/.test(node['Node Type']))
        .map((node) => `${name}: ${node['Node Type']} ${node['Relation Name']}`)
      expect(bad).toEqual([])
      const rows = reads.reduce(
        (sum, node) => sum + (node['Actual Rows'] ?? 0) * (node['Actual Loops'] ?? 0),
        0,
      )
      expect(rows, name).toBeLessThanOrEqual(ROWS_MAX)
    }
    expect(plans.length).toBeGreaterThan(0)
    throw new Undone()
  }).catch((error: unknown) => {
    if (!(error instanceof Undone)) throw error
  })
}

const range = {
  tenantId: 'tn_a',
  refIdMin: ulidAtTime(0),
  below: { refId: `${BASE}${String(EMAILS / 2).padStart(16, '0')}`, n: 400 },
  limit: LIMIT,
}
const someIds = Array.from({ length: EMAILS }, (_, i) => `${BASE}${String(i).padStart(16, '0')}`)

describe.each(['without', 'with'])('%s statistics', (statistics) => {
  beforeAll(async () => {
    if (statistics === 'with')
      await database.db.query(
        'analyze sending_queue, sending_scheduled, sending_recipient, sending_email',
      )
  }, 120_000)

  it.each([
    ['retry', undefined],
    ['retry', someIds],
    ['cancel', undefined],
    ['cancel', someIds],
  ] as const)('walks for %s by index, through no more rows than a piece has', async (what, ids) => {
    let walked: WaitingPlace[] = []
    await look(async (tx) => {
      walked = await walkWaiting(tx, what, range, ids)
    })
    expect(walked).toHaveLength(LIMIT)
    const inOrder = walked.toSorted((a, b) =>
      a.refId === b.refId ? b.n - a.n : a.refId < b.refId ? 1 : -1,
    )
    expect(walked).toEqual(inOrder)
  })

  it('loads and changes a piece by index', async () => {
    const keys = await walkWaiting(database.db, 'cancel', range, undefined)
    await look(async (tx) => void (await loadWaiting(tx, 'tn_a', keys, true)))
    await look(async (tx) => void (await retryWaiting(tx, 'tn_a', keys)))
    await look(async (tx) => expect(await dropWaiting(tx, 'tn_a', keys)).toHaveLength(LIMIT))
  })
})
