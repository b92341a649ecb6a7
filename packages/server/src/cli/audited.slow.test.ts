/** Each command that changes something in the database is in the audit log. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  createSmtpServer,
  createWebhookReceiver,
  type SmtpServer,
  type WebhookReceiver,
} from '@postrider/testkit'
import type { Command } from 'commander'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { ADMIN_TOKEN, composeForTest } from '../../test/composed-app.ts'
import { createTestDatabase, type TestDatabase } from '../../test/database.ts'
import { buildProgram, runCli } from '../cli.ts'
import type { App } from '../compose.ts'
import { createClock } from '../platform/clock.ts'
import { dayOfUlid } from '../platform/ids.ts'
import { checkKeys } from '../platform/secrets/index.ts'
import { toKeys } from '../platform/secrets/secrets-file.ts'
import { sealedColumns } from '../sealed-columns.ts'
import { createApiKey, createTenant } from '../tenants/index.ts'

const BOB = 'bob@example.com'
const directory = mkdtempSync(join(tmpdir(), 'cli-audited-'))
const list = join(directory, 'list.csv')
const OWN = {
  POSTRIDER_SECRET_KEYS: `k:${Buffer.alloc(32, 7).toString('base64')}`,
  POSTRIDER_ADMIN_TOKEN: ADMIN_TOKEN,
  POSTRIDER_ALLOW_NETWORKS: '127.0.0.0/8',
  POSTRIDER_ALLOW_HTTP_WEBHOOKS: 'true',
  POSTRIDER_DATA_DIR: directory,
}

let database: TestDatabase
let smtp: SmtpServer
let receiver: WebhookReceiver
let app: App
let isServing = true
/** Ids of what commands are about, by what stands for them below. */
let ids: Record<string, string>

beforeAll(async () => {
  database = await createTestDatabase({ hasDays: true })
  smtp = await createSmtpServer()
  receiver = await createWebhookReceiver()
  const keys = toKeys({ secretKeys: OWN.POSTRIDER_SECRET_KEYS })
  await checkKeys(database.db, keys, sealedColumns)
  app = composeForTest(database.url, { env: OWN })
  await app.start()
  const own = await createTenant(database, { name: 'Own' })
  const other = await createTenant(database, { name: 'Other' })
  const { keyId } = await createApiKey({ ...database, clock: createClock() }, own.tenantId, {})
  const { mailer } = await call('POST', '/v1/smtp', own.apiKey, {
    ...{ name: 'News', email: 'news@example.com', config_type: 'smtp', connection_type: 'basic' },
    config: { host: '127.0.0.1', port: smtp.port, secure: 'None' },
  })
  const webhook = await call('POST', '/v1/webhook/register', own.apiKey, {
    ...{ event: 'EMAIL_EVENT', webhook_url: receiver.origin, method: 'POST' },
    webhook_options: { events: { delivery: true } },
    signing: true,
  })
  const { ref_id: email } = await call('POST', '/v1/email/send', own.apiKey, {
    ...{ from: { email: 'news@example.com' }, to: [{ email: BOB }], subject: 'Hello' },
    content: [{ type: 'text/plain', value: 'Hello' }],
  })
  await vi.waitFor(
    async () => {
      const { email: traced } = await call('GET', `/v1/email/${email}`, own.apiKey)
      expect(traced.recipients[0].status).toBe('delivered')
    },
    { timeout: 20_000, interval: 50 },
  )
  const origin = `http://127.0.0.1:${app.address().port}`
  ids = {
    ...{ OWN: own.tenantId, OTHER: other.tenantId, KEY: keyId, EMAIL: email, ORIGIN: origin },
    ...{ MAILER: mailer.mailer_id, WEBHOOK: webhook.webhook_id, BOB, LIST: list },
  }
  writeFileSync(list, 'email\neve@example.com\n')
}, 60_000)
afterAll(async () => {
  if (isServing) await app.stop()
  await receiver.close()
  await smtp.close()
  await database.close()
  rmSync(directory, { recursive: true, force: true })
})

async function call(method: string, path: string, token: string, body?: object) {
  const response = await fetch(`http://127.0.0.1:${app.address().port}${path}`, {
    method,
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  // biome-ignore lint/suspicious/noExplicitAny: what a test reads is what it checks
  const answer = (await response.json()) as any
  expect({ path, answer }).toMatchObject({ path, answer: { success: true } })
  return answer
}

async function run(line: string) {
  let said = ''
  const tell = (text: string) => {
    said += text
  }
  const args = line.split(' ').map((word) => ids[word] ?? word)
  const io = { env: { ...OWN, POSTRIDER_DATABASE_URL: database.url }, out: tell, err: tell }
  return { code: await runCli(args, io), said }
}

interface Tried {
  /** What the log says: who, what, and whose it is. */
  readonly entries: readonly string[]
  /** It judges this machine. */
  readonly mayFail?: true
  /** For set-up, before it. */
  readonly before?: () => Promise<unknown>
}
const reads: Tried = { entries: [] }
const writes = (...entries: readonly string[]): Tried => ({ entries })

/** A running service carries them out, and records them. */
const IN_SERVICE: Readonly<Record<string, Tried>> = {
  'email retry EMAIL --tenant OWN --url ORIGIN': writes('operator retryEmails OWN'),
  'email cancel EMAIL --tenant OWN --url ORIGIN': writes('operator cancelEmails OWN'),
  'email rescue EMAIL --tenant OWN --url ORIGIN': writes('operator rescueEmails OWN'),
  'mailer disable MAILER --tenant OWN --url ORIGIN': writes('operator setMailerActive OWN'),
  'mailer activate MAILER --tenant OWN --url ORIGIN': writes('operator setMailerActive OWN'),
}

const BY_THEMSELVES: Readonly<Record<string, Tried>> = {
  migrate: reads,
  doctor: { ...reads, mayFail: true },
  'email show EMAIL': reads,
  'email list': reads,
  'email content EMAIL': reads,
  'mailer list': reads,
  'mailer show MAILER': reads,
  'mailer test MAILER': writes('cli testMailer OWN'),
  'suppression add BOB --reason bounced --tenant OWN': writes('cli addSuppression OWN'),
  'suppression list --tenant OWN': reads,
  'suppression show BOB --tenant OWN': reads,
  'suppression export --tenant OWN': reads,
  'suppression review': { ...reads, before: addWeakBounce },
  'suppression review --apply': writes('cli suppression review OWN'),
  'suppression import LIST --tenant OWN': writes('cli importSuppressions OWN'),
  'suppression remove eve@example.com --tenant OWN': writes('cli deleteSuppression OWN'),
  'webhook list': reads,
  'webhook status WEBHOOK': reads,
  'webhook deliveries --tenant OWN': reads,
  'webhook pause WEBHOOK': writes('cli pauseWebhook OWN'),
  'webhook resume WEBHOOK': writes('cli resumeWebhook OWN'),
  'webhook secret WEBHOOK': writes('cli rotateSigningSecret OWN'),
  'webhook replay WEBHOOK --ref-id EMAIL': writes('cli replayWebhookEvents OWN'),
  'webhook test WEBHOOK MAIL_BOUNCE': writes('cli sendTestEvent OWN'),
  'secrets rotate --dry-run': reads,
  'secrets rotate': writes('cli secrets rotate '),
  'user invite eve@example.com --role operator': writes('cli createUser '),
  'user list': reads,
  'user delete eve@example.com': writes('cli deleteUser '),
  'key create OWN': writes('cli createApiKey '),
  'key list OWN': reads,
  'key revoke KEY': writes('cli revokeApiKey '),
  'tenant list': reads,
  'tenant show OWN': reads,
  'tenant quota OWN': reads,
  'tenant quota OWN --queued-max 5': writes('cli updateTenant '),
  'tenant suspend OWN': writes('cli updateTenant '),
  'tenant activate OWN': writes('cli updateTenant '),
  'tenant create Third': writes('cli createTenant '),
  'tenant delete OTHER --confirm Other': writes('cli deleteTenant '),
}
/** What they do is the service's, which records it. */
const NOT_TRIED = ['serve']

/** A report of the email that would suppress nobody today. */
async function addWeakBounce() {
  await database.db.query(
    `insert into feedback_fact
       (tenant_id, ref_id, n, fact_id, day, relay, kind, type, reported_at, received_at, reason, is_hard)
     values ($1, $2, 0, 'f', $3, 'sparkpost', 'bounced', 'bounce', now(), now(),
             '550 Your IP address blocked', true)`,
    [ids.OWN, ids.EMAIL, dayOfUlid(ids.EMAIL ?? '')],
  )
}

/** Of all tables but the log. */
async function readDigest(): Promise<string> {
  const { rows: tables } = await database.db.query<{ name: string }>(
    `select oid::regclass::text as name from pg_class
      where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition
        and relname <> 'tenants_audit_entry' order by 1`,
  )
  const each = tables.map(
    ({ name }) =>
      `select '${name} ' || md5(coalesce(string_agg(t::text, ' ' order by t::text), '')) as line from ${name} t`,
  )
  const { rows } = await database.db.query<{ line: string }>(each.join(' union all '))
  return rows
    .map(({ line }) => line)
    .sort()
    .join('\n')
}

async function takeEntries(): Promise<string[]> {
  const { rows } = await database.db.query<Record<'actor' | 'operation' | 'tenant' | 'id', string>>(
    `delete from tenants_audit_entry
     returning entry_id as id, actor, operation, tenant_id as tenant`,
  )
  const names = new Map(Object.entries(ids).map(([name, id]) => [id, name]))
  return rows
    .toSorted((a, b) => (a.id < b.id ? -1 : 1))
    .map(({ actor, operation, tenant }) => `${actor} ${operation} ${names.get(tenant) ?? tenant}`)
}

function leavesOf(command: Command, path: readonly string[] = []): string[] {
  return command.commands.flatMap((one) => {
    const name = [...path, one.name()]
    return one.commands.length === 0 ? [name.join(' ')] : leavesOf(one, name)
  })
}

it('tries each command that there is', () => {
  const io = { env: {}, out: () => undefined, err: () => undefined }
  const tried = [...NOT_TRIED, ...Object.keys(IN_SERVICE), ...Object.keys(BY_THEMSELVES)]
  const isTried = (leaf: string) => tried.some((line) => `${line} `.startsWith(`${leaf} `))
  const leaves = leavesOf(buildProgram(io, () => undefined))
  expect(leaves.length).toBeGreaterThan(30)
  expect(leaves.filter((leaf) => !isTried(leaf))).toEqual([])
})

it('has an entry of each command that changes something, and of no other', async () => {
  await takeEntries()
  for (const [line, { entries }] of Object.entries(IN_SERVICE)) {
    const { code, said } = await run(line)
    expect.soft({ line, code, said, entries: await takeEntries() }).toEqual({
      ...{ line, code: 0, said, entries },
    })
  }
  await app.stop()
  isServing = false
  for (const [line, { entries, before, mayFail }] of Object.entries(BY_THEMSELVES)) {
    await before?.()
    const digest = await readDigest()
    const { code, said } = await run(line)
    expect.soft({ line, code, said, entries: await takeEntries() }).toEqual({
      ...{ line, code: mayFail ? code : 0, said, entries },
    })
    if (entries.length === 0) expect.soft([line, await readDigest()]).toEqual([line, digest])
  }
}, 120_000)
