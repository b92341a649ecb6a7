/** Mailboxes that are watched, with a scripted IMAP server, on a database of their own. */

import { pause } from '@postrider/runtime/timeout'
import { createImapServer, type ImapServer, type ImapServerOptions } from '@postrider/testkit'
import { createLoginLimiter } from '../src/mailboxes/watch/login-limiter.ts'
import {
  createMailboxWatchers,
  type MailboxWatchers,
  type MailboxWatchersDeps,
  type WokenMailbox,
} from '../src/mailboxes/watch/mailbox-watchers.ts'
import { newFolder } from '../src/mailers/imap/mailbox.ts'
import { createNoteDeactivated } from '../src/mailers/index.ts'
import { sealPassword } from '../src/mailers/mailer.ts'
import { insertMailer, type NewMailer } from '../src/mailers/store.ts'
import { createClock } from '../src/platform/clock.ts'
import {
  bucketOf,
  createWakeups as createBucketWakeups,
  type Db,
} from '../src/platform/db/index.ts'
import { createBucketLeases } from '../src/platform/db/leases.ts'
import { createEgress } from '../src/platform/egress/index.ts'
import { createFailpoints } from '../src/platform/failpoints.ts'
import { newId } from '../src/platform/ids.ts'
import { createLogger } from '../src/platform/log.ts'
import { decompressShort } from '../src/platform/values/zstd.ts'
import { BODY_JSON } from '../src/webhooks/events/short-body.ts'
import { createWakeups } from '../src/webhooks/index.ts'
import { createTestDatabase, type TestDatabase } from './database.ts'
import { emptyTables } from './empty-tables.ts'
import { clearInbound } from './inbound.ts'
import { testKeyRing } from './webhook-api.ts'

export const USER = 'ada@example.com'
export const PASSWORD = 'hunter2-canary'

export interface MailboxEvent {
  readonly event: string
  readonly owner: string
  readonly details: Readonly<Record<string, unknown>>
}

export interface StoredMail {
  readonly mailerId: string
  readonly folder: string
  readonly text: string
  readonly problem: string | null
  readonly serverThread: string | null
}

type MailboxChange = Partial<NewMailer> & {
  readonly folders?: readonly string[]
  readonly since?: Date
}

export interface MailboxBench {
  readonly database: TestDatabase
  readonly server: ImapServer
  /** Watches from then on; another one stands for another process. */
  watch(change?: Partial<MailboxWatchersDeps>): Promise<MailboxWatchers>
  serve(o?: ImapServerOptions): Promise<ImapServer>
  add(change?: MailboxChange): Promise<string>
  wake(mailerId: string): void
  stored(): Promise<StoredMail[]>
  events(): Promise<MailboxEvent[]>
  /** Looked at whenever something has happened. */
  until<T>(read: () => Promise<T>, isMet: (value: T) => boolean): Promise<T>
  /** Has the first mail with this subject been stored. */
  untilSubjects(...subjects: readonly string[]): Promise<void>
  clear(): Promise<void>
  close(): Promise<void>
}

export const mail = (n: number | string, more = '') =>
  `Message-ID: <${n}@x.test>\r\nSubject: mail ${n}\r\n${more}\r\nbody ${n}\r\n`

const subjectOf = (raw: string) => /^Subject: (.*)$/m.exec(raw)?.[1]?.trim() ?? ''

export async function createMailboxBench(): Promise<MailboxBench> {
  const database = await createTestDatabase({ poolMax: 10, hasDays: true })
  const { db } = database
  const egress = createEgress({ allowNetworks: ['127.0.0.0/8'] })
  const log = createLogger({ level: 'silent' })
  const { tell, until } = createWaiting()
  const wakeups = createWakeups()
  wakeups.onWake(tell)
  const mailboxWakeups = createBucketWakeups<WokenMailbox>()
  let closers: (() => Promise<void>)[] = []
  const serve = async (o: ImapServerOptions = {}) => {
    const made = await createImapServer({ auth: { users: { [USER]: PASSWORD } }, ...o })
    closers.push(() => made.close())
    return made
  }
  let server = await serve()

  const bench: MailboxBench = {
    database,
    get server() {
      return server
    },
    async serve(o) {
      server = await serve(o)
      return server
    },
    async watch(change = {}) {
      const memberId = newId('in')
      const leases = createBucketLeases({ db, role: 'mailbox', memberId, ttlMs: 60_000, log })
      const watchers = createMailboxWatchers({
        ...{ ...forTests(), db, log, egress, leases, wakeups, mailboxWakeups },
        noteDeactivated: createNoteDeactivated({ log, observe: tell }),
        loginLimiter: createLoginLimiter(),
        onStored: tell,
        observe: tell,
        observeLogin: tell,
        ...change,
      })
      await leases.start()
      await watchers.start()
      const stop = async () => {
        await watchers.stop()
        await leases.stop()
      }
      closers.unshift(stop)
      return { ...watchers, stop }
    },
    async add(change) {
      const { mailerId } = await insertMailer(db, newMailbox(server.port, change))
      bench.wake(mailerId)
      return mailerId
    },
    wake(mailerId) {
      mailboxWakeups.wake([{ tenantId: 'tn_a', mailerId, bucket: bucketOf(mailerId) }])
    },
    stored: () => readStored(db),
    events: () => readEvents(db),
    until,
    async untilSubjects(...subjects) {
      const read = async () => (await bench.stored()).map(({ text }) => subjectOf(text))
      await until(read, (found) => subjects.every((one) => found.includes(one)))
    },
    async clear() {
      for (const close of closers) await close()
      closers = []
      await clearInbound(db)
      await emptyTables(
        db,
        'webhooks_event',
        'mailboxes_mailbox',
        'mailboxes_folder',
        'mailboxes_fetched',
      )
      await db.query('delete from mailers_mailer')
      server = await serve()
    },
    async close() {
      for (const close of closers) await close()
      await egress.close()
      await database.close()
    },
  }
  return bench
}

/** What watchers are given unless a test says otherwise: no waiting, no chance, and no OAuth. */
const forTests = () =>
  ({
    keyRing: testKeyRing,
    clock: createClock(),
    failpoints: createFailpoints(undefined),
    accessTokens: { get: async () => ({ kind: 'inactive' }) },
    authConfirmDelayMs: 1,
    errorRepeatMs: 3_600_000,
    messageBytesMax: 1024 * 1024,
    retentionMs: 30 * 86_400_000,
    inTurn: (_, work) => work(),
    random: () => 0,
    pause: (ms, signal) => pause(Math.min(ms, 20), signal),
  }) satisfies Partial<MailboxWatchersDeps>

/** Conditions that are looked at whenever something has happened. */
function createWaiting(): Pick<MailboxBench, 'until'> & { readonly tell: () => void } {
  const listeners = new Set<() => void>()
  return {
    tell() {
      for (const listener of [...listeners]) listener()
    },
    async until(read, isMet) {
      for (;;) {
        const { promise: told, resolve } = Promise.withResolvers<void>()
        listeners.add(resolve)
        const timer = setTimeout(resolve, 250)
        const value = await read()
        if (!isMet(value)) await told
        clearTimeout(timer)
        listeners.delete(resolve)
        if (isMet(value)) return value
      }
    },
  }
}

function newMailbox(
  port: number,
  { folders = ['INBOX'], since = new Date(), ...change }: MailboxChange = {},
): NewMailer {
  const key = { tenantId: 'tn_a', mailerId: newId('imap') }
  return {
    ...key,
    name: 'M',
    email: USER,
    configType: 'imap',
    connectionType: 'basic',
    config: { host: '127.0.0.1', port, secure: 'None', tlsVerify: true, username: USER },
    ...(change.connectionType === 'oauth'
      ? {}
      : { secret: sealPassword(testKeyRing, { ...key, ...change }, PASSWORD) }),
    uncertain: 'at_least_once',
    limits: {},
    hostEverWorked: false,
    mailbox: { folders: folders.map((path) => newFolder(path, since, undefined)) },
    ...change,
  }
}

async function readStored(db: Db): Promise<StoredMail[]> {
  const { rows } = await db.query<Omit<StoredMail, 'text'> & { raw: Buffer[] }>(
    `select m.mailer_id as "mailerId", m.folder, m.problem, m.server_thread as "serverThread",
            (select array_agg(r.raw order by r.piece) from inbound_raw r
              where r.tenant_id = m.tenant_id and r.raw_id = m.raw_id) as raw
       from inbound_message m
      order by m.inbound_id`,
  )
  return rows.map(({ raw, ...rest }) => ({
    ...rest,
    text: Buffer.concat(raw.map(decompressShort)).toString('latin1'),
  }))
}

async function readEvents(db: Db): Promise<MailboxEvent[]> {
  const { rows } = await db.query<{ event: string; owner: string; body: string }>(
    `select event, owner, ${BODY_JSON} as body from webhooks_event order by event_at`,
  )
  return rows.map(({ event, owner, body }) => ({
    event,
    owner,
    details: JSON.parse(body).details,
  }))
}
