/** What reports received mail, on a database of the test file's own: nothing runs by itself. */

import type { IncomingEmail } from '@postrider/contract'
import { createMessageParser, createUserAgentReader, type MessageParser } from '@postrider/mail'
import { afterAll, beforeAll, beforeEach } from 'vitest'
import { createReportNotes } from '../src/feedback/apply/note-reports.ts'
import { createIngest, type Ingest } from '../src/inbound/ingest/ingest.ts'
import type { MailboxMail, SmtpMail } from '../src/inbound/ingest/received-mail.ts'
import { storeMailboxMail } from '../src/inbound/ingest/store-mail.ts'
import {
  createInboundWorker,
  type InboundWorker,
  type InboundWorkerDeps,
  type ReportedResult,
} from '../src/inbound/process/inbound-worker.ts'
import { createMessageReader, type MessageReaderDeps } from '../src/inbound/process/read-message.ts'
import { createClock } from '../src/platform/clock.ts'
import type { Db } from '../src/platform/db/index.ts'
import { createFailpoints } from '../src/platform/failpoints.ts'
import { createMetrics } from '../src/platform/metrics.ts'
import { createReturnPathTokens } from '../src/sending/index.ts'
import { BODY_JSON } from '../src/webhooks/events/short-body.ts'
import { createWakeups, type TouchedStream } from '../src/webhooks/index.ts'
import { createSubscription } from '../src/webhooks/subscriptions/create-subscription.ts'
import type { TestDatabase } from './database.ts'
import { emptyTables } from './empty-tables.ts'
import { clearInbound, mailboxMail, smtpMail } from './inbound.ts'
import { createSendingDatabase, keyRing, silent } from './sending.ts'

export interface TestWorker extends InboundWorker {
  readonly results: readonly ReportedResult[]
  readonly woken: readonly TouchedStream[]
}

export type WorkerChanges = Partial<InboundWorkerDeps> &
  Partial<MessageReaderDeps> & { readonly spec?: string; readonly kill?: () => void }

export interface InboundWorld {
  readonly db: Db
  readonly parser: MessageParser
  readonly ingest: Ingest
  receive(mail?: Partial<Parameters<typeof smtpMail>[0]>): Promise<readonly string[]>
  fetched(mail?: Partial<MailboxMail>): Promise<string>
  /** Another process. */
  worker(o?: WorkerChanges): TestWorker
  webhook(tenantId: string, owner: string): Promise<string>
  /** In their order. */
  events(): Promise<(IncomingEmail & { readonly owner: string; readonly tenantId: string })[]>
  /** As if the processes that have taken messages had died a while ago. */
  endLeases(): Promise<void>
}

export const UNKNOWN = {
  spf: { result: 'none' },
  dkim: [],
  dmarc: { result: 'none' },
  arc: { result: 'none' },
}

export function useInbound(): InboundWorld {
  let database: TestDatabase
  const parser = createMessageParser()
  beforeAll(async () => {
    database = await createSendingDatabase({ poolMax: 8 })
    await parser.start()
  })
  beforeEach(async () => {
    await clearInbound(database.db)
    await emptyTables(database.db, 'webhooks_event', 'webhooks_pending')
  })
  afterAll(async () => {
    await parser.stop()
    await database.close()
  })

  const failpoints = createFailpoints(undefined)

  return {
    get db() {
      return database.db
    },
    parser,
    get ingest() {
      return createIngest({ db: database.db, failpoints })
    },
    async receive(mail) {
      const { inboundIds } = await this.ingest.store(smtpMail(mail) as SmtpMail)
      return inboundIds
    },
    async fetched(mail) {
      const [id = ''] = await database.db.transaction((tx) =>
        storeMailboxMail(tx, [mailboxMail(mail)]),
      )
      return id
    },
    worker(o = {}) {
      const results: ReportedResult[] = []
      const woken: TouchedStream[] = []
      const wakeups = createWakeups()
      wakeups.onWake((streams) => woken.push(...streams))
      const reader = createMessageReader({
        clock: createClock(),
        parser,
        returnPaths: createReturnPathTokens(keyRing),
        authenticate: async () => UNKNOWN,
        publicUrl: 'https://post.example.com',
        inlineBytesMax: 5 * 1024 * 1024,
        ...o,
      })
      const worker = createInboundWorker({
        db: database.db,
        log: silent,
        failpoints: createFailpoints(o.spec, o.kill),
        wakeups,
        noteReports: createReportNotes({ log: silent, metrics: createMetrics() }),
        readUserAgent: createUserAgentReader(),
        reader,
        takeStored: () => undefined,
        observe: (result) => results.push(result),
        ...o,
      })
      return { ...worker, results, woken }
    },
    async webhook(tenantId, owner) {
      const { webhookId } = await database.db.transaction((tx) =>
        createSubscription(tx, keyRing, {
          tenantId,
          event: 'INCOMING',
          owner,
          url: 'https://hooks.example.com/',
          headers: [],
        }),
      )
      return webhookId
    },
    async events() {
      const { rows } = await database.db.query<{ body: string; owner: string; tenantId: string }>(
        `select ${BODY_JSON} as body, owner, tenant_id as "tenantId" from webhooks_event
          where event = 'INCOMING_EMAIL' order by event_at, event_id`,
      )
      return rows.map(({ body, ...rest }) => ({ ...(JSON.parse(body) as IncomingEmail), ...rest }))
    },
    async endLeases() {
      await database.db.query('update inbound_queue set busy_until = now(), due_at = now()')
    },
  }
}
