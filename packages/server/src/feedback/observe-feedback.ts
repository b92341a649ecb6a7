/** What becomes of callbacks and reports, in metrics; with zeros from the start. */
import { type RelayKind, relayKinds } from '@postrider/contract'
import type { Db } from '../platform/db/index.ts'
import type { Logger } from '../platform/log.ts'
import type { Metrics } from '../platform/metrics.ts'
import { createPeriodicTask, type PeriodicTask } from '../platform/work/periodic-task.ts'
import { type Handled, handledOutcomes } from './apply/handle-reports.ts'
import { findFull, type InboxFigures, measureInbox } from './intake/inbox-store.ts'
import { type CallbackResult, callbackResults } from './intake/receive-callback.ts'

export interface FeedbackObserver {
  callback(kind: RelayKind | 'none', result: CallbackResult): void
  handled(handled: Handled): void
  refused(kind: RelayKind): void
}

export function createFeedbackObserver(metrics: Metrics): FeedbackObserver {
  const callbacks = metrics.counter(
    'callbacks_total',
    'Callbacks of relay providers, by what came of them',
    ['relay', 'result'],
  )
  for (const result of callbackResults)
    for (const relay of callingRelays) callbacks.inc({ relay, result }, 0)
  const reports = metrics.counter(
    'callback_reports_total',
    'Reports within callbacks, and tries of unmatched ones, by what came of them',
    ['relay', 'outcome'],
  )
  for (const outcome of handledOutcomes)
    for (const relay of relayKinds) reports.inc({ relay, outcome }, 0)
  const dropped = metrics.counter(
    'callback_reports_dropped_total',
    'Unmatched reports that were dropped because a tenant had too many',
  )
  const refused = metrics.counter(
    'callbacks_refused_total',
    'Callbacks kept aside, because something in them could not be applied',
    ['relay'],
  )
  for (const relay of relayKinds) refused.inc({ relay }, 0)
  return {
    callback: (relay, result) => callbacks.inc({ relay, result }),
    handled({ outcomes, dropped: count }) {
      for (const { relay, outcome } of outcomes) reports.inc({ relay, outcome })
      dropped.inc(count)
    },
    refused: (relay) => refused.inc({ relay }),
  }
}

/** `none`: before it is known whose they are. */
const callingRelays = [...relayKinds.filter((kind) => kind !== 'simulator'), 'none'] as const

const MEASURE_MS = 1_000
/** Of one tenant: half an hour of a provider's largest bursts. */
const WAITING_BYTES_MAX = 256 * 1024 * 1024

export interface InboxGauge extends PeriodicTask {
  /** As much of the tenant's waits as may. */
  isFull(tenantId: string): boolean
}

/** Looks every second, and shows what it has seen last. */
export function createInboxGauge(deps: {
  readonly db: Db
  readonly log: Logger
  readonly metrics: Metrics
  readonly bytesMax?: number | undefined
}): InboxGauge {
  const { db, log, bytesMax = WAITING_BYTES_MAX } = deps
  let figures: InboxFigures = { rows: 0, bytes: 0, refused: 0, ageS: 0 }
  let full: ReadonlySet<string> = new Set()
  deps.metrics.gaugeOf(
    'callback_inbox',
    'Callbacks that wait to be applied, their bytes, the age in seconds of the oldest; and those kept aside',
    'what',
    () => ({
      waiting: figures.rows,
      bytes: figures.bytes,
      age_seconds: figures.ageS,
      refused: figures.refused,
    }),
  )
  const rounds = createPeriodicTask({
    name: 'callback inbox gauge',
    log,
    intervalMs: MEASURE_MS,
    async round() {
      figures = await measureInbox(db)
      full = figures.bytes > bytesMax ? await findFull(db, bytesMax) : new Set()
      return figures.rows
    },
    failed: 'callback_inbox.not_measured',
  })
  return { ...rounds, isFull: (tenantId) => full.has(tenantId) }
}
