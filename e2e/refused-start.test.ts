/**
 * A start that is refused ends its process with a code other than 0, names what is to blame, and has
 * nothing left that would hold the process (docs/reference/running.md#start).
 */
import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { findFreePort, programs, type RunningProcess, startProcess } from '@postrider/testkit'
import { createDatabase, runOnServer } from '@postrider/testkit/database'
import { afterEach, describe, expect, inject, it } from 'vitest'

const { serverUrl, templateWithDays: template } = inject('testDatabase')
const cleanups: (() => unknown)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

const newKey = (id: string) => `${id}:${randomBytes(32).toString('base64')}`

type Env = Record<string, string | undefined>

async function hosted(): Promise<Env & { POSTRIDER_DATABASE_URL: string }> {
  const copy = await createDatabase({ serverUrl, template })
  cleanups.push(() => copy.close())
  return {
    POSTRIDER_DATABASE_URL: copy.url,
    POSTRIDER_SECRET_KEYS: newKey('k1'),
    POSTRIDER_ADMIN_TOKEN: randomBytes(16).toString('hex'),
    POSTRIDER_PORT: '0',
    POSTRIDER_INBOUND_PORT: '0',
    POSTRIDER_DATA_DIR: directory(),
  }
}

function directory(): string {
  const dir = mkdtempSync(join(tmpdir(), 'postrider-refused-'))
  cleanups.push(() => rmSync(dir, { recursive: true, force: true }))
  return dir
}

async function start(env: Env, ready?: RegExp): Promise<RunningProcess> {
  const running = await startProcess({
    script: programs.service,
    env,
    ...(ready === undefined ? {} : { ready }),
  })
  cleanups.push(() => running.kill())
  return running
}

async function expectRefused(env: Env, words: RegExp, code: 1 | 2 = 1): Promise<void> {
  const refused = await start(env)
  expect(await refused.exited).toEqual({ code, signal: null })
  const printed = refused.lines.join('\n')
  expect(printed).toMatch(words)
  expect(printed).not.toContain('service.end_forced')
}

async function occupy(): Promise<string> {
  const occupant = createServer()
  const port = await findFreePort()
  await new Promise<void>((resolve) => occupant.listen(port, '127.0.0.1', resolve))
  cleanups.push(() => new Promise((resolve) => occupant.close(resolve)))
  return String(port)
}

/** The database then knows a key of this id, whose bytes nobody has. */
async function sealWith(
  id: string,
  env: { readonly POSTRIDER_DATABASE_URL: string },
): Promise<void> {
  await runOnServer(
    env.POSTRIDER_DATABASE_URL,
    `insert into platform_secret_key (key_id, sealed) values ('${id}', 'v1.${id}.${'A'.repeat(40)}')`,
  )
}

describe('a start that is refused', () => {
  it('ends the process for an invalid variable', () =>
    expectRefused({ POSTRIDER_PORT: 'http' }, /POSTRIDER_PORT: expected a whole number/, 2))

  it('ends the process without a secret key beside an external database', async () =>
    expectRefused(
      { ...(await hosted()), POSTRIDER_SECRET_KEYS: undefined },
      /POSTRIDER_SECRET_KEYS: required by every process/,
      2,
    ))

  it('ends the process when the secret key of an id has changed', async () => {
    const env = await hosted()
    await sealWith('k1', env)
    await expectRefused(env, /could not start: .*secret key "k1" .*POSTRIDER_SECRET_KEYS/)
  })

  it('ends the process when the only secret key that the database uses is missing', async () => {
    const env = await hosted()
    await sealWith('k1', env)
    await expectRefused(
      { ...env, POSTRIDER_SECRET_KEYS: newKey('k2') },
      /could not start: .*secret key "k1".*POSTRIDER_SECRET_KEYS/,
    )
  })

  it('ends the process when the port of the API is in use', async () => {
    const POSTRIDER_PORT = await occupy()
    await expectRefused({ ...(await hosted()), POSTRIDER_PORT }, /EADDRINUSE.* POSTRIDER_PORT/)
  })

  it('ends the process when the configured inbound port is in use', async () => {
    const POSTRIDER_INBOUND_PORT = await occupy()
    await expectRefused(
      { ...(await hosted()), POSTRIDER_INBOUND_PORT },
      /EADDRINUSE.* POSTRIDER_INBOUND_PORT/,
    )
  })

  it('ends the process when the database server does not have the database', async () => {
    const env = await hosted()
    const url = env.POSTRIDER_DATABASE_URL.replace(/test_[0-9a-f]{16}/, 'not_there')
    await expectRefused(
      { ...env, POSTRIDER_DATABASE_URL: url },
      /database "not_there".*POSTRIDER_DATABASE_URL/,
    )
  })

  it('ends the process when the schema has an unknown breaking migration', async () => {
    const env = await hosted()
    await runOnServer(
      env.POSTRIDER_DATABASE_URL,
      `insert into platform_migration (name, sha256, is_breaking) values ('9999_new.sql', 'x', true)`,
    )
    await expectRefused(env, /breaking migration 9999_new\.sql/)
  })

  it('ends the process when the generated secrets are damaged', async () => {
    const dir = directory()
    mkdirSync(dir, { recursive: true })
    writeFileSync(join(dir, 'secrets.json'), '{')
    await expectRefused(
      { POSTRIDER_DATA_DIR: dir, POSTRIDER_PORT: '0', POSTRIDER_INBOUND_PORT: '0' },
      /secrets\.json is damaged/,
    )
  })

  it('ends the process when the generated secrets of an existing database are lost', async () => {
    const dir = directory()
    const env = { POSTRIDER_DATA_DIR: dir, POSTRIDER_PORT: '0', POSTRIDER_INBOUND_PORT: '0' }
    const first = await start(env, /service\.started/)
    await first.kill('SIGTERM')
    rmSync(join(dir, 'secrets.json'))
    for (let time = 0; time < 2; time++) {
      await expectRefused(env, /secrets\.json is missing.*links in mail that was sent/)
      expect(existsSync(join(dir, 'secrets.json'))).toBe(false)
    }
  })

  it('ends the process when another service uses the data directory', async () => {
    const dir = directory()
    const env = {
      POSTRIDER_DATA_DIR: dir,
      POSTRIDER_PORT: '0',
      POSTRIDER_INBOUND_PORT: '0',
    }
    await start(env, /"msg":"service\.started"/)
    await expectRefused(env, /could not start: .*postrider-refused-/)
  })
})
