/** Makes feedback: the inbox for every role, and what takes callbacks in and applies them. */
import type { RelayKind } from '@postrider/contract'
import { createUserAgentReader } from '@postrider/mail'
import type { Service } from '@postrider/runtime/service'
import type { ThreadJobsObserver } from '@postrider/runtime/thread-observer'
import type { Clock } from '../platform/clock.ts'
import type { Db } from '../platform/db/index.ts'
import type { Failpoints } from '../platform/failpoints.ts'
import type { HttpApp } from '../platform/http/app.ts'
import type { Logger } from '../platform/log.ts'
import type { Metrics } from '../platform/metrics.ts'
import type { DiskGuard } from '../platform/process/disk-guard.ts'
import type { KeyRing } from '../platform/secrets/index.ts'
import {
  adapterOf,
  createCallbackReader,
  findAccountByToken,
  type RelayAdapter,
} from '../relays/index.ts'
import type { Wakeups } from '../webhooks/index.ts'
import { type CallbackApplier, createCallbackApplier } from './apply/apply-callbacks.ts'
import { createUnmatchedApplier } from './apply/apply-unmatched.ts'
import { createFeedbackWorker, type FeedbackWorker } from './apply/feedback-worker.ts'
import type { Handled } from './apply/handle-reports.ts'
import { createReportNotes, type NoteReports } from './apply/note-reports.ts'
import { createCallbackAccounts } from './intake/callback-accounts.ts'
import { createFeedbackInbox, type FeedbackInbox } from './intake/inbox.ts'
import { type CallbackIntake, createCallbackIntake } from './intake/receive-callback.ts'
import { createFeedbackJanitor } from './janitor.ts'
import { createFeedbackObserver, createInboxGauge, type InboxGauge } from './observe-feedback.ts'
import { callbackRoutes } from './routes.ts'

export interface FeedbackWorkDeps {
  readonly db: Db
  readonly clock: Clock
  readonly log: Logger
  readonly metrics: Metrics
  readonly keyRing: KeyRing
  readonly disk: DiskGuard
  readonly failpoints: Failpoints
  readonly wakeups: Wakeups
  /** After a commit. */
  readonly noteReports: NoteReports
  readonly inbox: FeedbackInbox
  readonly adapterOf: (kind: RelayKind) => RelayAdapter
  readonly threadJobs?: ThreadJobsObserver
  readonly retentionMs: number
  readonly answerMs?: number
  readonly monotonicMs?: () => number
  /** Of one tenant, before its callbacks are refused. */
  readonly waitingBytesMax?: number
}

export interface FeedbackWork {
  readonly services: readonly Service[]
  /** What its route needs. */
  readonly intake: CallbackIntake
  readonly worker: FeedbackWorker
  readonly callbacks: CallbackApplier
  readonly gauge: InboxGauge
}

/** Nothing runs before its services start. */
export function createFeedback(
  deps: Omit<FeedbackWorkDeps, 'adapterOf' | 'inbox' | 'noteReports' | 'retentionMs'> & {
    /** Whether this process has the role `tracker`. */
    readonly isTracking: boolean
    readonly config: { readonly retentionMs: number }
  },
) {
  const { db, log } = deps
  const { retentionMs } = deps.config
  const inbox = createFeedbackInbox(deps)
  const noteReports = createReportNotes(deps)
  const work = deps.isTracking
    ? createFeedbackWork({ ...deps, adapterOf, inbox, noteReports, retentionMs })
    : undefined
  return {
    /** What the simulator calls back with; another process may apply it. */
    inbox,
    /** For those who apply reports that came by mail. */
    noteReports,
    services: work?.services ?? [],
    janitor: createFeedbackJanitor({ db, log, retentionMs }),
    /** Public ones: none without the role. */
    routes(app: HttpApp) {
      if (work !== undefined) callbackRoutes(app, work.intake)
    },
  }
}

/** What takes callbacks in and applies them, in the role `tracker`. */
export function createFeedbackWork(deps: FeedbackWorkDeps): FeedbackWork {
  const { db, keyRing, log, metrics, inbox, monotonicMs = () => performance.now() } = deps
  const observer = createFeedbackObserver(metrics)
  const gauge = createInboxGauge({ db, log, metrics, bytesMax: deps.waitingBytesMax })
  const onHandled = (handled: Handled) => {
    if (handled.touched.length > 0) deps.wakeups.wake(handled.touched)
    observer.handled(handled)
    logOtherRecipients(log, handled)
    deps.noteReports(handled)
    worker.wake(handled.lookAgainMs)
  }
  const reader = createCallbackReader({ adapterOf: deps.adapterOf, observer: deps.threadJobs })
  const applying = { ...deps, reader, readUserAgent: createUserAgentReader(), onHandled }
  const callbacks = createCallbackApplier({ ...applying, onRefused: observer.refused })
  const worker = createFeedbackWorker({
    log,
    callbacks,
    unmatched: createUnmatchedApplier(applying),
  })
  inbox.onStored(() => worker.wake(0))
  const intake = createCallbackIntake({
    ...deps,
    reader,
    accounts: createCallbackAccounts({
      find: (o) => findAccountByToken(db, keyRing, o),
      monotonicMs,
    }),
    isFull: (tenantId) => gauge.isFull(tenantId),
    observe: observer.callback,
  })
  return { services: [reader, gauge, worker], intake, worker, callbacks, gauge }
}

/** One line for each account, however many there are. */
function logOtherRecipients(log: Logger, { outcomes }: Handled): void {
  const others = outcomes.filter(({ outcome }) => outcome === 'other_recipient')
  const byAccount = Map.groupBy(others, ({ tenantId, relay }) => `${tenantId} ${relay}`)
  for (const [{ tenantId, relay } = { tenantId: '', relay: '' }, ...rest] of byAccount.values())
    log.warn({ tenant_id: tenantId, relay, reports: rest.length + 1 }, 'report.other_recipient')
}
