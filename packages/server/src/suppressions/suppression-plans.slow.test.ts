/**
 * What statements cost with a million suppressions is decided by their plans, not measured: rows are reached
 * through an index, no more of them than are asked for.
 */
import { casesOf } from '@postrider/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../test/database.ts'
import { explaining, type PlanMode, planOf, type SeenPlan } from '../../test/explain.ts'
import type { Tx } from '../platform/db/index.ts'
import { newUlid } from '../platform/ids.ts'
import * as store from './store.ts'

const ROWS = casesOf(100_000, 1_000_000)
const LIMIT = 100
const MODES: readonly PlanMode[] = ['force_generic_plan', 'force_custom_plan']

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase({ poolMax: 1 })
  // Nine tenths of one tenant; a tenth ends by itself, and half of that has ended.
  await database.fill(
    `insert into suppressions_address
       (tenant_id, email_key, email, reason, id, expires_at)
     select case when i % 10 = 0 then 'tn_b' else 'tn_a' end, 'r' || i || '@example.com',
            'r' || i || '@example.com',
            (array['bounced', 'bounced', 'bounced', 'manual', 'complained', 'unsubscribed'])[1 + i % 6],
            '01JD4M8W6ZQ3V5' || lpad(i::text, 12, '0'),
            case when i % 10 = 3 then now() + (i % 20 - 10) * interval '1 day' end
       from generate_series(1, $1::integer) i`,
    [ROWS],
  )
}, 180_000)
afterAll(() => database.close())

const keyOf = (i: number) => ({ tenantId: 'tn_a', emailKey: `r${i}@example.com` })
const rowOf = (i: number, name: string): store.NewRow => ({
  ...{ emailKey: `${name}${i}@example.com`, email: `${name}${i}@example.com`, id: newUlid() },
  ...{ reason: 'complained', source: null, note: null, expiresAt: null },
})

async function runAll(tx: Tx): Promise<void> {
  await store.findKeys(
    tx,
    Array.from({ length: LIMIT }, (_, i) => keyOf(i * 7)),
  )
  await store.getSuppression(tx, keyOf(77))
  const page = { tenantId: 'tn_a', before: '01JD4M8W6ZQ3V5000000500000', limit: LIMIT }
  await store.listSuppressions(tx, { ...page, reason: undefined })
  await store.listSuppressions(tx, { ...page, reason: 'complained' })
  await store.putSuppressions(
    tx,
    'tn_a',
    Array.from({ length: LIMIT }, (_, i) => rowOf(i * 11 + 1, i % 2 === 0 ? 'r' : 'new')),
  )
  await store.deleteKey(tx, keyOf(78))
  await store.deleteEnded(tx, LIMIT)
}

const NAMES = ['find', 'get', 'list', 'list_by_reason', 'put', 'delete', 'delete_ended'].map(
  (name) => `suppressions.${name}`,
)

describe.each(['without statistics', 'with statistics'])('many suppressions %s', (which) => {
  beforeAll(async () => {
    if (which === 'with statistics') await database.db.query('vacuum analyze suppressions_address')
  }, 120_000)

  it.each(MODES)('are reached by index alone, with %s', async (mode) => {
    const plans: SeenPlan[] = []
    await database.db
      .transaction(async (tx) => {
        await runAll(explaining(tx, plans, mode))
        throw new Error('undone')
      })
      .catch((error: Error) => expect(error.message).toBe('undone'))
    expect(plans.map(({ name }) => name)).toEqual(NAMES)
    const scans = plans.flatMap(({ name, nodes }) =>
      nodes
        .filter((node) => node['Relation Name'] === 'suppressions_address')
        .filter((node) => !/^(Index|Index Only|Tid) Scan$|^ModifyTable$/.test(node['Node Type']))
        .map((node) => `${name}: ${node['Node Type']}`),
    )
    expect(scans).toEqual([])
  })

  it.each(MODES)('cost no more rows than are asked for, with %s', async (mode) => {
    const read: string[] = []
    await database.db
      .transaction(async (tx) => {
        const plans: SeenPlan[] = []
        await runAll(explaining(tx, plans, mode))
        for (const { name, values } of plans) {
          const nodes = await planOf(tx, name, values, 'analyze, timing off, format json')
          for (const node of nodes) {
            const rows = (node['Actual Rows'] ?? 0) * (node['Actual Loops'] ?? 0)
            const removed = Reflect.get(node, 'Rows Removed by Filter') ?? 0
            if (rows + Number(removed) > 2 * LIMIT)
              read.push(`${name}: ${node['Node Type']} ${rows} and ${removed}`)
          }
        }
        throw new Error('undone')
      })
      .catch((error: Error) => expect(error.message).toBe('undone'))
    expect(read).toEqual([])
  })
})
