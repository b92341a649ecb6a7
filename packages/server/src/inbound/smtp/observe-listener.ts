/** What becomes of connections, recipients and messages of the listener, in metrics; with zeros from the start. */
import type { Metrics } from '../../platform/metrics.ts'
import {
  type ConnectionObserver,
  connectionOutcomes,
  figuresOf,
  limitNames,
} from '../../platform/smtp-server/observe-connections.ts'

const recipientOutcomes = [
  'route',
  'unknown_domain',
  'unproven_domain',
  'unsure_domain',
  'unknown_user',
  'not_looked_up',
] as const
const transactionOutcomes = [
  'stored',
  'repeated',
  'too_large',
  'no_room',
  'looping',
  'malformed',
  'not_stored',
  'cut',
] as const
export type TransactionOutcome = (typeof transactionOutcomes)[number]

export interface ListenerObserver extends ConnectionObserver {
  recipient(outcome: (typeof recipientOutcomes)[number]): void
  transaction(ended: {
    readonly outcome: TransactionOutcome
    readonly bytes: number
    readonly durationMs: number
  }): void
}

export function createListenerObserver(metrics: Metrics): ListenerObserver {
  const connections = metrics.counterOf(
    'inbound_connections_total',
    'Connections to the SMTP listener, by whether they were let in',
    'outcome',
    connectionOutcomes,
  )
  const limits = metrics.counterOf(
    'inbound_limits_total',
    'Connections to the SMTP listener that reached a limit: `work` waited, all others were ended',
    'limit',
    limitNames,
  )
  const recipients = metrics.counterOf(
    'inbound_recipients_total',
    'Recipients that were named to the SMTP listener, by what they were found to be',
    'outcome',
    recipientOutcomes,
  )
  const transactions = metrics.histogram(
    'inbound_transaction_duration_seconds',
    'From DATA to the answer to the final dot, by what came of the message',
    ['outcome'],
  )
  for (const outcome of transactionOutcomes) transactions.zero({ outcome })
  const bytes = metrics.counter(
    'inbound_bytes_total',
    'Bytes of messages that were read, stored or not',
  )
  return {
    connection: connections,
    limit: limits,
    watch: (read) =>
      metrics.gaugeOf(
        'inbound_listener',
        'Connections to the SMTP listener that are open, and bytes of messages on their way in',
        'what',
        () => figuresOf(read()),
      ),
    recipient: recipients,
    transaction(ended) {
      transactions.observe({ outcome: ended.outcome }, ended.durationMs / 1000)
      bytes.inc(ended.bytes)
    },
  }
}
