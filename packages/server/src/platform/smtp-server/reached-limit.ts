/** Which limit of the listener a connection has reached, and what its peer is told. */
import type { ListenerLimits } from './limits.ts'
import type { ListenerLimit } from './observe-connections.ts'
import type { Connection, SessionFacts } from './smtp-connection.ts'

export interface Reached {
  readonly limit: ListenerLimit
  /** What the peer is told. */
  readonly text: string
}

/** What ends a connection that has taken too long. */
export function decideEnd(
  limits: ListenerLimits,
  { facts, isInHandshake }: Pick<Connection, 'facts' | 'isInHandshake'>,
  nowMs: number,
): Reached | undefined {
  if (facts.isStoring) return undefined
  if (facts.data !== undefined) {
    const tookMs = nowMs - facts.data.sinceMs
    if (tookMs > limits.dataMsMax)
      return { limit: 'message_time', text: '4.4.2 The message took too long' }
    const bytesMin = (limits.dataBytesPerSecondMin * tookMs) / 1000
    const isSlow = tookMs > limits.dataRateAfterMs && facts.data.bytes() < bytesMin
    return isSlow
      ? { limit: 'message_rate', text: '4.4.2 The message comes too slowly' }
      : undefined
  }
  const idleMs = nowMs - facts.idleSinceMs
  if (isInHandshake && idleMs > limits.handshakeMsMax)
    return { limit: 'handshake_time', text: '4.4.2 No handshake' }
  if (facts.isLoginDue && nowMs - facts.openedMs > limits.loginMsMax)
    return { limit: 'login_time', text: '4.7.0 No login, closing the connection' }
  if (idleMs > limits.commandMsMax)
    return { limit: 'command_time', text: '4.4.2 Timeout, closing the connection' }
  if (nowMs - facts.openedMs > limits.connectionMsMax)
    return {
      limit: 'connection_time',
      text: '4.4.2 The connection has lasted long enough',
    }
  return undefined
}

/** What ends a connection whose commands lead nowhere, or are too many. */
export function decideTooMany(
  limits: ListenerLimits,
  facts: SessionFacts,
  { recipientsMax, refusedText }: { readonly recipientsMax: number; readonly refusedText: string },
): Reached | undefined {
  // Each transaction to as many as are allowed, and what stands around it.
  const commandsMax = limits.transactionsMax * (recipientsMax + 10)
  if (facts.transactions > limits.transactionsMax)
    return {
      limit: 'transactions',
      text: '4.7.0 Enough transactions on this connection, open another',
    }
  if (facts.commands > commandsMax || facts.idleCommands > limits.idleCommandsMax)
    return { limit: 'commands', text: '4.7.0 Too many commands' }
  if (facts.badCommands > limits.badCommandsMax)
    return { limit: 'bad_commands', text: '4.7.0 Too many errors' }
  if (facts.refusedRecipients > limits.refusedRecipientsMax)
    return { limit: 'refused_recipients', text: refusedText }
  return undefined
}
