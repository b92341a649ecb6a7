/**
 * Keeps peers within the limits of the listener: how many connections, how many commands that lead
 * nowhere, and how long each step may take, however the bytes drip.
 */
import type { ListenerLimits } from './limits.ts'
import type { Connection, SessionFacts, SessionHooks } from './smtp-session.ts'

export interface Guard extends SessionHooks {
  /** Ends what has taken too long. */
  sweep(connections: Iterable<Connection>): void
  /** Also those whose end the peer has yet to see. */
  open(): ReadonlySet<Connection>
}

/** Of these a transaction consists. */
const MAIL_COMMANDS: ReadonlySet<string> = new Set(['MAIL', 'RCPT', 'DATA', 'QUIT'])

export function createGuard(o: {
  readonly limits: ListenerLimits
  readonly recipientsMax: number
  readonly monotonicMs: () => number
  readonly observeConnection: (outcome: 'taken' | 'refused') => void
}): Guard {
  const { limits, monotonicMs } = o
  const open = new Set<Connection>()
  const byAddress = new Map<string, number>()
  /** Each transaction to as many as are allowed, and what stands around it. */
  const commandsMax = limits.transactionsMax * (o.recipientsMax + 10)

  function count(address: string, change: number): void {
    const left = (byAddress.get(address) ?? 0) + change
    if (left === 0) byAddress.delete(address)
    else byAddress.set(address, left)
  }

  function whyNot({ address }: SessionFacts): string | undefined {
    if (open.size >= limits.connectionsMax) return '4.3.2 Too many connections, try again later'
    if ((byAddress.get(address) ?? 0) >= limits.connectionsPerAddressMax)
      return '4.7.0 Too many connections from your address, try again later'
    return undefined
  }

  function whyEnd(connection: Connection): string | undefined {
    const { facts } = connection
    const nowMs = monotonicMs()
    if (facts.isStoring) return undefined
    if (facts.data !== undefined) {
      const tookMs = nowMs - facts.data.sinceMs
      if (tookMs > limits.dataMsMax) return '4.4.2 The message took too long'
      const bytesMin = (limits.dataBytesPerSecondMin * tookMs) / 1000
      const isSlow = tookMs > limits.dataRateAfterMs && facts.data.bytes() < bytesMin
      return isSlow ? '4.4.2 The message comes too slowly' : undefined
    }
    const idleMs = nowMs - facts.idleSinceMs
    if (connection.isInHandshake && idleMs > limits.handshakeMsMax) return '4.4.2 No handshake'
    if (idleMs > limits.commandMsMax) return '4.4.2 Timeout, closing the connection'
    if (nowMs - facts.openedMs > limits.connectionMsMax)
      return '4.4.2 The connection has lasted long enough'
    return undefined
  }

  return {
    factsOf: (remoteAddress) => ({
      address: networkOf(remoteAddress),
      openedMs: monotonicMs(),
      idleSinceMs: monotonicMs(),
      commands: 0,
      idleCommands: 0,
      badCommands: 0,
      refusedRecipients: 0,
      toldRecipients: 0,
      transactions: 0,
      recipients: new Map(),
      data: undefined,
      isStoring: false,
    }),
    opening(connection) {
      const refusal = whyNot(connection.facts)
      o.observeConnection(refusal === undefined ? 'taken' : 'refused')
      if (refusal !== undefined) return refusal
      open.add(connection)
      count(connection.facts.address, 1)
      return undefined
    },
    commanded({ facts }, verb) {
      facts.commands += 1
      if (!MAIL_COMMANDS.has(verb)) facts.idleCommands += 1
      if (verb === 'MAIL') facts.transactions += 1
      if (facts.transactions > limits.transactionsMax)
        return '4.7.0 Enough transactions on this connection, open another'
      if (facts.commands > commandsMax || facts.idleCommands > limits.idleCommandsMax)
        return '4.7.0 Too many commands'
      if (facts.badCommands > limits.badCommandsMax) return '4.7.0 Too many errors'
      if (facts.refusedRecipients > limits.refusedRecipientsMax)
        return '4.7.1 Too many unknown recipients'
      return undefined
    },
    replied({ facts }, code) {
      facts.idleSinceMs = monotonicMs()
      if (code === 550) facts.refusedRecipients += 1
      else if (code >= 500 && code < 550) facts.badCommands += 1
    },
    closed(connection) {
      if (open.delete(connection)) count(connection.facts.address, -1)
    },
    sweep(connections) {
      for (const connection of connections) {
        const end = whyEnd(connection)
        if (end !== undefined) connection.send(421, end)
      }
    },
    open: () => open,
  }
}

/** Whoever has one address of an IPv6 network has 2^64 of them. */
export function networkOf(address: string): string {
  if (!address.includes(':')) return address
  const [head = '', tail] = address.split('::')
  const groups = head === '' ? [] : head.split(':')
  const after = tail === undefined || tail === '' ? [] : tail.split(':')
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - groups.length - after.length)
  const all = [...groups, ...Array.from({ length: zeros }, () => '0'), ...after]
  return `${all.slice(0, 4).join(':')}::/64`
}
