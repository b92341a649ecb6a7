/** What becomes of connections, recipients and messages of the listener, in metrics; with zeros from the start. */
import type { Metrics } from '../../platform/metrics.ts'

const connectionOutcomes = ['taken', 'refused'] as const
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
const limitNames = [
  'connections',
  'connections_of_address',
  'transactions',
  'commands',
  'bad_commands',
  'refused_recipients',
  'work',
  'message_time',
  'message_rate',
  'handshake_time',
  'command_time',
  'connection_time',
] as const
export type ListenerLimit = (typeof limitNames)[number]
export type TransactionOutcome = (typeof transactionOutcomes)[number]

export interface ListenerObserver {
  connection(outcome: (typeof connectionOutcomes)[number]): void
  limit(reached: ListenerLimit): void
  recipient(outcome: (typeof recipientOutcomes)[number]): void
  transaction(ended: {
    readonly outcome: TransactionOutcome
    readonly bytes: number
    readonly durationMs: number
  }): void
  /** Read when it is asked for. */
  watch(read: () => { readonly connections: number; readonly bytesInTransit: number }): void
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
    recipient: recipients,
    transaction(ended) {
      transactions.observe({ outcome: ended.outcome }, ended.durationMs / 1000)
      bytes.inc(ended.bytes)
    },
    watch(read) {
      metrics.gaugeOf(
        'inbound_listener',
        'Connections to the SMTP listener that are open, and bytes of messages on their way in',
        'what',
        () => {
          const { connections: open, bytesInTransit } = read()
          return { connections: open, bytes_in_transit: bytesInTransit }
        },
      )
    },
  }
}
