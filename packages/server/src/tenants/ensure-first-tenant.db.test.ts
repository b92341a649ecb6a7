import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../test/database.ts'
import { createClock } from '../platform/clock.ts'
import { createKeyAuthenticator, createTenant, ensureFirstTenant, pageOfTenants } from './index.ts'

let database: TestDatabase
beforeEach(async () => {
  database = await createTestDatabase()
})
afterEach(() => database.close())

describe('the first tenant', () => {
  it('[contract 1] is named default, and has the configured key', async () => {
    const apiKey = 'a-key-of-my-own-choice'
    const created = await ensureFirstTenant(database, apiKey)
    expect(created?.apiKey).toBe(apiKey)
    const { tenants } = await pageOfTenants(database, {})
    expect(tenants).toMatchObject([{ tenant_id: created?.tenantId, name: 'default' }])
    const { authenticate } = createKeyAuthenticator({ db: database.db, clock: createClock() })
    expect(await authenticate(apiKey)).toMatchObject({ tenantId: created?.tenantId, scopes: [] })
  })

  it('gets a new key when none is configured', async () => {
    expect((await ensureFirstTenant(database))?.apiKey).toMatch(/^pr_/)
  })

  it('is not created when there is a tenant already', async () => {
    await createTenant(database, { name: 'Acme' })
    expect(await ensureFirstTenant(database, 'a-key-of-my-own-choice')).toBeUndefined()
    expect((await pageOfTenants(database, {})).tenants).toHaveLength(1)
  })

  it('is created once by processes that start together', async () => {
    const created = await Promise.all(
      Array.from({ length: 4 }, () => ensureFirstTenant(database, 'a-key-of-my-own-choice')),
    )
    expect(created.filter((tenant) => tenant !== undefined)).toHaveLength(1)
    expect((await pageOfTenants(database, {})).tenants).toHaveLength(1)
  })
})
