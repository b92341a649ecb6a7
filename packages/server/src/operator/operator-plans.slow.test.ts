/**
 * What the operator's looks cost is decided by their plans: with 500 tenants and a million recipients (in
 * `npm test` a tenth), every table of mail is reached by an index alone.
 */
import { casesOf } from '@postrider/testkit'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../test/database.ts'
import { explaining, type SeenPlan } from '../../test/explain.ts'
import type { Db, Tx } from '../platform/db/index.ts'
import { bucketOf } from '../platform/db/leases.ts'
import { newId, newUlid } from '../platform/ids.ts'
import { listQueues } from './list-queues.ts'
import { search } from './search.ts'

const TENANTS = 500
const ROWS = casesOf(100_000, 1_000_000)
const PIECE = 100_000

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase({ hasDays: true })
  const { db } = database
  await db.query(
    `insert into tenants_tenant (tenant_id, name)
     select 'tn_' || n, 'n' from generate_series(1, ${TENANTS}) n`,
  )
  for (let from = 1; from <= ROWS; from += PIECE)
    await db.query(
      `insert into sending_recipient (tenant_id, ref_id, n, day, email, address_key, type, status,
                                      message_id, created_at)
       select 'tn_' || n % ${TENANTS} + 1, 'r' || n, 0, current_date, 'u' || n || '@a.example',
              'a.example@u' || n, 'to', 'queued', '', now()
         from generate_series($1::int, $1::int + ${PIECE} - 1) n`,
      [from],
    )
  const buckets = Array.from({ length: TENANTS }, (_, n) => bucketOf(`smtp_${n + 1}`))
  await db.query(
    `insert into sending_queue (tenant_id, ref_id, n, mailer_id, bucket, is_bulk, due_at,
                                max_attempts, expires_at, content_bytes)
     select 'tn_' || n % ${TENANTS} + 1, 'r' || n, 0, 'smtp_' || n % ${TENANTS} + 1,
            ($1::int[])[n % ${TENANTS} + 1], false, now() - interval '1 hour', 5,
            now() + interval '3 days', 100
       from generate_series(1, ${ROWS / 2}) n`,
    [buckets],
  )
  await db.query(
    `insert into suppressions_address (tenant_id, email_key, email, reason, id)
     select 'tn_' || n % ${TENANTS} + 1, 'u' || n || '@a.example', 'u', 'manual', 'i' || n
       from generate_series(1, ${ROWS / 5}) n`,
  )
}, 240_000)
afterAll(() => database.close())

/** Each statement of a look is explained after it has run. */
function watched(plans: SeenPlan[]): Db {
  const { db } = database
  const transaction: Db['transaction'] = (work, o) =>
    db.transaction((tx: Tx) => work(explaining(tx, plans, 'auto')), o)
  return { ...db, transaction }
}

it.each([
  ['an address', () => 'u7@a.example'],
  ['a domain', () => 'a.example'],
  ['an id of an email', () => newUlid()],
  ['an id of an event', () => newId('evt')],
  ['an id of a delivery', () => newId('dlv')],
  ['an id of a mailer', () => newId('smtp')],
  ['an id of a received message', () => newId('in')],
])(
  'looks for %s by index, with and without statistics',
  async (_, q) => {
    for (const statistics of ['without', 'with']) {
      if (statistics === 'with')
        await database.db.query('analyze sending_recipient, sending_queue, suppressions_address')
      const plans: SeenPlan[] = []
      await search(watched(plans), q())
      expect(scansOf(plans).length).toBeGreaterThan(0)
      expect(badOf(plans)).toEqual([])
    }
  },
  60_000,
)

it('lists queues by index, and reads no more than it counts', async () => {
  const plans: SeenPlan[] = []
  const { queues } = await listQueues(watched(plans), { pageSize: 50 })
  expect(queues.length).toBe(50)
  expect(queues[0]).toMatchObject({ kind: 'mailer', state: 'deleted', due: ROWS / 2 / TENANTS })
  expect(badOf(plans)).toEqual([])
}, 60_000)

/** Tenants are all read. */
function scansOf(plans: readonly SeenPlan[]): string[] {
  return plans.flatMap(({ name, nodes }) =>
    nodes
      .filter((node) => /^(?!tenants_tenant)[a-z]+_/.test(node['Relation Name'] ?? ''))
      .map((node) => `${name}: ${node['Node Type']} ${node['Relation Name']}`),
  )
}

function badOf(plans: readonly SeenPlan[]): string[] {
  return [...new Set(scansOf(plans).filter((scan) => !/: Index (Only )?Scan /.test(scan)))]
}
