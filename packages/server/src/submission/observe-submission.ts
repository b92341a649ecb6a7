/** What becomes of logins and messages at the submission listener, in metrics; with zeros from the start. */
import type { Metrics } from '../platform/metrics.ts'
import {
  type ConnectionObserver,
  connectionOutcomes,
  figuresOf,
  limitNames,
} from '../platform/smtp-server/observe-connections.ts'

const loginOutcomes = ['right', 'wrong', 'refused'] as const
const messageOutcomes = [
  'accepted',
  'refused',
  'too_large',
  'no_room',
  'malformed',
  'not_stored',
  'cut',
] as const
export type MessageOutcome = (typeof messageOutcomes)[number]

export interface SubmissionObserver extends ConnectionObserver {
  login(outcome: (typeof loginOutcomes)[number]): void
  message(ended: {
    readonly outcome: MessageOutcome
    readonly bytes: number
    readonly durationMs: number
  }): void
}

export function createSubmissionObserver(metrics: Metrics): SubmissionObserver {
  const connections = metrics.counterOf(
    'submission_connections_total',
    'Connections to the submission listener, by whether they were let in',
    'outcome',
    connectionOutcomes,
  )
  const limits = metrics.counterOf(
    'submission_limits_total',
    'Connections to the submission listener that reached a limit: `work` waited, all others were ended',
    'limit',
    limitNames,
  )
  const logins = metrics.counterOf(
    'submission_logins_total',
    'Logins at the submission listener: by a right key, by a wrong one, or refused for another reason',
    'outcome',
    loginOutcomes,
  )
  const messages = metrics.histogram(
    'submission_message_duration_seconds',
    'From the beginning of a message to its answer, by what came of it',
    ['outcome'],
  )
  for (const outcome of messageOutcomes) messages.zero({ outcome })
  const bytes = metrics.counter(
    'submission_bytes_total',
    'Bytes of messages that programs handed in, accepted or not',
  )
  return {
    connection: connections,
    limit: limits,
    watch: (read) =>
      metrics.gaugeOf(
        'submission_listener',
        'Connections to the submission listener that are open, and bytes of messages on their way in',
        'what',
        () => figuresOf(read()),
      ),
    login: logins,
    message(ended) {
      messages.observe({ outcome: ended.outcome }, ended.durationMs / 1000)
      bytes.inc(ended.bytes)
    },
  }
}
