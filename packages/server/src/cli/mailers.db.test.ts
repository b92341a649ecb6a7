/** `postrider mailer test` against real servers, with and without a mailer. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createSmtpServer, type SmtpServer, type SmtpServerOptions } from '@postrider/testkit'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../test/database.ts'
import { addMailer, sealPassword } from '../../test/sending.ts'
import { runCli } from '../cli.ts'
import { newId } from '../platform/ids.ts'
import { createKeyRing } from '../platform/secrets/index.ts'

const certs = new URL('../../../testkit/certs/', import.meta.url)
const pem = (name: string) => readFileSync(new URL(name, certs), 'utf8')
const KEYS = `k:${Buffer.from(Array.from({ length: 32 }, (_, i) => i)).toString('base64')}`
const PASSWORD = 'hunter2-canary'
const USERNAME = 'news@example.com'
const directory = mkdtempSync(join(tmpdir(), 'cli-mailers-'))
const passwordFile = join(directory, 'password')
let database: TestDatabase
let server: SmtpServer

beforeAll(async () => {
  database = await createTestDatabase()
  await database.db.query(
    `insert into tenants_tenant (tenant_id, name) values ('tn_a', 'A'), ('tn_b', 'B')`,
  )
  writeFileSync(passwordFile, `${PASSWORD}\n`)
})
afterAll(async () => {
  await database.close()
  rmSync(directory, { recursive: true, force: true })
})
afterEach(() => server?.close())

async function serve(o: SmtpServerOptions = {}): Promise<SmtpServer> {
  server = await createSmtpServer({ auth: { users: { [USERNAME]: PASSWORD } }, ...o })
  return server
}

async function run(args: readonly string[]) {
  let [out, err] = ['', '']
  const env = {
    POSTRIDER_DATABASE_URL: database.url,
    POSTRIDER_SECRET_KEYS: KEYS,
    POSTRIDER_ALLOW_NETWORKS: '127.0.0.0/8',
  }
  const io = { env, out: (text: string) => (out += text), err: (text: string) => (err += text) }
  const code = await runCli(['mailer', 'test', ...args], io)
  expect(out + err).not.toContain('canary')
  expect(out + err).not.toContain(Buffer.from(`\0${USERNAME}\0${PASSWORD}`).toString('base64'))
  return { code, out, err }
}

const onServer = (...more: string[]) =>
  run(['--host', '127.0.0.1', '--port', String(server.port), ...more])
const withLogin = ['--username', USERNAME, '--password-file', passwordFile]
/** The first words of each line of the table. */
const steps = (out: string) =>
  [...out.matchAll(/^(\w+) +(ok|FAIL) /gm)].map(([, a, b]) => `${a} ${b}`)

describe('mailer test of a server', () => {
  it('shows each step of a login, with the certificate, and no secret', async () => {
    const tls = { mode: 'starttls', key: pem('localhost.key'), cert: pem('localhost.pem') } as const
    await serve({ tls })
    const { code, out } = await onServer('--secure', 'Tls', '--no-tls-verify', ...withLogin)
    expect(code).toBe(0)
    expect(steps(out)).toEqual([
      'dns ok',
      'connect ok',
      'greeting ok',
      'ehlo ok',
      'starttls ok',
      'tls ok',
      'ehlo ok',
      'auth ok',
    ])
    expect(out).toMatch(/^connect .* 127\.0\.0\.1 port \d+$/m)
    expect(out).toMatch(/^ehlo .* PIPELINING, .*STARTTLS/m)
    expect(out).toMatch(
      /^tls .* TLSv1\.3, certificate of \S.*, issued by \S.*, valid until .*20\d\d/m,
    )
    expect(out).toMatch(/^tls .* NOT verified/m)
    expect(out).toMatch(/^auth .* AUTH PLAIN: 235 /m)
    expect(out).toMatch(/The login works\.\n$/)
  })

  it('uses TLS from the first byte on request', async () => {
    const tls = { mode: 'implicit', key: pem('localhost.key'), cert: pem('localhost.pem') } as const
    await serve({ tls })
    const { out } = await onServer('--secure', 'SSL', '--no-tls-verify')
    expect(steps(out)).toEqual(['dns ok', 'connect ok', 'tls ok', 'greeting ok', 'ehlo ok'])
    expect(out).toContain('no login is configured')
  })

  it('ends with 1 at an untrusted certificate, and says what a send would do', async () => {
    const tls = { mode: 'implicit', key: pem('localhost.key'), cert: pem('localhost.pem') } as const
    await serve({ tls })
    const { code, out } = await onServer('--secure', 'SSL', '--json')
    expect(code).toBe(1)
    const said = JSON.parse(out)
    expect(said).toMatchObject({ ok: false, problem: { follows: expect.any(String) } })
    expect(said.steps.at(-1)).toMatchObject({ step: 'tls', ok: false })
  })

  it.each([
    ['535 5.7.8 no', 'auth_rejected', 'once a second try has failed too'],
    ['535 5.7.139 SmtpClientAuthentication is disabled', 'auth_rejected', 'at once'],
    ['454 4.7.0 Temporary authentication failure', 'auth_temporary', 'would be tried again'],
  ])('reports a login that is answered %s', async (reply, category, follows) => {
    await serve({ script: ({ phase }) => (phase === 'auth' ? reply : undefined) })
    const { code, out } = await onServer('--secure', 'None', ...withLogin)
    expect(code).toBe(1)
    expect(steps(out)).toEqual(['dns ok', 'connect ok', 'greeting ok', 'ehlo ok', 'auth FAIL'])
    expect(out).toContain(`AUTH PLAIN: ${reply}`)
    expect(out).toContain(`(${category})`)
    expect(out).toContain(follows)
  })

  it('hides a login that the server repeats', async () => {
    await serve({
      script: ({ phase, line }) => (phase === 'auth' ? `535 5.7.8 you said ${line}` : undefined),
    })
    expect((await onServer('--secure', 'None', ...withLogin)).out).toContain('[redacted]')
  })

  it('reports a server that is not there, has no name, or must not be reached', async () => {
    await serve()
    await server.close()
    const away = await onServer('--secure', 'None')
    expect(steps(away.out)).toEqual(['dns ok', 'connect FAIL'])
    const nowhere = await run(['--host', 'nowhere.invalid', '--port', '587'])
    expect(steps(nowhere.out)).toEqual(['dns FAIL'])
    const refused = await run(['--host', '10.0.0.1', '--port', '587'])
    expect(refused.code).toBe(1)
    expect(refused.out).toContain('address_refused')
  })

  it.each([
    [[]],
    [['--host', 'x.example']],
    [['smtp_x', '--host', 'x.example', '--port', '25']],
    [['--host', 'x.example', '--port', '25', '--username', 'u']],
    [['--host', 'x.example', '--port', '0']],
  ])('ends with 2 for %j', async (args) => {
    expect(await run(args)).toMatchObject({ code: 2, out: '' })
  })
})

describe('mailer test of a stored mailer', () => {
  async function mailerWith(password: string) {
    const key = { tenantId: 'tn_a', mailerId: newId('smtp') }
    const secret = sealPassword(createKeyRing(KEYS), key, password)
    await addMailer(database.db, { ...key, port: server.port, username: USERNAME, secret })
    return key.mailerId
  }

  it('logs in with the stored configuration', async () => {
    await serve()
    const mailerId = await mailerWith(PASSWORD)
    const { code, out } = await run([mailerId])
    expect(code).toBe(0)
    expect(out).toContain(`${mailerId}, news@example.com, active`)
    expect(steps(out)).toContain('auth ok')
  })

  it('keeps the state of the mailer, whatever the server says', async () => {
    await serve()
    const mailerId = await mailerWith('wrong')
    const { code, out } = await run([mailerId, '--json', '--tenant', 'tn_a'])
    expect(code).toBe(1)
    expect(JSON.parse(out)).toMatchObject({
      ok: false,
      mailer_id: mailerId,
      state: 'active',
      problem: { category: 'auth_rejected' },
    })
    const { rows } = await database.db.query('select distinct state from mailers_mailer')
    expect(rows).toEqual([{ state: 'active' }])
  })

  it('ends with 1 for an unknown mailer, and for one of another tenant', async () => {
    await serve()
    const mailerId = await mailerWith(PASSWORD)
    for (const args of [['smtp_x'], [mailerId, '--tenant', 'tn_b']]) {
      const { code, err } = await run(args)
      expect(code).toBe(1)
      expect(err).toMatch(/^(There is|tn_b has) no mailer smtp_\w+\n$/)
    }
    expect(server.connections).toEqual([])
  })
})
