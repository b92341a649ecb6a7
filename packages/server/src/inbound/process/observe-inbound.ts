/** What becomes of received mail, in metrics; with zeros from the start. */
import { type ReportOutcome, reportOutcomes } from '../../feedback/index.ts'
import type { Db } from '../../platform/db/index.ts'
import type { Logger } from '../../platform/log.ts'
import type { Metrics } from '../../platform/metrics.ts'
import { createPeriodicTask, type PeriodicTask } from '../../platform/work/periodic-task.ts'
import { type ReportedResult, reportedResults } from './inbound-worker.ts'
import { measureQueue, type QueueFigures } from './queue-store.ts'

export interface InboundObserver {
  reported(result: ReportedResult, outcomes: readonly ReportOutcome[]): void
}

export function createInboundObserver(metrics: Metrics): InboundObserver {
  const messages = metrics.counterOf(
    'received_emails_total',
    'Received messages that were read, by what came of it',
    'result',
    reportedResults,
  )
  const reports = metrics.counterOf(
    'mail_reports_total',
    'Reports of mail servers on our own emails within received mail, by what came of them',
    'outcome',
    reportOutcomes,
  )
  return {
    reported(result, outcomes) {
      messages(result)
      for (const outcome of outcomes) reports(outcome)
    },
  }
}

const MEASURE_MS = 1_000

/** Looks every second, and shows what it has seen last. */
export function createInboundGauge(deps: {
  readonly db: Db
  readonly log: Logger
  readonly metrics: Metrics
}): PeriodicTask {
  const { db, log, metrics } = deps
  let figures: QueueFigures = { rows: 0, bytes: 0, ageS: 0 }
  metrics.gaugeOf(
    'inbound_queue',
    'Received messages that are to be read now, their bytes, and for how many seconds the oldest has been',
    'what',
    () => ({ waiting: figures.rows, bytes: figures.bytes, age_seconds: figures.ageS }),
  )
  return createPeriodicTask({
    name: 'inbound queue gauge',
    log,
    intervalMs: MEASURE_MS,
    async round() {
      figures = await measureQueue(db)
      return figures.rows
    },
    failed: 'inbound_queue.not_measured',
  })
}
