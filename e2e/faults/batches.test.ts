/** The API killed in the middle of batches: what was answered is there, and what is sent again is there once. */
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Postrider } from '@postrider/client'
import { findFreePort } from '@postrider/testkit'
import { createPostgresServer, type PostgresServer } from '@postrider/testkit/postgres-server'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { createWorld, type World } from '../world.ts'

const TEST_MS = 90_000

let directory: string
let postgres: PostgresServer
let world: World
beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'postrider-batches-'))
  postgres = createPostgresServer({ directory, port: await findFreePort(), isPrepared: true })
  world = createWorld({
    ROLES: 'api',
    DATABASE_URL: postgres.url,
    SECRET_KEYS: `k1:${randomBytes(32).toString('base64')}`,
  })
  await postgres.start()
  await world.start()
})
afterEach(() => world.closePeers())
afterAll(async () => {
  await world.destroy()
  await postgres.stop()
  rmSync(directory, { recursive: true, force: true })
})

const messagesTo = (name: string, count: number) =>
  Array.from({ length: count }, (_, i) => ({
    from: { email: 'news@sender.test' },
    to: [{ email: `${name}${i}@recipient.test` }],
    subject: 'Offers',
    content: [{ type: 'text/plain' as const, value: 'Offers' }],
    idempotency_key: `${name}-${i}`,
  }))

type Results = Awaited<ReturnType<Postrider['sendBatch']>>['results']
const refIdsOf = (results: Results) =>
  results.map((result) => ('ref_id' in result ? result.ref_id : result.code))

async function stored(client: Postrider): Promise<string[]> {
  const refIds: string[] = []
  for await (const { ref_id } of client.getEmailLogs({ pageSize: 500 })) refIds.push(ref_id)
  return refIds
}

it.each([
  ['api.before_commit=kill@4', false, 64 + 2 * 64],
  ['api.after_commit=kill@200', false, undefined],
  ['api.before_commit=kill@2', true, 64],
  ['api.after_commit=kill@65', true, 64 + 300],
])(
  '[D8] a batch is there once when the API is killed at %s and the batch is sent again; atomic: %s',
  { timeout: TEST_MS },
  async (failpoints, atomic, storedThen) => {
    const smtp = await world.newSmtpServer()
    const { client, apiKey } = await world.newTenant()
    await client.configureSMTP({
      name: 'News',
      email: 'news@sender.test',
      config_type: 'smtp',
      connection_type: 'basic',
      config: { host: '127.0.0.1', port: smtp.port, secure: 'None' },
    })
    const dying = await world.startBeside({ ROLES: 'api', PORT: '0', FAILPOINTS: failpoints })
    const there = new Postrider({ apiKey, basePath: dying.origin, maxRetries: 0 })
    const [early, late] = [messagesTo('early', 64), messagesTo('late', 300)]
    const answered = refIdsOf((await there.sendBatch({ messages: early })).results)
    await expect(there.sendBatch({ messages: late, atomic })).rejects.toThrow()
    expect(await dying.process.exited).toMatchObject({ signal: 'SIGKILL' })

    const before = await stored(client)
    expect(before).toEqual(expect.arrayContaining(answered))
    // After the commit of an email the next one may be under way.
    if (storedThen !== undefined) expect(before).toHaveLength(storedThen)
    const again = refIdsOf((await client.sendBatch({ messages: late, atomic })).results)
    const repeated = refIdsOf((await client.sendBatch({ messages: early })).results)
    expect(repeated).toEqual(answered)
    const all = [...answered, ...again]
    expect(new Set(all).size).toBe(364)
    expect((await stored(client)).sort()).toEqual(all.sort())
  },
)
