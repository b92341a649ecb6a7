/**
 * Callbacks of relay providers behind the real HTTP application, on a database of the test file's own:
 * accounts with callback URLs, mail that was handed over, and reports as the providers write them.
 */
import { generateKeyPairSync, sign } from 'node:crypto'
import type { RelayKind, SendEmailBody, SubscriptionKey } from '@postrider/contract'
import type { FastifyInstance, LightMyRequestResponse } from 'fastify'
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest'
import { createReportNotes } from '../src/feedback/apply/note-reports.ts'
import {
  createFeedbackWork,
  type FeedbackWork,
  type FeedbackWorkDeps,
} from '../src/feedback/create.ts'
import { createFeedbackInbox } from '../src/feedback/intake/inbox.ts'
import { callbackRoutes } from '../src/feedback/routes.ts'
import { type Clock, createClock } from '../src/platform/clock.ts'
import type { Db } from '../src/platform/db/index.ts'
import { createFailpoints } from '../src/platform/failpoints.ts'
import { createHttpApp } from '../src/platform/http/app.ts'
import { newId, newUlid } from '../src/platform/ids.ts'
import { createMetrics, type Metrics } from '../src/platform/metrics.ts'
import { noDiskGuard } from '../src/platform/process/disk-guard.ts'
import { newSecret } from '../src/platform/values/base62.ts'
import { hashCallbackToken, seal } from '../src/relays/accounts/account.ts'
import { insertAccount } from '../src/relays/accounts/store.ts'
import { adapterOf } from '../src/relays/index.ts'
import { createWakeups, type TouchedStream } from '../src/webhooks/index.ts'
import { togglesOf } from '../src/webhooks/subscriptions/check-toggles.ts'
import { createSubscription } from '../src/webhooks/subscriptions/create-subscription.ts'
import type { TestDatabase } from './database.ts'
import { emptyTables } from './empty-tables.ts'
import { accept, eventsOf, keyRing, recipientsOf, type SeenEvent } from './sender.ts'
import { addMailer, createSendingDatabase, silent } from './sending.ts'

export type Provider = Exclude<RelayKind, 'simulator'>
export const providers: readonly Provider[] = ['sparkpost', 'sendgrid']

/** However slow the machine, its database is not away. */
const ANSWER_MS = 30_000

type Toggles = Partial<Record<SubscriptionKey, boolean>>

/** A tenant's account, and where its provider reports. */
export interface CallbackAccount {
  readonly tenantId: string
  readonly kind: Provider
  readonly url: string
}

interface AccountOptions {
  readonly tenantId?: string
  readonly callbackSecret?: string
  readonly verificationKey?: string
}

interface SendOptions {
  readonly tenantId?: string
  readonly email?: Partial<SendEmailBody>
  readonly status?: string
  readonly messageId?: string
}

export interface SentMail {
  readonly tenantId: string
  readonly refId: string
  /** By recipient, as `emails`. */
  readonly messageIds: readonly string[]
  readonly emails: readonly string[]
}

export interface AnotherFeedback {
  readonly app: FastifyInstance
  readonly feedback: FeedbackWork
  readonly metrics: Metrics
  readonly woken: readonly TouchedStream[]
}

export interface FeedbackWorld extends AnotherFeedback {
  readonly db: Db
  readonly url: string
  /** Another process, or one on another way to the database. */
  another(o?: Partial<FeedbackWorkDeps> & { readonly clock?: Clock }): Promise<AnotherFeedback>
  account(kind: Provider, o?: AccountOptions): Promise<CallbackAccount>
  /** That takes these events. */
  webhook(tenantId: string, events: Toggles): Promise<{ readonly webhookId: string }>
  /** Accepted, and taken by a provider. */
  send(o?: SendOptions): Promise<SentMail>
  post(
    account: Pick<CallbackAccount, 'url'>,
    body: unknown,
    headers?: Readonly<Record<string, string>>,
  ): Promise<LightMyRequestResponse>
  /** Posts reports, and applies what waits. */
  report(account: CallbackAccount, ...reports: readonly ProviderReport[]): Promise<void>
  events(mail: SentMail): Promise<SeenEvent[]>
  /** By recipient. */
  statuses(mail: SentMail): Promise<string[]>
}

export function useFeedback(): FeedbackWorld {
  let database: TestDatabase
  let first: AnotherFeedback
  const cleanups: (() => Promise<unknown>)[] = []

  beforeAll(async () => {
    database = await createSendingDatabase()
  })
  afterAll(() => database.close())
  beforeEach(async () => {
    first = await another()
  })
  afterEach(async () => {
    for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
    await emptyTables(database.db, 'feedback_inbox', 'feedback_unmatched')
  })

  async function another(o: Partial<FeedbackWorkDeps> = {}): Promise<AnotherFeedback> {
    const made = await createAnother({ db: database.db, ...o })
    cleanups.push(async () => {
      await made.app.close()
      for (const service of made.feedback.services) await service.stop()
    })
    return made
  }

  const world: FeedbackWorld = {
    get db() {
      return database.db
    },
    get url() {
      return database.url
    },
    get app() {
      return first.app
    },
    get feedback() {
      return first.feedback
    },
    get metrics() {
      return first.metrics
    },
    get woken() {
      return first.woken
    },
    another,
    account: (kind, o) => addAccount(database.db, kind, o),
    webhook: (tenantId, events) => addWebhook(database.db, tenantId, events),
    send: (o) => sendMail(database.db, o),
    post: (account, body, headers = {}) =>
      first.app.inject({
        method: 'POST',
        url: account.url,
        headers: { 'content-type': 'application/json', ...headers },
        payload: typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body),
      }),
    async report(account, ...reports) {
      const answer = await world.post(account, bodyOf(account.kind, reports))
      if (answer.statusCode !== 200) throw new Error(answer.payload)
      await first.feedback.worker.runOnce()
    },
    events: ({ refId }) => eventsOf(database.db, refId),
    async statuses({ refId }) {
      const recipients = await recipientsOf(database.db, refId)
      return recipients.map((one) => one.status)
    },
  }
  return world
}

/** Nothing runs by itself: what waits is applied when it is asked for. */
async function createAnother(
  o: Partial<FeedbackWorkDeps> & { readonly db: Db },
): Promise<AnotherFeedback> {
  const metrics = createMetrics()
  const { db, clock = createClock() } = o
  const wakeups = createWakeups()
  const woken: TouchedStream[] = []
  wakeups.onWake((streams) => woken.push(...streams))
  const feedback = createFeedbackWork({
    clock,
    log: silent,
    metrics,
    keyRing,
    failpoints: createFailpoints(undefined),
    disk: noDiskGuard,
    wakeups,
    noteReports: createReportNotes({ log: o.log ?? silent, metrics: o.metrics ?? metrics }),
    inbox: createFeedbackInbox({ db, clock }),
    adapterOf,
    retentionMs: 30 * 86_400_000,
    answerMs: ANSWER_MS,
    ...o,
  })
  const app = createHttpApp({ log: silent, metrics, authenticateKey: () => undefined })
  callbackRoutes(app, feedback.intake)
  await app.ready()
  return { app, feedback, metrics, woken }
}

async function addAccount(
  db: Db,
  kind: Provider,
  { tenantId = newId('tn'), callbackSecret, verificationKey }: AccountOptions = {},
): Promise<CallbackAccount> {
  const token = newSecret()
  const key = { tenantId, kind }
  await db.transaction((tx) =>
    insertAccount(tx, {
      ...key,
      apiKey: seal(keyRing, key, 'api_key', 'test-key-of-the-relay'),
      apiBase: 'https://relay.example.com',
      callbackToken: seal(keyRing, key, 'callback_token', token),
      callbackTokenHash: hashCallbackToken(token),
      ...(callbackSecret === undefined
        ? {}
        : { callbackSecret: seal(keyRing, key, 'callback_secret', callbackSecret) }),
      ...(verificationKey === undefined ? {} : { verificationKey }),
    }),
  )
  return { tenantId, kind, url: `/callbacks/${kind}/${token}` }
}

function addWebhook(db: Db, tenantId: string, events: Toggles) {
  return db.transaction((tx) =>
    createSubscription(tx, keyRing, {
      tenantId,
      event: 'EMAIL_EVENT',
      owner: '',
      url: 'https://hooks.example.com/',
      headers: [],
      toggles: togglesOf({ event: 'EMAIL_EVENT', webhook_options: { events } }),
    }),
  )
}

async function sendMail(
  db: Db,
  { tenantId = 'tn_a', email = {}, status = 'sent', messageId = newUlid() }: SendOptions = {},
): Promise<SentMail> {
  await addMailer(db, { tenantId })
  const refId = await accept(db, email, tenantId)
  await handOver(db, { refId, status, messageId })
  const recipients = await recipientsOf(db, refId)
  const messageIds = recipients.map((one) => one.message_id)
  return { tenantId, refId, messageIds, emails: recipients.map((one) => one.email) }
}

/** As an attempt leaves it that was accepted, or got no answer. */
async function handOver(
  db: Db,
  o: { readonly refId: string; readonly status: string; readonly messageId: string },
): Promise<void> {
  const outcome = o.status === 'sent' ? 'accepted' : 'uncertain'
  await db.query(
    `insert into sending_attempt (tenant_id, ref_id, n, attempt, day, mailer_id, max_attempts,
       started_at, finished_at, outcome, category, failed_reason, retry_scheduled)
     select r.tenant_id, r.ref_id, r.n, 1, r.day, e.mailer_id, 5, now(), now(), $2,
            case when $2 = 'uncertain' then 'uncertain' end, $3, $4
       from sending_recipient r join sending_email e using (tenant_id, ref_id, day)
      where r.ref_id = $1`,
    [o.refId, outcome, outcome === 'accepted' ? '' : DOUBT, o.status === 'deferred'],
  )
  await db.query(
    `update sending_recipient set status = $2, attempts = 1, failed_reason = $3,
            message_id = case when $2 = 'sent' then $4 || '-' || n else '' end
      where ref_id = $1`,
    [o.refId, o.status, outcome === 'accepted' ? '' : DOUBT, o.messageId],
  )
  if (o.status === 'deferred')
    await db.query(
      `update sending_queue set attempt = 2, due_at = now() + interval '1 hour' where ref_id = $1`,
      [o.refId],
    )
  else await db.query('delete from sending_queue where ref_id = $1', [o.refId])
}

const DOUBT = 'Connection lost after end of data; the message may have been delivered'

/** What a provider reports, in no provider's words. */
export interface ProviderReport {
  readonly type:
    | 'processed'
    | 'delivered'
    | 'deferred'
    | 'bounced'
    | 'soft'
    | 'complained'
    | 'unsubscribed'
    | 'policy_rejected'
    | 'generation_failed'
    | 'generation_rejected'
    | 'opened'
  /** The same for a repetition. */
  readonly id?: string
  readonly mail?: SentMail
  readonly n?: number
  readonly atS?: number
  readonly reason?: string
  /** The provider's name for the message. */
  readonly messageId?: string
  /** That of the mail's recipient where it is left out; '' for none. */
  readonly email?: string
  /** More fields, or others. */
  readonly fields?: object
}

const SPARKPOST = {
  processed: { type: 'injection' },
  delivered: { type: 'delivery' },
  deferred: { type: 'delay', error_code: '454' },
  bounced: { type: 'bounce', bounce_class: '10', error_code: '550', num_retries: '2' },
  soft: { type: 'bounce', bounce_class: '22', error_code: '552', num_retries: '5' },
  complained: { type: 'spam_complaint', fbtype: 'abuse' },
  unsubscribed: { type: 'link_unsubscribe' },
  policy_rejected: { type: 'policy_rejection', error_code: '550' },
  generation_failed: { type: 'generation_failure', error_code: '554' },
  generation_rejected: { type: 'generation_rejection', error_code: '554' },
  opened: { type: 'open' },
} as const

const SENDGRID: Readonly<Partial<Record<ProviderReport['type'], object>>> = {
  processed: { event: 'processed' },
  delivered: { event: 'delivered' },
  deferred: { event: 'deferred', attempt: '3' },
  bounced: { event: 'bounce', type: 'bounce', status: '5.1.1' },
  soft: { event: 'bounce', type: 'blocked', status: '4.7.1' },
  complained: { event: 'spamreport' },
  unsubscribed: { event: 'unsubscribe' },
  opened: { event: 'open' },
}

export function bodyOf(kind: Provider, reports: readonly ProviderReport[]): object[] {
  return reports.map((report) => (kind === 'sparkpost' ? sparkPost(report) : sendGrid(report)))
}

function sparkPost({ mail, n = 0, ...o }: ProviderReport): object {
  const email = o.email ?? mail?.emails[n] ?? ''
  return {
    msys: {
      message_event: {
        event_id: o.id ?? newUlid(),
        timestamp: String(o.atS ?? Math.floor(Date.now() / 1000)),
        ...(mail === undefined
          ? {}
          : {
              rcpt_meta: { postrider_ref: `${mail.refId}.${n}` },
              transmission_id: mail.messageIds[n],
            }),
        ...(o.messageId === undefined ? {} : { message_id: o.messageId }),
        ...(email === '' ? {} : { raw_rcpt_to: email }),
        ...(o.reason === undefined ? {} : { raw_reason: o.reason }),
        ...SPARKPOST[o.type],
        ...o.fields,
      },
    },
  }
}

function sendGrid({ mail, n = 0, ...o }: ProviderReport): object {
  const messageId = o.messageId ?? mail?.messageIds[n]
  const email = o.email ?? mail?.emails[n] ?? ''
  return {
    sg_event_id: o.id ?? newUlid(),
    timestamp: o.atS ?? Math.floor(Date.now() / 1000),
    ...(mail === undefined ? {} : { postrider_ref: `${mail.refId}.${n}` }),
    ...(messageId === undefined ? {} : { sg_message_id: messageId }),
    ...(email === '' ? {} : { email }),
    ...(o.reason === undefined ? {} : { reason: o.reason }),
    ...SENDGRID[o.type],
    ...o.fields,
  }
}

/** A key pair as SendGrid has one for each account. */
export function createSigner() {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return {
    verificationKey: publicKey.export({ format: 'der', type: 'spki' }).toString('base64'),
    sign(body: string, atMs = Date.now()): Record<string, string> {
      const timestamp = String(Math.floor(atMs / 1000))
      const signature = sign('sha256', Buffer.from(timestamp + body), privateKey)
      return {
        'x-twilio-email-event-webhook-signature': signature.toString('base64'),
        'x-twilio-email-event-webhook-timestamp': timestamp,
      }
    },
  }
}
