/**
 * A sender on a test's own database and mail server, with everything real but the leases, and what
 * tests look at afterwards.
 */

import type { MessageEventName, SendEmailBody } from '@postrider/contract'
import { createPhishingScanner, createRawReader, createTemplateRenderer } from '@postrider/mail'
import { createSmtpServer, type SmtpServer, type SmtpServerOptions } from '@postrider/testkit'
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest'
import {
  createAccessTokens,
  createNoteDeactivated,
  createRelaySends,
  createSmtpPool,
  type NoteDeactivated,
  type SmtpPool,
} from '../src/mailers/index.ts'
import { type Clock, createClock } from '../src/platform/clock.ts'
import type { Db } from '../src/platform/db/index.ts'
import { type BucketLeases, bucketCount } from '../src/platform/db/leases.ts'
import { createEgress } from '../src/platform/egress/index.ts'
import { ApiError } from '../src/platform/errors.ts'
import type { Logger } from '../src/platform/log.ts'
import { noDiskGuard } from '../src/platform/process/disk-guard.ts'
import { adapterOf, createRelayCalls, type DeliverCallback } from '../src/relays/index.ts'
import { type AcceptEmails, createAcceptEmails } from '../src/sending/accept/accept-email.ts'
import { createAcceptSubmitted } from '../src/sending/accept/accept-submitted.ts'
import type { AcceptedMail } from '../src/sending/accept/accepted-mail.ts'
import { checkEmail } from '../src/sending/accept/check-email.ts'
import { createKeysInProgress } from '../src/sending/accept/idempotency.ts'
import { createPhishingCheck } from '../src/sending/phishing/check-phishing.ts'
import { createFreshSettings } from '../src/sending/phishing/fresh-settings.ts'
import { createQueueWakeups, type QueueWakeups } from '../src/sending/queue/queue-wakeups.ts'
import { createSender, type Sender, type SenderDeps } from '../src/sending/queue/worker.ts'
import { createFinishAttempts } from '../src/sending/results/finish-attempts.ts'
import { planTracking } from '../src/sending/tracking/plan-tracking.ts'
import { BODY_JSON } from '../src/webhooks/events/short-body.ts'
import { createWakeups } from '../src/webhooks/index.ts'
import type { TestDatabase } from './database.ts'
import { emptyTables } from './empty-tables.ts'
import {
  createSendingDatabase,
  emailBody,
  findLinkOffsets,
  keyRing,
  silent,
  trackingUrls,
} from './sending.ts'

export { keyRing }
export const TRACEPARENT = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'

const everyBucket = new Set(Array.from({ length: bucketCount }, (_, i) => i))
const openEgress = () => createEgress({ allowNetworks: ['127.0.0.0/8'] })
/** Of the test file that runs: files share this module. */
let egress = openEgress()

/** Every bucket is this process's; two senders may both believe so. */
export const everyLease: BucketLeases = {
  name: 'leases',
  owned: () => everyBucket,
  epochOf: () => 1,
  onChange: () => undefined,
  usedBy: () => () => undefined,
  runOnce: async () => undefined,
  start: async () => undefined,
  stop: async () => undefined,
}

export interface TestSender extends Sender {
  readonly pool: SmtpPool
  readonly wakeups: QueueWakeups
}

export function createTestSender(
  db: Db,
  o: Partial<SenderDeps> & {
    readonly clock?: Clock
    readonly log?: Logger
    readonly authConfirmDelayMs?: number
    readonly deliverCallback?: DeliverCallback
    readonly noteDeactivated?: NoteDeactivated
  } = {},
): TestSender {
  const log = o.log ?? silent
  const { noteDeactivated = createNoteDeactivated({ log, observe: () => undefined }) } = o
  const accessTokens = createAccessTokens({
    db,
    egress,
    keyRing,
    log,
    clock: createClock(),
    wakeups: createWakeups(),
    observe: () => undefined,
    noteDeactivated,
  })
  const pool = createSmtpPool({
    db,
    egress,
    log,
    ehloName: 'sender.example.com',
    accessTokens,
    authConfirmDelayMs: o.authConfirmDelayMs ?? 0,
  })
  const wakeups = createQueueWakeups()
  const scanner = createPhishingScanner()
  const sender = createSender({
    db,
    phishing: createPhishingCheck({
      scanner,
      settings: createFreshSettings({ db, monotonicMs: () => performance.now() }),
      log,
      observe: () => undefined,
    }),
    keyRing,
    leases: everyLease,
    pool,
    relaySends: createRelaySends({
      relays: createRelayCalls({
        egress,
        clock: createClock(),
        adapterOf,
        deliverCallback: o.deliverCallback ?? (async () => undefined),
      }),
      authConfirmDelayMs: o.authConfirmDelayMs ?? 0,
    }),
    wakeups,
    trackingUrls,
    log,
    clock: createClock(),
    failpoints: { hit: () => undefined },
    finishes: createFinishAttempts({
      db,
      clock: createClock(),
      wakeups: createWakeups(),
      noteDeactivated,
      refusalsMax: 0,
    }),
    leaseMs: 60_000,
    timeoutMs: 20_000,
    authConfirmDelayMs: 0,
    retryScheduleMs: [0],
    random: () => 0.5,
    concurrency: 16,
    stopGraceMs: 0,
    observe: () => undefined,
    ...o,
  })
  return {
    ...sender,
    pool,
    wakeups,
    async stop() {
      await sender.stop()
      await pool.stop()
      await scanner.stop()
    },
  }
}

export interface SendingWorld {
  readonly db: Db
  readonly url: string
  serve(script?: SmtpServerOptions['script'], o?: SmtpServerOptions): Promise<SmtpServer>
  sender(o?: Parameters<typeof createTestSender>[1], on?: Db): TestSender
}

/** A database for this test file, emptied before each test; servers and senders end with their test. */
export function useSending(): SendingWorld {
  let database: TestDatabase
  const cleanups: (() => Promise<unknown>)[] = []
  beforeAll(async () => {
    database = await createSendingDatabase()
  })
  afterAll(async () => {
    await egress.close()
    egress = openEgress()
    await database.close()
  })
  beforeEach(async () => {
    await emptyTables(
      database.db,
      'relays_account',
      'mailboxes_mailbox',
      'mailboxes_folder',
      'mailboxes_fetched',
      'mailers_mailer',
      'mailers_error',
      'mailers_oauth_token',
      'mailers_permission',
      'sending_email',
      'sending_content',
      'sending_recipient',
      'sending_own',
      'sending_rendering',
      'sending_queue',
      'sending_scheduled',
      'sending_attempt',
      'sending_stopped',
      'platform_counter',
      'platform_counter_group',
      'platform_counter_change',
      'sending_link',
      'sending_unsubscribable',
      'sending_idempotency',
      'sending_phishing_settings',
      'sending_sent_copy',
      'webhooks_event',
    )
  })
  afterEach(async () => {
    for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
  })
  return {
    get db() {
      return database.db
    },
    get url() {
      return database.url
    },
    async serve(script, o = {}) {
      const server = await createSmtpServer({ ...o, ...(script === undefined ? {} : { script }) })
      cleanups.push(() => server.close())
      return server
    },
    sender(o, on = database.db) {
      const sender = createTestSender(on, o)
      cleanups.push(() => sender.stop())
      return sender
    },
  }
}

/** What was counted is believed. */
export const noUsageCounts = { freshen: async () => false }

/** Accepts an email as the route does; answers its ref_id. */
export async function accept(
  db: Db,
  change: Partial<SendEmailBody> = {},
  tenantId = 'tn_a',
): Promise<string> {
  const { refId } = await accepting(db).accept(await requestOf(change, tenantId))
  return refId
}

/** Emails of one tenant, in one transaction: short ones share a row of content. */
export async function acceptTogether(
  db: Db,
  changes: readonly Partial<SendEmailBody>[],
  o: { readonly tenantId?: string; readonly acceptedMail?: AcceptedMail } = {},
): Promise<string[]> {
  const requests = await Promise.all(changes.map((change) => requestOf(change, o.tenantId)))
  const outcomes = await accepting(db, o.acceptedMail).acceptTogether(requests)
  return outcomes.map((outcome) => {
    if (outcome instanceof ApiError) throw outcome
    return outcome.refId
  })
}

export function accepting(db: Db, acceptedMail?: AcceptedMail): AcceptEmails {
  return createAcceptEmails({
    db,
    failpoints: { hit: () => undefined },
    disk: noDiskGuard,
    usageCounts: noUsageCounts,
    acceptedMail,
  })
}

export async function requestOf(change: Partial<SendEmailBody>, tenantId = 'tn_a') {
  const checked = checkEmail(emailBody(change), { maxAttempts: 5, expiresInMs: 3 * 86_400_000 })
  const links = { find: async (_: string, html: string) => findLinkOffsets(html) }
  const { email } = await planTracking(links, tenantId, checked)
  return { tenantId, email, traceparent: TRACEPARENT, isTest: false }
}

/** A message of a program, with whole line ends; answers its reference. */
export async function handIn(
  db: Db,
  raw: string,
  recipients: readonly string[],
  tenantId = 'tn_a',
  isLate = () => false,
): Promise<string> {
  const [rawReader, templates] = [createRawReader(), createTemplateRenderer()]
  const submit = createAcceptSubmitted({
    emails: accepting(db),
    ...{ rawReader, templates },
    links: { find: async (_, html) => findLinkOffsets(html) },
    keysInProgress: createKeysInProgress(),
    wakeups: createQueueWakeups(),
    defaults: { maxAttempts: 5, expiresInMs: 3 * 86_400_000 },
    log: silent,
  })
  try {
    const submitted = { tenantId, isTest: false, raw: Buffer.from(raw), recipients, isLate }
    const outcome = await submit(submitted)
    if (outcome.kind === 'refused') throw new Error(outcome.problem)
    return outcome.refId
  } finally {
    await Promise.all([rawReader.stop(), templates.stop()])
  }
}

/** Runs until no row is left in the queue. */
export async function drain(db: Db, sender: Sender, rounds = 30): Promise<void> {
  for (let i = 0; i < rounds; i++) {
    await sender.runOnce()
    if ((await queueOf(db)).length === 0) return
  }
  throw new Error(`not drained: ${JSON.stringify(await queueOf(db))}`)
}

export interface QueueRow {
  readonly ref_id: string
  readonly n: number
  readonly phase: 'waiting' | 'sending' | 'dot'
  readonly attempt: number
  readonly interrupted: number
  readonly wait_s: number
}

export async function queueOf(db: Db): Promise<QueueRow[]> {
  const { rows } = await db.query<QueueRow>(
    `select ref_id, n, phase, attempt, interrupted,
            round(extract(epoch from due_at - now()))::int as wait_s
       from sending_queue order by ref_id, n`,
  )
  return rows
}

/** Ends every claim, as time would. */
export async function runOutClaims(db: Db): Promise<void> {
  await db.query(
    `update sending_queue set due_at = now() - interval '1 ms' where phase <> 'waiting'`,
  )
}

export interface SeenEvent {
  readonly event: MessageEventName
  readonly success: boolean
  readonly details: Readonly<Record<string, unknown>> & {
    readonly ref_id: string
    readonly email: readonly string[]
    readonly event_at: string
    readonly attempt?: number
    readonly retry_scheduled?: boolean
  }
}

// biome-ignore lint/suspicious/noExplicitAny: what a test reads is what it checks
type Json = any

export async function eventsOf(db: Db, refId?: string): Promise<SeenEvent[]> {
  const { rows } = await db.query<{ body: Json }>(
    `select ${BODY_JSON} as body from webhooks_event
      where $1::text is null or ref_id = $1 order by event_at, event_id`,
    [refId ?? null],
  )
  return rows.map(({ body }) => {
    const { details, ...event } = typeof body === 'string' ? JSON.parse(body) : body
    // The dispatcher puts its own id there.
    const { webhook_id: _, ...own } = details
    return { ...event, details: own }
  })
}

/** Events in short: `SMTP_ERROR 1 retry`, `SMTP_ERROR 2 final`, `MAIL_DELIVERED`. */
export function inShort({ event, details }: SeenEvent): string {
  if (event !== 'SMTP_ERROR') return event
  return `${event} ${details.attempt} ${details.retry_scheduled === true ? 'retry' : 'final'}`
}

export interface RecipientRow {
  readonly email: string
  readonly status: string
  readonly attempts: number
  readonly failed_reason: string
  readonly message_id: string
  readonly delivered: boolean
}

export async function recipientsOf(db: Db, refId: string): Promise<RecipientRow[]> {
  const { rows } = await db.query<RecipientRow>(
    `select email, status, attempts, failed_reason, message_id, delivered_at is not null as delivered
       from sending_recipient where ref_id = $1 order by n`,
    [refId],
  )
  return rows
}

export interface AttemptRow {
  readonly n: number
  readonly attempt: number
  readonly max_attempts: number
  readonly outcome: string
  readonly category: string | null
  readonly failed_reason: string
  readonly provider_error: string
  readonly retry_scheduled: boolean
  readonly has_next: boolean
}

export async function attemptsOf(db: Db, refId: string): Promise<AttemptRow[]> {
  const { rows } = await db.query<AttemptRow>(
    `select n, attempt, max_attempts, outcome, category, failed_reason, provider_error,
            retry_scheduled, next_attempt_at is not null as has_next
       from sending_attempts where ref_id = $1 order by n, attempt`,
    [refId],
  )
  return rows
}
