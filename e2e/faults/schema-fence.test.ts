/**
 * Two versions of the program side by side while the newer one applies a breaking migration. The newer
 * version is a copy of the program with one migration more, run by its own command line.
 */
import { randomBytes } from 'node:crypto'
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { findFreePort, type RunningService, startProcess, startService } from '@postrider/testkit'
import { createPostgresServer, type PostgresServer } from '@postrider/testkit/postgres-server'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createWorld, type World } from '../world.ts'

const TEST_MS = 120_000
const repository = fileURLToPath(new URL('../../', import.meta.url))
const harmless = { name: '9998_harmless.sql', text: 'create table fence_harmless (id int)' }
const breaking = {
  name: '9999_breaking.sql',
  text: '-- breaking: the table of the harmless one goes\ndrop table fence_harmless',
}

let directory: string
let postgres: PostgresServer
let old: World
let env: Record<string, string>

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'postrider-fence-'))
  postgres = createPostgresServer({ directory, port: await findFreePort(), isPrepared: true })
  await postgres.start()
  env = {
    DATABASE_URL: postgres.url,
    SECRET_KEYS: `k1:${randomBytes(32).toString('base64')}`,
  }
  old = createWorld(env)
  await old.start()
}, TEST_MS)

afterAll(async () => {
  await old.destroy()
  await postgres.stop()
  rmSync(directory, { recursive: true, force: true })
})

/** The program as it is here, with these migrations more. Answers its folder. */
function makeVersion(name: string, more: readonly { name: string; text: string }[]): string {
  const root = join(directory, name)
  const server = join(root, 'packages', 'server')
  mkdirSync(server, { recursive: true })
  symlinkSync(join(repository, 'node_modules'), join(root, 'node_modules'))
  for (const part of ['src', 'bin', 'migrations', 'package.json'])
    cpSync(join(repository, 'packages', 'server', part), join(server, part), { recursive: true })
  for (const file of more) writeFileSync(join(server, 'migrations', file.name), file.text)
  return server
}

async function migrate(server: string): Promise<string> {
  const { POSTRIDER_DATABASE_URL } = prefixed(env)
  const running = await startProcess({
    script: join(server, 'bin', 'postrider.mjs'),
    args: ['migrate'],
    env: { POSTRIDER_DATABASE_URL },
  })
  expect(await running.exited).toEqual({ code: 0, signal: null })
  return running.lines.join('\n')
}

const prefixed = (values: Record<string, string>): Record<string, string> =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [`POSTRIDER_${name}`, value]))

async function answerOf(path: string, init?: RequestInit): Promise<[number, string]> {
  const response = await fetch(`${old.service().origin}${path}`, init)
  return [response.status, await response.text()]
}

async function untilReadyIs(status: number): Promise<string> {
  for (;;) {
    const [got, text] = await answerOf('/readyz')
    if (got === status) return text
  }
}

it('[G4] an older process works beside a harmless migration, and stops working, visibly, at a breaking one', {
  timeout: TEST_MS,
}, async () => {
  const { apiKey, client } = await old.newTenant()
  expect(await migrate(makeVersion('harmless', [harmless]))).toContain(harmless.name)
  await client.listMailers()
  expect((await answerOf('/readyz'))[0]).toBe(200)

  const newer = makeVersion('newer', [harmless, breaking])
  expect(await migrate(newer)).toContain(breaking.name)
  await old.service().process.waitForLine(/"msg":"schema\.newer/)
  expect(await untilReadyIs(503)).toContain(breaking.name)
  const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' }
  const send = { method: 'POST', headers, body: JSON.stringify(mail) }
  for (const init of [{ headers }, send])
    expect((await answerOf(init === send ? '/v1/email/send' : '/v1/mailers', init))[0]).toBe(503)
  expect((await answerOf('/healthz'))[0]).toBe(200)
  expect(old.service().process.end()).toBeUndefined()

  const replacement = await startNewer(newer)
  const response = await fetch(`${replacement.origin}/v1/mailers`, { headers })
  expect(response.status).toBe(200)
  expect(await replacement.stop()).toMatchObject({ code: 0 })
})

const mail = {
  from: { email: 'news@sender.test' },
  to: [{ email: 'ada@recipient.test' }],
  subject: 'Offers',
  content: [{ type: 'text/plain', value: 'Offers' }],
}

function startNewer(server: string): Promise<RunningService> {
  return startService({
    program: join(server, 'src', 'main.ts'),
    env: {
      ...env,
      DATA_DIR: join(directory, 'data-of-newer'),
      ADMIN_TOKEN: randomBytes(24).toString('hex'),
    },
  })
}
