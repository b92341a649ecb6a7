/** What becomes of the connections of an SMTP listener: each listener has metrics of its own for it. */
export const connectionOutcomes = ['taken', 'refused'] as const
export const limitNames = [
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

/** Read when they are asked for. */
export interface ListenerFigures {
  readonly connections: number
  readonly bytesInTransit: number
}

export interface ConnectionObserver {
  connection(outcome: (typeof connectionOutcomes)[number]): void
  limit(reached: ListenerLimit): void
  watch(read: () => ListenerFigures): void
}

/** As the metric has them. */
export function figuresOf({ connections, bytesInTransit }: ListenerFigures) {
  return { connections, bytes_in_transit: bytesInTransit }
}
