import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../test/database.ts'
import { emptyTables } from '../../test/empty-tables.ts'
import { type PlanMode, planOf } from '../../test/explain.ts'
import { createLogger } from '../platform/log.ts'
import { createAuditJanitor } from './audit-janitor.ts'
import { deleteOldAuditEntries } from './audit-store.ts'

const dayMs = 86_400_000
const log = createLogger({ level: 'silent' })

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.close())
beforeEach(() => emptyTables(database.db, 'tenants_audit_entry'))

/** The ids of later entries are higher. */
async function addEntries(count: number, ageDays: number, from = 0): Promise<void> {
  await database.db.query(
    `insert into tenants_audit_entry
       (tenant_id, entry_id, at, actor, operation, from_address, request_id)
     select 'tn_' || i % 3, lpad(i::text, 26, '0'), now() - $1::float8 * interval '1 day',
            'operator', 'sendEmail', '192.0.2.7', ''
       from generate_series($2::integer + 1, $2::integer + $3::integer) i`,
    [ageDays, from, count],
  )
}

async function countEntries(): Promise<unknown> {
  const { rows } = await database.db.query('select count(*)::integer as n from tenants_audit_entry')
  return rows[0]
}

describe('the audit janitor', () => {
  it('removes entries older than the retention, piece by piece, and no others', async () => {
    await addEntries(3_500, 365.1)
    await addEntries(10, 364.9, 3_500)
    const janitor = createAuditJanitor({ db: database.db, log, retentionMs: 365 * dayMs })
    expect(await janitor.runOnce()).toBe(3_500)
    expect(await janitor.runOnce()).toBe(0)
    expect(await countEntries()).toEqual({ n: 10 })
    await janitor.stop()
  })

  it('removes no more than a piece in one statement', async () => {
    await addEntries(20, 400)
    expect(await deleteOldAuditEntries(database.db, 365 * dayMs, 7)).toBe(7)
    expect(await countEntries()).toEqual({ n: 13 })
  })

  it.each<PlanMode>(['force_custom_plan', 'force_generic_plan'])(
    'finds entries by index, with %s',
    async (mode) => {
      await addEntries(20_000, 10)
      await database.db.query('analyze tenants_audit_entry')
      await database.db.transaction(async (tx) => {
        await deleteOldAuditEntries(tx, 365 * dayMs, 100)
        await tx.query(`set local plan_cache_mode = ${mode}`)
        const nodes = await planOf(tx, 'tenants.delete_old_audit_entries', [365 * dayMs, 100])
        const reading = nodes.filter((node) => node['Relation Name'] === 'tenants_audit_entry')
        const kinds = reading.map((node) => node['Node Type'])
        expect(kinds).toContain('Index Scan')
        expect(kinds.filter((kind) => !/^(Index|Tid) Scan$|^ModifyTable$/.test(kind))).toEqual([])
      })
    },
  )
})
