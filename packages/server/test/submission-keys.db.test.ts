/** API keys that end while a program is logged in, over real sockets, with the keys of a real database. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { begin, logIn, plain, RAW, start } from '../src/submission/listener.fixture.ts'
import { createKeyAuthenticator } from '../src/tenants/authenticate-key.ts'
import { createApiKey } from '../src/tenants/create-api-key.ts'
import { createTenant, revokeApiKey } from '../src/tenants/index.ts'
import { createTestDatabase, type TestDatabase } from './database.ts'

const HOUR_MS = 3_600_000
const ENDED = /^535 5\.7\.8 .* was revoked or has expired/

let database: TestDatabase
beforeAll(async () => {
  database = await createTestDatabase()
})
afterAll(() => database.close())

/** A key that expires in an hour, a way to end it, and a listener that knows it. */
async function setUp(end: 'expires' | 'is revoked') {
  let wallMs = Date.parse('2026-11-20T12:00:00Z')
  const clock = { now: () => new Date(wallMs), nowMicros: () => BigInt(wallMs) * 1000n }
  const deps = { db: database.db, clock }
  const { tenantId } = await createTenant(database, { name: 'Acme' })
  const newKey = (expiresInMs: number) =>
    createApiKey(deps, tenantId, {
      scopes: ['send'],
      expires_at: new Date(wallMs + expiresInMs).toISOString(),
    })
  const [key, other] = [await newKey(HOUR_MS), await newKey(2 * HOUR_MS)]
  const authenticator = createKeyAuthenticator({ ...deps, monotonicMs: () => 0 })
  const started = await start({ authenticateKey: authenticator.authenticate })
  return {
    started,
    key: key.apiKey,
    other: other.apiKey,
    async endKey() {
      if (end === 'expires') wallMs += HOUR_MS
      else await revokeApiKey({ ...deps, authenticator }, key.keyId)
    },
  }
}

describe.each(['expires', 'is revoked'] as const)('a key that %s', (end) => {
  it('between the login and MAIL sends nothing, and its connection ends', async () => {
    const { started, key, endKey } = await setUp(end)
    const client = await logIn(started, key)
    await endKey()
    await begin(client)
    expect(await client.ask(`${RAW}.`)).toMatch(ENDED)
    expect(await client.end()).toBe('fin')
    expect(started.taken).toEqual([])
    expect(await (await started.open()).ask(plain(key))).toMatch(ENDED)
  })

  it('between two messages of a connection sends the first alone', async () => {
    const { started, key, other, endKey } = await setUp(end)
    const client = await logIn(started, key)
    await begin(client)
    expect(await client.ask(`${RAW}.`)).toMatch(/^250 2\.0\.0 Ok/)
    await endKey()
    await begin(client, 'BDAT')
    client.send(`BDAT ${RAW.length} LAST\r\n${RAW}`)
    expect(await client.see(/\r\n/)).toMatch(ENDED)
    expect(await client.end()).toBe('fin')
    expect(started.taken).toHaveLength(1)
    // Another key of the same tenant goes on.
    const next = await logIn(started, other)
    await begin(next)
    expect(await next.ask(`${RAW}.`)).toMatch(/^250 2\.0\.0 Ok/)
    expect(started.taken).toHaveLength(2)
  })
})
