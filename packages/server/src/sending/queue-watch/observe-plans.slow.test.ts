/**
 * What a look at the send queue costs is decided by its plans, not measured: rows are reached by an
 * index, or by the page, and a bounded number of them is read, however long the queue is.
 */
import { casesOf } from '@postrider/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../../test/database.ts'
import { type PlanMode, type PlanNode, planOf } from '../../../test/explain.ts'
import type { Queryable, Statement, Tx } from '../../platform/db/index.ts'
import { readInOrder } from '../../platform/db/index.ts'
import { measureQueue } from './measure-queue.ts'
import { countQueues } from './observe-store.ts'

const BUCKETS = Array.from({ length: 64 }, (_, i) => i)
const EXACT_MAX = 500
const QUEUES = 400
const PAGES = 256
/** On a page of 8 KiB, at most. */
const PAGE_ROWS = 80

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
  await database.db.query(
    `insert into mailers_mailer (tenant_id, mailer_id, name, email, email_key, config_type,
                                 connection_type, host, port, secure, tls_verify, uncertain, limits,
                                 state)
     select 'tn_a', 'smtp_' || n, 'n', 'a@example.com', 'a@example.com', 'smtp', 'basic',
            '127.0.0.1', 9, 'None', true, 'at_least_once', '{}',
            case when n % 4 = 0 then 'disabled' else 'active' end
       from generate_series(1, ${QUEUES}) n`,
  )
  await database.db.query('analyze mailers_mailer')
})
afterAll(() => database.close())

/** Spread over the queues: half of it due, half waiting. */
async function fill(count: number): Promise<void> {
  await database.db.query('truncate sending_queue')
  await database.db.query(
    `insert into sending_queue (tenant_id, ref_id, n, mailer_id, bucket, is_bulk, due_at,
                                max_attempts, expires_at, content_bytes)
     select 'tn_a', 'r' || n, 0, 'smtp_' || n % ${QUEUES} + 1, n % ${QUEUES} % 64, false,
            now() + case when n / ${QUEUES} % 2 = 0 then -1 else 1 end * n % 600 * interval '1 s', 5,
            now() + interval '3 days', 100
       from generate_series(1, $1::integer) n`,
    [count],
  )
}

interface Read {
  readonly name: string
  readonly node: PlanNode
  readonly rows: number
}

/** Every node that reads the queue or mailers, run once more, with the rows that it read. */
function reading(tx: Tx, reads: Read[], mode: PlanMode): Tx {
  return {
    ...tx,
    async query<Row>(s: Statement | string, values: readonly unknown[] = []) {
      const result = await tx.query<Row>(s, values)
      if (typeof s === 'object' && s.name !== undefined) {
        await tx.query(`set local plan_cache_mode = ${mode}`)
        reads.push(...(await readsOf(tx, s.name, values)))
      }
      return result
    },
  }
}

async function readsOf(q: Queryable, name: string, values: readonly unknown[]): Promise<Read[]> {
  const nodes = await planOf(q, name, values, 'analyze, format json')
  return nodes
    .filter((node) => ['sending_queue', 'mailers_mailer'].includes(node['Relation Name'] ?? ''))
    .map((node) => {
      const removed = Number(Reflect.get(node, 'Rows Removed by Filter') ?? 0)
      const { 'Actual Rows': rows = 0, 'Actual Loops': loops = 0 } = node
      return { name, node, rows: (rows + removed) * loops }
    })
}

async function look(mode: PlanMode): Promise<Read[]> {
  const reads: Read[] = []
  await readInOrder(database.db, async (tx) => {
    const seen = reading(tx, reads, mode)
    const figures = await measureQueue(seen, BUCKETS, EXACT_MAX)
    expect(figures.due).toBeGreaterThan(EXACT_MAX)
    await countQueues(
      seen,
      [{ tenantId: 'tn_a', mailerId: 'smtp_1', bucket: 0, isBulk: false, isHeld: false }],
      EXACT_MAX,
    )
  })
  return reads
}

describe.each<PlanMode>(['force_custom_plan', 'force_generic_plan'])(
  'the queries of the queue watch with %s',
  (mode) => {
    it('read a bounded number of rows, by an index or by page', async () => {
      await fill(casesOf(40_000, 100_000))
      await database.db.query('analyze sending_queue')
      const reads = await look(mode)
      expect(new Set(reads.map(({ name }) => name)).size).toBe(6)
      const unbounded = reads.filter(
        ({ node }) => !/^(Index (Only )?Scan|Tid Range Scan)$/.test(node['Node Type']),
      )
      expect(unbounded).toEqual([])
      for (const { name, rows } of reads)
        expect({ name, isBounded: rows <= boundOf(name) }).toEqual({ name, isBounded: true })
    }, 60_000)

    it('read no more when the queue is ten times as long', async () => {
      const count = casesOf(8_000, 20_000)
      await fill(count)
      const short = totalOf(await look(mode))
      await fill(10 * count)
      expect(totalOf(await look(mode))).toBeLessThan(short * 1.05)
    }, 60_000)
  },
)

function boundOf(name: string): number {
  if (name.startsWith('mailers.')) return QUEUES
  if (name === 'sending.sample_queue') return PAGES * PAGE_ROWS
  // The first rows of the buckets, then of each queue, and where a bucket has no more.
  if (name === 'sending.discover_queues') return QUEUES + BUCKETS.length
  // What one state has no more of, in each queue, is read once.
  return EXACT_MAX + 1 + QUEUES
}

/** Of what a look reads to its bounds already in the short queue. */
function totalOf(reads: readonly Read[]): number {
  return reads
    .filter(({ name }) => ['sending.discover_queues', 'sending.count_queue'].includes(name))
    .reduce((sum, { rows }) => sum + rows, 0)
}
