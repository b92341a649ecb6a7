/** docs/reference/operator.md#audit-log: filters of the lists. */
import type { ListAuditQuery } from '@postrider/contract'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../test/database.ts'
import { newUlidAt } from '../platform/ids.ts'
import { pageOfAllAudit, pageOfAudit } from './list-audit.ts'

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
  const day = Date.parse('2026-11-20T00:00:00Z')
  for (const [n, [tenantId, actor, operation, target]] of ENTRIES.entries()) {
    const at = day + n * 3_600_000
    await database.db.query(
      `insert into tenants_audit_entry
         (tenant_id, entry_id, at, actor, operation, target, from_address, request_id)
       values ($1, $2, $3, $4, $5, $6, '192.0.2.7', $7)`,
      // The clocks of a process and of the database differ.
      [tenantId, newUlidAt(at - 60_000), new Date(at), actor, operation, target, `r${n}`],
    )
  }
})
afterAll(() => database.close())

const ENTRIES = [
  ['tn_a', 'operator', 'createKey', 'key_1'],
  ['tn_a', 'user_1', 'addSuppression', 'a/b@example.com'],
  ['tn_b', 'operator', 'createKey', 'key_2'],
  ['', 'cli', 'createApiKey', 'tn_a/key_3'],
  ['', 'cli', 'updateTenant', 'tn_a'],
  ['tn_a', 'user_1', 'createKey', null],
] as const

const ids = ({ entries }: { readonly entries: readonly { readonly request_id: string }[] }) =>
  entries.map(({ request_id: id }) => id).join(' ')
const all = async (query: ListAuditQuery) => ids(await pageOfAllAudit(database, query))
const ofA = async (query: ListAuditQuery) => ids(await pageOfAudit(database, 'tn_a', query))

describe('the audit log', () => {
  it('is filtered by operation, actor and target, over all tenants or in one', async () => {
    expect(await all({})).toBe('r5 r4 r3 r2 r1 r0')
    expect(await all({ operation: 'createKey' })).toBe('r5 r2 r0')
    expect(await ofA({ operation: 'createKey' })).toBe('r5 r0')
    expect(await all({ actor: 'cli' })).toBe('r4 r3')
    expect(await all({ operation: 'createKey', actor: 'operator' })).toBe('r2 r0')
    expect(await all({ operation: 'createkey' })).toBe('')
  })

  it('finds a target by one of its ids, and by all of it', async () => {
    expect(await all({ target: 'tn_a' })).toBe('r4 r3')
    expect(await all({ target: 'tn_a/key_3' })).toBe('r3')
    expect(await all({ target: 'a/b@example.com' })).toBe('r1')
    expect(await all({ target: 'key' })).toBe('')
  })

  it('is filtered by the time at which entries began, both ends included', async () => {
    expect(await all({ start: '2026-11-20T02:00:00Z', end: '2026-11-20T03:00:00Z' })).toBe('r3 r2')
    expect(await all({ end: '2026-11-20T00:00:00.000Z' })).toBe('r0')
    expect(await ofA({ start: '2026-11-20' })).toBe('r5 r1 r0')
    expect(await all({ end: '2026-11-19' })).toBe('')
    await expect(all({ start: 'soon' })).rejects.toMatchObject({ errors: [{ path: '/start' }] })
    await expect(all({ start: '2026-11-21', end: '2026-11-20' })).rejects.toMatchObject({
      errors: [{ path: '/start', message: 'must not be after end' }],
    })
  })

  it('goes on where a page looked at enough, and its token is of its filters', async () => {
    const found: string[] = []
    let pages = 0
    let pageToken: string | undefined
    do {
      const page = await pageOfAllAudit(
        { ...database, looksMax: 2 },
        {
          ...{ actor: 'operator', pageSize: 1 },
          ...(pageToken === undefined ? {} : { pageToken }),
        },
      )
      found.push(ids(page))
      pageToken = page.nextPageToken
      pages += 1
    } while (pageToken !== undefined && pages < 10)
    expect(found.filter((one) => one !== '')).toEqual(['r2', 'r0'])
    expect(pages).toBeGreaterThan(2)
    const first = await pageOfAllAudit(database, { actor: 'cli', pageSize: 1 })
    const token = first.nextPageToken ?? ''
    expect(await all({ actor: 'cli', pageToken: token })).toBe('r3')
    await expect(all({ actor: 'operator', pageToken: token })).rejects.toMatchObject({
      errors: [{ path: '/pageToken' }],
    })
  })
})
