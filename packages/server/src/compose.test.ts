/** Which services a process has, in the order in which they start; they stop in the opposite one. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { compose } from './compose.ts'
import { type Environment, loadConfig } from './config.ts'
import { createLogger } from './platform/log.ts'

const dataDir = mkdtempSync(join(tmpdir(), 'postrider-compose-'))
afterAll(() => rmSync(dataDir, { recursive: true, force: true }))

/** Nothing is connected to: the services are made, and stopped without a start. */
async function servicesOf(env: Environment): Promise<readonly string[]> {
  const config = loadConfig({
    POSTRIDER_DATABASE_URL: 'postgres://postgres@127.0.0.1:1/none',
    POSTRIDER_SECRET_KEYS: `k:${Buffer.alloc(32, 7).toString('base64')}`,
    POSTRIDER_ADMIN_TOKEN: 'a-token-of-the-operator-for-tests',
    POSTRIDER_DATA_DIR: dataDir,
    ...env,
  })
  const app = compose({
    config,
    secrets: { secretKeys: config.secretKeys ?? '', adminToken: config.adminToken ?? '' },
    databaseUrl: 'postgres://postgres@127.0.0.1:1/none',
    log: createLogger({ level: 'silent' }),
    build: { version: '0.0.0', commit: 'unknown' },
  })
  await app.stop()
  return app.services
}

const FIRST = ['database', 'egress', 'dns', 'schema fence', 'oauth tokens', 'day partitions']
const OWN_DATABASE = ['disk guard', 'notifications', 'process registry']
const OTHER_DATABASE = ['no disk guard', 'notifications', 'process registry']
const STREAMS = ['event streams']
const DISPATCHER = ['leases of dispatcher', 'dispatcher', 'webhook backlog']
const SENDER = ['leases of sender', 'smtp connections', 'phishing-scanner', 'sender']
const WATCH = ['send queue watch']
const PAUSED_WATCH = ['leases of paused sender', 'send queue watch']
const MAILBOX = ['leases of mailbox', 'mailboxes', 'sent copies']
const DOMAINS = ['domains', 'alert delivery', 'alert watch']
const JANITORS = [
  'janitor',
  'feedback janitor',
  'mailbox janitor',
  'inbound janitor',
  'audit janitor',
  'tenant deletions',
  'people janitor',
  'suppression janitor',
  'counters',
  'retention',
]
const MAIL = ['templates', 'tracking-places', 'message-parser', 'inbound intake']
const TRACKER = ['hit intake', 'callbacks', 'callback inbox gauge', 'feedback']
const REPORTS = ['mail-authenticator', 'inbound queue gauge', 'inbound worker']
const LISTENER = ['inbound listener']
const LAST = ['http', 'watchdog']
const BEGIN = [...FIRST, ...OTHER_DATABASE]
const END = [...MAIL, ...LAST]

describe('services', () => {
  it.each([
    ['api', [...BEGIN, ...STREAMS, ...END], [...BEGIN, ...STREAMS, ...END]],
    ['dispatcher', [...BEGIN, ...DISPATCHER, ...END], [...BEGIN, ...END]],
    ['sender', [...BEGIN, ...SENDER, ...WATCH, ...END], [...BEGIN, ...PAUSED_WATCH, ...END]],
    [
      'mailbox',
      [...BEGIN, ...MAILBOX, ...MAIL, ...REPORTS, ...LAST],
      [...BEGIN, ...MAIL, ...REPORTS, ...LAST],
    ],
    ['janitor', [...BEGIN, ...DOMAINS, ...JANITORS, ...END], [...BEGIN, ...JANITORS, ...END]],
    ['tracker', [...BEGIN, ...MAIL, ...TRACKER, ...LAST], [...BEGIN, ...MAIL, ...TRACKER, ...LAST]],
    [
      'inbound',
      [...BEGIN, ...MAIL, ...REPORTS, ...LISTENER, ...LAST],
      [...BEGIN, ...MAIL, ...REPORTS, ...LISTENER, ...LAST],
    ],
    [
      'mailbox,inbound',
      [...BEGIN, ...MAILBOX, ...MAIL, ...REPORTS, ...LISTENER, ...LAST],
      [...BEGIN, ...MAIL, ...REPORTS, ...LISTENER, ...LAST],
    ],
    [
      'sender,janitor',
      [...BEGIN, ...SENDER, ...WATCH, ...DOMAINS, ...JANITORS, ...END],
      [...BEGIN, ...PAUSED_WATCH, ...JANITORS, ...END],
    ],
  ])(
    'start in this order with the roles %s, also while sending is paused',
    async (roles, sending, paused) => {
      expect(await servicesOf({ POSTRIDER_ROLES: roles })).toEqual(sending)
      expect(await servicesOf({ POSTRIDER_ROLES: roles, POSTRIDER_SENDING: 'paused' })).toEqual(
        paused,
      )
    },
  )

  it('start in this order with every role and the embedded database', async () => {
    expect(await servicesOf({ POSTRIDER_DATABASE_URL: '' })).toEqual([
      ...FIRST,
      ...OWN_DATABASE,
      ...DISPATCHER,
      ...STREAMS,
      ...SENDER,
      ...WATCH,
      ...MAILBOX,
      ...DOMAINS,
      ...JANITORS,
      ...MAIL,
      ...TRACKER,
      ...REPORTS,
      ...LISTENER,
      ...LAST,
    ])
  })

  it('start in this order with every role while sending is paused', async () => {
    const env = { POSTRIDER_DATABASE_URL: '', POSTRIDER_SENDING: 'paused' }
    expect(await servicesOf(env)).toEqual([
      ...FIRST,
      ...OWN_DATABASE,
      ...STREAMS,
      ...PAUSED_WATCH,
      ...JANITORS,
      ...MAIL,
      ...TRACKER,
      ...REPORTS,
      ...LISTENER,
      ...LAST,
    ])
  })

  it('the services of a sender close the connections to Rspamd after its scanner, where it is configured', async () => {
    const env = { POSTRIDER_ROLES: 'sender', POSTRIDER_RSPAMD_URL: 'http://127.0.0.1:9/' }
    const services = await servicesOf(env)
    expect(services).toEqual([...BEGIN, ...SENDER.toSpliced(2, 0, 'rspamd'), ...WATCH, ...END])
  })
})
