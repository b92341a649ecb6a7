import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../test/database.ts'
import type { Db, Statement } from '../platform/db/index.ts'
import type { TenantIdentity } from '../platform/http/bounds/admission.ts'
import { believedMs, createKeyAuthenticator } from './authenticate-key.ts'
import { createApiKey } from './create-api-key.ts'
import { createTenant } from './create-tenant.ts'
import { newApiKey, revokeApiKey } from './index.ts'
import { markApiKeyUsed } from './store.ts'

let database: TestDatabase
let nowMs = 0
let wallMs = Date.parse('2026-11-20T12:00:00Z')
let queries = 0
const clock = { now: () => new Date(wallMs), nowMicros: () => BigInt(wallMs) * 1000n }

beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.close())
beforeEach(() => {
  queries = 0
})

function setUp() {
  const counting: Db = {
    ...database.db,
    get stats() {
      return database.db.stats
    },
    query: (s, values) => {
      queries++
      return database.db.query(s, values)
    },
  }
  const authenticator = createKeyAuthenticator({ db: counting, clock, monotonicMs: () => nowMs })
  const deps = { db: database.db, clock, authenticator }
  return { authenticator, deps, ask: async (key: string) => await authenticator.authenticate(key) }
}

async function newKey(o: { expiresInMs?: number } = {}) {
  const { tenantId } = await createTenant(database, { name: 'Acme' })
  const expiry =
    o.expiresInMs === undefined
      ? {}
      : { expires_at: new Date(wallMs + o.expiresInMs).toISOString() }
  const key = await createApiKey({ db: database.db, clock }, tenantId, {
    scopes: ['read'],
    ...expiry,
  })
  // As used: else the first use writes that down, with a query more.
  await markApiKeyUsed(database.db, key.keyId)
  return { tenantId, ...key }
}

describe('authentication by API key', () => {
  it('finds the tenant, the key and its scopes', async () => {
    const { ask } = setUp()
    const { tenantId, keyId, apiKey } = await newKey()
    expect(await ask(apiKey)).toEqual({ tenantId, keyId, scopes: ['read'] })
  })

  it('refuses an unknown key, and a mistyped key without a query', async () => {
    const { ask } = setUp()
    expect(await ask(newApiKey())).toBeUndefined()
    expect(queries).toBe(1)
    const key = newApiKey()
    expect(await ask(key.slice(0, -1) + (key.endsWith('0') ? '1' : '0'))).toBeUndefined()
    expect(queries).toBe(1)
  })

  it('answers a known key without a query', async () => {
    const { ask, authenticator } = setUp()
    const { apiKey, keyId } = await newKey()
    await ask(apiKey)
    const again = authenticator.authenticate(apiKey) as TenantIdentity
    expect(again.keyId).toBe(keyId)
    expect(queries).toBe(1)
  })

  it('makes one query for many concurrent callers', async () => {
    const { ask } = setUp()
    const { apiKey } = await newKey()
    await Promise.all(Array.from({ length: 50 }, () => ask(apiKey)))
    expect(queries).toBe(1)
  })

  it('obeys a revocation in this process at once', async () => {
    const { ask, deps } = setUp()
    const { apiKey, keyId } = await newKey()
    await ask(apiKey)
    await revokeApiKey(deps, keyId)
    expect(await ask(apiKey)).toBeUndefined()
  })

  it('does not cache an answer that was on its way during a revocation', async () => {
    const [answered, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const { deps } = setUp()
    const slow: Db = {
      ...database.db,
      stats: database.db.stats,
      async query<Row>(s: Statement | string, values?: readonly unknown[]) {
        const answer = await database.db.query<Row>(s, values)
        answered.resolve()
        await released.promise
        return answer
      },
    }
    const authenticator = createKeyAuthenticator({ db: slow, clock, monotonicMs: () => nowMs })
    const { apiKey, keyId } = await newKey()
    const before = authenticator.authenticate(apiKey)
    await answered.promise
    await revokeApiKey({ ...deps, authenticator }, keyId)
    released.resolve()
    expect(await before).toMatchObject({ keyId })
    expect(await authenticator.authenticate(apiKey)).toBeUndefined()
  })

  it('obeys a revocation in another process within two seconds', async () => {
    const { ask } = setUp()
    const other = setUp()
    const { apiKey, keyId } = await newKey()
    await ask(apiKey)
    await revokeApiKey(other.deps, keyId)
    nowMs += believedMs
    expect(await ask(apiKey)).toBeUndefined()
  })

  it('refreshes a key in use in the background', async () => {
    const { ask, authenticator } = setUp()
    const other = setUp()
    const { apiKey, keyId } = await newKey()
    await ask(apiKey)
    await revokeApiKey(other.deps, keyId)
    nowMs += 1_500
    expect(authenticator.authenticate(apiKey)).toMatchObject({ keyId })
    expect(queries).toBe(2)
    // The answer arrives after at most one more query of the same connection pool.
    while ((await ask(apiKey)) !== undefined) await database.db.query('select 1')
  })

  it('ends with the expiry of the key, also in the cache', async () => {
    const { ask } = setUp()
    const { apiKey } = await newKey({ expiresInMs: 100 })
    expect(await ask(apiKey)).toBeDefined()
    wallMs += 100
    expect(await ask(apiKey)).toBeUndefined()
    const fresh = setUp()
    expect(await fresh.ask(apiKey)).toBeUndefined()
  })

  it('rejects, and caches nothing, while the database is away', async () => {
    const { apiKey } = await newKey()
    let isAway = true
    const db: Db = {
      ...database.db,
      stats: database.db.stats,
      query: (s, values) =>
        isAway ? Promise.reject(new Error('away')) : database.db.query(s, values),
    }
    const { authenticate } = createKeyAuthenticator({ db, clock, monotonicMs: () => nowMs })
    await expect(authenticate(apiKey)).rejects.toThrow('away')
    isAway = false
    expect(await authenticate(apiKey)).toBeDefined()
  })
})

describe('guessed keys', () => {
  const guesses = (count: number) => Array.from({ length: count }, () => newApiKey())

  it('share queries, one at a time, and delay a valid key for few of them', async () => {
    const { authenticator } = setUp()
    const { apiKey, keyId } = await newKey()
    const wrong = guesses(2_000).map((key) => authenticator.authenticate(key, () => '192.0.2.1'))
    const right = authenticator.authenticate(apiKey, () => '192.0.2.2')
    expect(await right).toMatchObject({ keyId })
    // Its own, the one before it, and the one that follows.
    expect(queries).toBeLessThanOrEqual(3)
    expect(await Promise.all(wrong)).toEqual(wrong.map(() => undefined))
    // The first alone, then 500 keys a query.
    expect(queries).toBe(5)
  })

  it('do not block a valid key from the same address', async () => {
    const { authenticator } = setUp()
    const { apiKey, keyId } = await newKey()
    const address = () => '2001:db8::1'
    const wrong = guesses(1_000).map((key) => authenticator.authenticate(key, address))
    expect(await authenticator.authenticate(apiKey, address)).toMatchObject({ keyId })
    await Promise.all(wrong)
  })

  it('guessed keys from the same address do not delay a key that was valid before', async () => {
    const { authenticator } = setUp()
    const { apiKey, keyId } = await newKey()
    const address = () => '192.0.2.1'
    await authenticator.authenticate(apiKey, address)
    nowMs += believedMs
    queries = 0
    const wrong = guesses(3_000).map((key) => authenticator.authenticate(key, address))
    expect(await authenticator.authenticate(apiKey, address)).toMatchObject({ keyId })
    expect(queries).toBeLessThanOrEqual(3)
    await Promise.all(wrong)
  })

  it('cost one query a second when they are repeated', async () => {
    const { ask } = setUp()
    const key = newApiKey()
    for (let i = 0; i < 100; i++) await ask(key)
    expect(queries).toBe(1)
    nowMs += 1_000
    await ask(key)
    expect(queries).toBe(2)
  })

  it('do not hide a key that is created later', async () => {
    const { ask, deps } = setUp()
    const { tenantId } = await createTenant(database, { name: 'Later' })
    expect(await ask(newApiKey())).toBeUndefined()
    const { apiKey } = await createApiKey(deps, tenantId, {})
    expect(await ask(apiKey)).toMatchObject({ tenantId })
  })
})
