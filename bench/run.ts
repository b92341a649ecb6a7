/**
 * `npm run bench`: what the service reaches, as ratios against peers measured in the same run.
 *
 *   npm run bench -- [--only <part>,...] [--runs 3] [--log-level info]
 *
 * accept     64 callers, durable before the 202, against the same route with nothing behind it;
 *            --seconds 8 a run
 * path       mails of 5 kB accepted, sent, recorded and reported, against nodemailer's pool and
 *            Postfix into the same sink; --count 4000 mails a run
 * cost       what a mail, an open and a received mail write to the database, each with its event: statements,
 *            commits, rows, WAL; and what is kept. Before that, memory of the published service at rest, and how
 *            long its start takes
 * submission mails of 5 kB handed in by SMTP, sent, recorded and reported, against Postfix into the same sink;
 *            --count 4000 mails a run
 * tracker    pixel and redirect, durable before the answer, against the same routes with nothing behind
 *            them; and what becomes of hits while the database is suspended for 5 s; --seconds 8 a run
 * callbacks  50,000 events of a relay provider: taken, durable before the answer, against a bare route that
 *            parses the same JSON; applied; and what another tenant's sends wait meanwhile
 * inbound    mail received by SMTP: stored before the answer, read, delivered to its webhook; against
 *            smtp-server alone, Haraka and Postfix; --count 4000 messages a run; and what a tenant's mail
 *            waits while another gets the worst of 24 MB, --seconds 8 each
 * mailboxes  1,000 mailboxes watched by one process: memory and processor time of each while nothing
 *            happens, and from APPEND to the webhook
 * smtp       the SMTP client alone, against a plain pipelined socket and nodemailer's pool; five times
 *            --count messages a run
 * memory     the service after 50,000 mails against 5,000
 * webhooks   events out of a backlog to 200 webhooks, in batches and singly, against undici alone and
 *            BullMQ; --events 400000 a run, singly a fifth of it; --seconds 8 for undici
 * batches    500 emails in one request against 500 requests: processor time of service and PostgreSQL; and what
 *            another tenant's single mails wait beside batches; --count 4000 emails and --seconds 8 a run
 * isolation  how long an event takes to a webhook that answers while 150 of 200 hang; with --apart
 *            the dispatcher is a process of its own
 * quotas     what quotas cost the sends of a tenant; and what a tenant that floods beyond its quota costs others;
 *            --seconds 8 a run
 * backlog    one stream's events while --backlog 2000000 rows wait
 * rewrite    finding the places of tracking in newsletters and writing them over, against the tokenizer
 *            alone; tracked mail over the whole path; --count 4000 mails a run
 * queue      how long a single mail takes while a campaign of --backlog 2000000 waits, of its own mailer
 *            and of another tenant; what a claim costs then; and mailers with nothing due
 *
 * suppressions  a file of --suppressions 1000000 lines imported, again, and exported: lines a second, memory; and
 *            what another tenant's sends wait meanwhile
 * streams    1,000 open event streams in one process: memory, processor time, and how soon an event has
 *            come to all of them
 * logs       how long a page of email logs takes in a record of --recipients 10000000, by every filter
 * dashboard  how soon Chromium has painted the first page of Emails in that record: after the answer, and in all
 *
 * Without --only: accept and path. Everything is a process of its own and shares one machine, so only
 * the ratios mean something. --profile <folder> keeps CPU profiles of the service (path, webhooks,
 * isolation). Ctrl-C ends what was started.
 */
import { parseArgs } from 'node:util'
import { measureAccept } from './accept.ts'
import { measureBacklog } from './backlog.ts'
import { measureBatches } from './batches.ts'
import { measureCallbacks } from './callbacks.ts'
import { measureCost } from './cost.ts'
import { measureDashboard } from './dashboard.ts'
import { measureInbound } from './inbound.ts'
import { measureIsolation } from './isolation.ts'
import { measureLogs } from './logs.ts'
import { measureMailboxes } from './mailboxes.ts'
import { measureMemory } from './memory.ts'
import { measurePath } from './path.ts'
import { measureQueue } from './queue.ts'
import { measureQuotas } from './quotas.ts'
import { measureRewrite } from './rewrite.ts'
import { measureSmtp } from './smtp.ts'
import { measureStreams } from './streams.ts'
import { measureSubmission } from './submission.ts'
import { measureSuppressions } from './suppressions.ts'
import { measureTracker } from './tracker.ts'
import { measureWebhooks } from './webhooks.ts'
import { startWorker } from './worker.ts'

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    runs: { type: 'string', default: '3' },
    count: { type: 'string', default: '4000' },
    seconds: { type: 'string', default: '8' },
    events: { type: 'string', default: '400000' },
    backlog: { type: 'string', default: '2000000' },
    recipients: { type: 'string', default: '10000000' },
    suppressions: { type: 'string', default: '1000000' },
    apart: { type: 'boolean', default: false },
    profile: { type: 'string' },
    'log-level': { type: 'string', default: 'info' },
  },
})
const started: (() => unknown)[] = []
const order = {
  async startWorker(file: string) {
    const worker = await startWorker(file)
    started.unshift(() => worker.stop())
    return worker
  },
  stopAtEnd: (stop: () => unknown) => started.unshift(stop),
  runs: Number(values.runs),
  count: Number(values.count),
  seconds: Number(values.seconds),
  events: Number(values.events),
  backlog: Number(values.backlog),
  recipients: Number(values.recipients),
  suppressions: Number(values.suppressions),
  isApart: values.apart,
  ...(values.profile === undefined ? {} : { profileDir: values.profile }),
  logLevel: values['log-level'],
}

/** All of it, also where one does not stop as it should. */
async function stopAll(): Promise<void> {
  for (const stop of started.splice(0)) {
    try {
      await stop()
    } catch (error) {
      if (!isInterrupted) console.error(error)
    }
  }
}
let isInterrupted = false
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.on(signal, () => {
    // The same Ctrl-C may come twice, from the terminal and through npm.
    if (isInterrupted) return
    isInterrupted = true
    // Nor is what fails where nobody waits for it.
    process.on('unhandledRejection', () => undefined)
    void stopAll().finally(() => process.exit(1))
  })

const parts = {
  accept: measureAccept,
  path: measurePath,
  submission: measureSubmission,
  cost: measureCost,
  smtp: measureSmtp,
  memory: measureMemory,
  webhooks: measureWebhooks,
  batches: measureBatches,
  isolation: measureIsolation,
  backlog: measureBacklog,
  queue: measureQueue,
  quotas: measureQuotas,
  rewrite: measureRewrite,
  tracker: measureTracker,
  callbacks: measureCallbacks,
  logs: measureLogs,
  dashboard: measureDashboard,
  suppressions: measureSuppressions,
  streams: measureStreams,
  inbound: measureInbound,
  mailboxes: measureMailboxes,
}
const chosen = values.only === undefined ? ['accept', 'path'] : values.only.split(',')
for (const name of chosen) {
  const measure = parts[name as keyof typeof parts]
  if (measure === undefined) throw new Error(`no part is called ${name}`)
  try {
    await measure(order)
  } catch (error) {
    // Whatever fails while all is being stopped is no news.
    if (!isInterrupted) throw error
    await new Promise(() => undefined)
  } finally {
    await stopAll()
  }
}
