import {
  chmodSync,
  existsSync,
  mkdtempSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createEmbeddedPostgres } from '@postrider/embedded-postgres'
import { createDnsServer } from '@postrider/testkit'
import pino from 'pino'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../test/database.ts'
import { runCli } from './cli.ts'
import { createClock } from './platform/clock.ts'
import { createKeyAuthenticator, type KeyAuthenticator } from './tenants/index.ts'

let database: TestDatabase
let authenticator: KeyAuthenticator
const directory = mkdtempSync(join(tmpdir(), 'cli-'))

beforeAll(async () => {
  database = await createTestDatabase()
  authenticator = createKeyAuthenticator({ db: database.db, clock: createClock() })
})
afterAll(async () => {
  await database.close()
  rmSync(directory, { recursive: true, force: true })
})

async function run(args: readonly string[], env: Record<string, string> = {}) {
  let [out, err] = ['', '']
  const code = await runCli(args, {
    env: { POSTRIDER_DATABASE_URL: database.url, ...env },
    out: (text) => {
      out += text
    },
    err: (text) => {
      err += text
    },
  })
  return { code, out, err, json: () => JSON.parse(out) }
}

async function newTenant(name = 'Acme'): Promise<{ tenant_id: string; key_id: string }> {
  return (await run(['tenant', 'create', name, '--json'])).json()
}

describe('tenants and keys', () => {
  it('tenant create makes a tenant whose key works, and shows the key once', async () => {
    const { code, out } = await run(['tenant', 'create', 'Acme Inc'])
    expect(code).toBe(0)
    const apiKey = /pr_\w{49}/.exec(out)?.[0] ?? ''
    expect(await authenticator.authenticate(apiKey)).toMatchObject({ scopes: [] })
    expect((await run(['tenant', 'list'])).out).not.toContain(apiKey)
  })

  it('tenant suspend, activate and quota change a tenant, and show shows it', async () => {
    const { tenant_id } = await newTenant('Limited')
    expect((await run(['tenant', 'suspend', tenant_id])).out).toMatch(/^state +suspended$/m)
    expect((await run(['tenant', 'list'])).out).toMatch(new RegExp(`${tenant_id}.*suspended`))
    const quota = ['tenant', 'quota', tenant_id, '--emails-per-day', '7', '--queued-max', '9']
    expect((await run(quota)).out).toMatch(/^emails today +0 of 7$/m)
    await run(['tenant', 'quota', tenant_id, '--queued-max', 'none'])
    await run(['tenant', 'activate', tenant_id])
    expect((await run(['tenant', 'show', tenant_id, '--json'])).json().tenant).toMatchObject({
      ...{ tenant_id, name: 'Limited', state: 'active' },
      quotas: { emails_per_day: 7, queued_max: null, emails_per_second: null },
      usage: { emails_today: 0, queued: 0, storage_bytes: 0 },
    })
    expect((await run(['tenant', 'quota', tenant_id, '--queued-max', '-1'])).code).toBe(2)
    expect(await run(['tenant', 'show', 'tn_unknown'])).toMatchObject({ code: 1 })
  })

  it('tenant delete ends the keys of a tenant, and wants its name', async () => {
    const { tenant_id } = await newTenant('Old')
    const wrong = await run(['tenant', 'delete', tenant_id, '--confirm', 'New'])
    expect(wrong).toMatchObject({ code: 1, err: expect.stringContaining('confirm') })
    expect((await run(['tenant', 'delete', tenant_id])).code).toBe(2)
    const { tenant } = (
      await run(['tenant', 'delete', tenant_id, '--confirm', 'Old', '--json'])
    ).json()
    expect(tenant).toMatchObject({ tenant_id, state: 'deleting' })
    expect((await run(['key', 'list', tenant_id])).err).toContain('There is no tenant')
  })

  it('tenant list shows every tenant', async () => {
    const { tenant_id } = await newTenant('Listed')
    expect((await run(['tenant', 'list'])).out).toMatch(new RegExp(`${tenant_id}.*Listed`))
    const { tenants } = (await run(['tenant', 'list', '--json'])).json()
    expect(tenants).toContainEqual(expect.objectContaining({ tenant_id, name: 'Listed' }))
  })

  it('key create sets scopes and an expiry, which key list shows', async () => {
    const { tenant_id } = await newTenant()
    const created = await run(
      ['key', 'create', tenant_id, '--name', 'CI', '--scope', 'send', 'read'].concat(
        ...['--expires', '90d', '--json'],
      ),
    )
    const { key_id, api_key } = created.json()
    expect(await authenticator.authenticate(api_key)).toMatchObject({ scopes: ['send', 'read'] })
    const { keys } = (await run(['key', 'list', tenant_id, '--json'])).json()
    expect(keys[0]).toMatchObject({ key_id, name: 'CI', scopes: ['send', 'read'] })
    const days = (Date.parse(keys[0].expires_at) - Date.now()) / 86_400_000
    expect(Math.round(days)).toBe(90)
    expect((await run(['key', 'list', tenant_id])).out).toContain('send,read')
  })

  it('key revoke disables the key', async () => {
    const { tenant_id } = await newTenant()
    const { key_id, api_key } = (await run(['key', 'create', tenant_id, '--json'])).json()
    expect(await run(['key', 'revoke', key_id])).toMatchObject({ code: 0, err: '' })
    expect(await authenticator.authenticate(api_key)).toBeUndefined()
    expect((await run(['key', 'list', tenant_id])).out).toMatch(/^KEY .*\n.* 20\d\d-.* 20\d\d-/)
  })
})

describe('refused commands', () => {
  it.each([
    [['key', 'create', 'tn_unknown'], 1, 'There is no tenant tn_unknown\n'],
    [['key', 'list', 'tn_unknown'], 1, 'There is no tenant tn_unknown\n'],
    [['key', 'revoke', 'key_unknown'], 1, 'There is no key key_unknown\n'],
    [['tenant', 'create', ' '], 1, 'name must not be blank'],
    [['tenant', 'create', 'a\u001b[2J'], 1, 'name must not contain control characters'],
    [['key', 'create', 'tn_x', '--name', 'a\nb'], 1, 'name must not contain control characters'],
    [['key', 'create', 'tn_x', '--scope', 'everything'], 2, 'Allowed choices are send'],
    [['key', 'create', 'tn_x', '--expires', 'soon'], 2, 'such as 90d'],
    [['key', 'create', 'tn_x', '--expires', '2020-01-01T00:00:00Z'], 1, 'in the future'],
    [['tenant', 'create'], 2, "missing required argument 'name'"],
    [['frobnicate'], 2, "unknown command 'frobnicate'"],
  ])('%j ends with %d and says why', async (args, code, message) => {
    const result = await run(args)
    expect(result).toMatchObject({ code, out: '' })
    expect(result.err).toContain(message)
  })

  it('end with 2 and name every problem of the configuration', async () => {
    const result = await run(['tenant', 'list'], { POSTRIDER_PORT: 'x', POSTRIDER_PROT: '1' })
    expect(result.code).toBe(2)
    expect(result.err).toContain('POSTRIDER_PORT: expected')
    expect(result.err).toContain('did you mean POSTRIDER_PORT?')
  })

  it('end with 1 without the password when the database is away', async () => {
    const POSTRIDER_DATABASE_URL = 'postgres://app:hunter2@127.0.0.1:1/x'
    const result = await run(['tenant', 'list'], { POSTRIDER_DATABASE_URL })
    expect(result.code).toBe(1)
    expect(result.err).toContain('cannot be reached')
    expect(result.err).not.toContain('hunter2')
  })

  it('do not include help and version, which end with 0', async () => {
    expect((await run(['--help'])).out).toContain('doctor')
    expect(await run(['--version'])).toMatchObject({ code: 0, out: expect.stringMatching(/^\d/) })
  })
})

describe('migrate', () => {
  it('migrates an empty database once', async () => {
    const empty = await createTestDatabase({ isMigrated: false })
    const env = { POSTRIDER_DATABASE_URL: empty.url }
    expect((await run(['tenant', 'list'], env)).err).toContain('run "postrider migrate"')
    const first = await run(['migrate', '--json'], env)
    expect(first.json().applied).toContain('0001_baseline.sql')
    expect((await run(['migrate'], env)).out).toBe('Up to date\n')
    expect((await run(['tenant', 'list'], env)).out).toBe('No tenants\n')
    await empty.close()
  })
})

const HOSTED = {
  POSTRIDER_SECRET_KEYS: `k:${Buffer.from('0123456789abcdefghijklmnopqrstuv').toString('base64')}`,
  POSTRIDER_ADMIN_TOKEN: 'operator-token-1',
}

describe('doctor', () => {
  it('ends with 1 for a database that can lose confirmed data; every other check is fine', async () => {
    const { code, json } = await run(['doctor', '--json'], HOSTED)
    const findings: { check: string; state: string; detail: string }[] = json().findings
    expect(findings.map(({ check }) => check)).toEqual([
      ...[
        'node',
        'configuration',
        'secrets',
        'address guard',
        'data directory',
        'disk',
        'hits',
        'helo name',
        'sending',
        'inbound host',
      ],
      ...['database', 'durability', 'migrations', 'sealed secrets'],
      ...['sender', 'dispatcher', 'mailbox', 'webhooks', 'parked events', 'given-up events'],
      ...['webhook backlog', 'callbacks', 'day partitions', 'retention', 'send queue', 'retries'],
    ])
    // The tests' own server runs without fsync.
    const failed = findings.filter(({ state }) => state === 'failed')
    expect(failed).toMatchObject([{ check: 'durability' }])
    expect(failed[0]?.detail).toContain('fsync=off')
    expect(code).toBe(1)
  })

  it('ends with 1 and names every problem of the configuration', async () => {
    const { code, out } = await run(['doctor'], { POSTRIDER_PORT: 'x' })
    expect(code).toBe(1)
    expect(out).toContain('FAIL  configuration  POSTRIDER_PORT: expected')
    expect(out).toContain('POSTRIDER_SECRET_KEYS: required')
    expect(out).toContain('Not fit to run.')
  })

  it('warns of a database without tables, which the next start makes', async () => {
    const empty = await createTestDatabase({ isMigrated: false })
    const { out } = await run(['doctor'], { ...HOSTED, POSTRIDER_DATABASE_URL: empty.url })
    expect(out).toMatch(/warn {2}migrations +not migrated yet; a start or postrider migrate/)
    await empty.close()
  })

  it('ends with 1 when the database is away', async () => {
    const away = await run(['doctor'], {
      ...HOSTED,
      POSTRIDER_DATABASE_URL: 'postgres://app:hunter2@127.0.0.1:1/x',
    })
    expect(away.code).toBe(1)
    expect(away.out).toMatch(/FAIL {2}database +The database cannot be reached: .*ECONNREFUSED/)
    expect(away.out).not.toContain('hunter2')
  })

  it('names an invalid location file, and a public address without TLS', async () => {
    const file = join(directory, 'junk.mmdb')
    writeFileSync(file, 'junk')
    const bad = await run(['doctor'], { ...HOSTED, POSTRIDER_GEOIP_DB: file })
    expect(bad.code).toBe(1)
    expect(bad.out).toContain('FAIL  configuration  POSTRIDER_GEOIP_DB: expected an mmdb file')
    const plain = { ...HOSTED, POSTRIDER_PUBLIC_URL: 'http://mail.example.com' }
    expect((await run(['doctor'], plain)).out).toMatch(
      /warn {2}configuration +POSTRIDER_PUBLIC_URL is http/,
    )
  })

  it('looks up the inbound host, and says where it has no address', async () => {
    const dns = await createDnsServer()
    try {
      const env = { ...HOSTED, POSTRIDER_DNS_SERVERS: dns.address }
      const says = async (host: string) =>
        /^(\S+) +inbound host +(.*)$/m.exec(
          (await run(['doctor'], { ...env, POSTRIDER_INBOUND_HOST: host })).out,
        )
      for (const host of ['192.0.2.1', 'localhost'])
        expect((await says(host))?.[2]).toMatch(/is no name that an MX record can lead to$/)
      expect((await says('mx.example.com'))?.slice(1)).toEqual([
        'warn',
        'mx.example.com (POSTRIDER_INBOUND_HOST) has no address',
      ])
      dns.set('mx.example.com', 'A', ['192.0.2.1'])
      expect((await says('mx.example.com'))?.slice(1)).toEqual([
        'ok',
        'mx.example.com is 192.0.2.1',
      ])
    } finally {
      await dns.close()
    }
  })

  it('ends with 1 when the data directory cannot be read', async () => {
    // A link to itself stands for what also root may not read.
    const POSTRIDER_DATA_DIR = join(directory, 'loop')
    symlinkSync(POSTRIDER_DATA_DIR, POSTRIDER_DATA_DIR)
    const env = { POSTRIDER_DATABASE_URL: '', POSTRIDER_DATA_DIR }
    const { code, out } = await run(['doctor'], env)
    expect(code).toBe(1)
    for (const check of ['secrets', 'database'])
      expect(out).toMatch(new RegExp(`FAIL  ${check} +The data directory .*loop cannot be read`))
    expect((await run(['tenant', 'list'], env)).err).toContain('loop cannot be read: ELOOP')
  })

  it('warns of a data directory that other users can list', async () => {
    const open = mkdtempSync(join(directory, 'open-'))
    chmodSync(open, 0o755)
    const { out } = await run(['doctor'], { ...HOSTED, POSTRIDER_DATA_DIR: open })
    expect(out).toMatch(/warn {2}data directory .*open to other users \(mode 0755\)/)
    chmodSync(open, 0o711)
    const closed = await run(['doctor'], { ...HOSTED, POSTRIDER_DATA_DIR: open })
    expect(closed.out).toMatch(/ok {4}data directory/)
    const file = join(open, 'secrets.json')
    writeFileSync(file, '{}')
    chmodSync(file, 0o644)
    const readable = await run(['doctor'], { ...HOSTED, POSTRIDER_DATA_DIR: open })
    expect(readable.out).toMatch(/warn {2}data directory .*secrets\.json is open .*\(mode 0644\)/)
    expect(statSync(file).mode & 0o777).toBe(0o644)
  })

  it('warns of a wide exception from the address guard', async () => {
    const env = { ...HOSTED, POSTRIDER_ALLOW_NETWORKS: '0.0.0.0/0' }
    const { out } = await run(['doctor'], env)
    expect(out).toMatch(/warn {2}address guard .*very wide/)
  })
})

describe('commands with the embedded database', () => {
  const env = { POSTRIDER_DATABASE_URL: '', POSTRIDER_DATA_DIR: join(directory, 'data') }

  it('doctor makes no database before the first start', async () => {
    const { code, out } = await run(['doctor'], env)
    expect(code).toBe(0)
    expect(out).toContain(`none in ${env.POSTRIDER_DATA_DIR} yet: made by the first start`)
    expect(existsSync(env.POSTRIDER_DATA_DIR)).toBe(false)
  })

  it.each([[['tenant', 'create', 'Acme']], [['key', 'list', 'tn_x']], [['migrate']]])(
    '%j makes no database where there is none',
    async (args) => {
      const result = await run(args, env)
      expect(result).toMatchObject({ code: 1, out: '' })
      expect(result.err).toContain(`There is no database in ${env.POSTRIDER_DATA_DIR}: start the`)
      expect(existsSync(env.POSTRIDER_DATA_DIR)).toBe(false)
    },
  )

  const newServer = () =>
    createEmbeddedPostgres({ dataDir: env.POSTRIDER_DATA_DIR, log: pino({ level: 'silent' }) })

  it('start the server for as long as a command runs, or use the running one', async () => {
    const first = newServer()
    await first.start()
    await first.stop()
    const created = await run(['tenant', 'create', 'Acme', '--json'], env)
    expect(created).toMatchObject({ code: 0, err: '' })
    const { tenant_id } = created.json()
    const embedded = newServer()
    await embedded.start() // Would be refused if the command had left its server behind.
    try {
      expect((await run(['tenant', 'list'], env)).out).toContain(tenant_id)
      expect((await run(['migrate'], env)).out).toBe('Up to date\n')
      const doctor = await run(['doctor'], env)
      expect(doctor.out).toMatch(/ok {4}durability/)
      expect(doctor).toMatchObject({ code: 0, err: '' })
    } finally {
      await embedded.stop()
    }
  })
})
