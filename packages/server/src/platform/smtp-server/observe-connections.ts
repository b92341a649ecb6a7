/** What becomes of the connections of an SMTP listener, in metrics; with zeros from the start. */
import type { Metrics } from '../metrics.ts'

const connectionOutcomes = ['taken', 'refused'] as const
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
  'login_time',
  'command_time',
  'connection_time',
] as const
export type ListenerLimit = (typeof limitNames)[number]

export interface ConnectionObserver {
  connection(outcome: (typeof connectionOutcomes)[number]): void
  limit(reached: ListenerLimit): void
  /** Read when it is asked for. */
  watch(read: () => { readonly connections: number; readonly bytesInTransit: number }): void
}

export function observeConnections(
  metrics: Metrics,
  /** With which the metrics begin, and what their descriptions call the listener. */
  { name, listener }: { readonly name: string; readonly listener: string },
): ConnectionObserver {
  const connections = metrics.counterOf(
    `${name}_connections_total`,
    `Connections to ${listener}, by whether they were let in`,
    'outcome',
    connectionOutcomes,
  )
  const limits = metrics.counterOf(
    `${name}_limits_total`,
    `Connections to ${listener} that reached a limit: \`work\` waited, all others were ended`,
    'limit',
    limitNames,
  )
  return {
    connection: connections,
    limit: limits,
    watch(read) {
      metrics.gaugeOf(
        `${name}_listener`,
        `Connections to ${listener} that are open, and bytes of messages on their way in`,
        'what',
        () => {
          const { connections: open, bytesInTransit } = read()
          return { connections: open, bytes_in_transit: bytesInTransit }
        },
      )
    },
  }
}
