/**
 * Keeps peers within the limits of the listener: how many connections, how many commands that lead
 * nowhere, how much work, and how long each step may take, however the bytes drip.
 */

import { createBoundedMap } from '@postrider/runtime/bounded-map'
import { createMostConnections } from '@postrider/runtime/most-connections'
import { networkOf } from '../../platform/address-network.ts'
import type { Logger } from '../../platform/log.ts'
import { createPace, type Pace } from '../../platform/pace.ts'
import { createSummedLog, type SummedLog } from '../../platform/summed-log.ts'
import type { ListenerLimits } from './limits.ts'
import type { ListenerLimit, ListenerObserver } from './observe-listener.ts'
import type { Connection, SessionFacts, SessionHooks } from './smtp-session.ts'

export interface Guard extends SessionHooks {
  /** Ends what has taken too long. */
  sweep(connections: Iterable<Connection>): void
  /** Also those whose end the peer has yet to see. */
  open(): ReadonlySet<Connection>
}

/** Of these a transaction consists. */
const MAIL_COMMANDS: ReadonlySet<string> = new Set(['MAIL', 'RCPT', 'DATA', 'QUIT'])

/** A limit that was reached, and what the peer is told. */
interface Reached {
  readonly limit: ListenerLimit
  readonly text: string
}

const TOO_MANY: Reached = {
  limit: 'connections',
  text: '4.3.2 Too many connections, try again later',
}

/** An address with connections. */
interface Peer {
  readonly address: string
  open: number
  /** The oldest first. */
  readonly connections: Set<Connection>
}

/** Of addresses whose handshakes are counted. */
const ADDRESSES_MAX = 10_000

export function createGuard(o: {
  readonly limits: ListenerLimits
  readonly recipientsMax: number
  readonly monotonicMs: () => number
  readonly observe: Pick<ListenerObserver, 'connection' | 'limit'>
  readonly log: Logger
}): Guard {
  const { limits, monotonicMs } = o
  const handshakes = createBoundedMap<string, Pace>(ADDRESSES_MAX)
  const lines = new Map<ListenerLimit, SummedLog>()
  const open = new Set<Connection>()
  const peers = new Map<string, Peer>()
  const largest = createMostConnections<Peer>()
  /** Each transaction to as many as are allowed, and what stands around it. */
  const commandsMax = limits.transactionsMax * (o.recipientsMax + 10)

  function enter(connection: Connection): void {
    const { address } = connection.facts
    const peer = peers.get(address) ?? { address, open: 0, connections: new Set() }
    peers.set(address, peer)
    open.add(connection)
    peer.connections.add(connection)
    largest.change(peer, 1)
  }

  function leave(connection: Connection): void {
    const peer = peers.get(connection.facts.address)
    if (!open.delete(connection) || peer === undefined) return
    peer.connections.delete(connection)
    largest.change(peer, -1)
    if (peer.open === 0) peers.delete(peer.address)
  }

  /** The oldest of who has more than the new one would have: few peers keep nobody else out. */
  function endOneOfMost(address: string): boolean {
    const { most } = largest
    const own = peers.get(address)?.open ?? 0
    if (most === undefined || most.open <= own + 1) return false
    const all = [...most.connections].filter(({ facts }) => !facts.isStoring)
    const one = all.find(({ isBusy }) => !isBusy) ?? all[0]
    if (one === undefined) return false
    one.send(421, toldText(TOO_MANY, one))
    one.destroy()
    leave(one)
    return true
  }

  /** In metrics each time, in the log as one line for each limit in ten seconds. */
  function tell(limit: ListenerLimit, { id, remoteAddress }: Connection): void {
    o.observe.limit(limit)
    let line = lines.get(limit)
    if (line === undefined) {
      const message = 'inbound_connection.limited'
      line = createSummedLog({ log: o.log, level: 'warn', message, monotonicMs })
      lines.set(limit, line)
    }
    line.note({ limit, connection_id: id, remote_ip: remoteAddress })
  }

  function toldText(reached: Reached | undefined, connection: Connection): string | undefined {
    if (reached !== undefined) tell(reached.limit, connection)
    return reached?.text
  }

  function handshakesOf(address: string): Pace {
    const known = handshakes.get(address)
    if (known !== undefined) return known
    const { handshakeMicrosBurst: burstMicros, handshakeMicrosPerSecond: microsPerSecond } = limits
    const pace = createPace({ burstMicros, microsPerSecond, monotonicMs })
    handshakes.set(address, pace)
    return pace
  }

  function whyNot({ address }: SessionFacts): Reached | undefined {
    if ((peers.get(address)?.open ?? 0) >= limits.connectionsPerAddressMax)
      return {
        limit: 'connections_of_address',
        text: '4.7.0 Too many connections from your address, try again later',
      }
    if (open.size >= limits.connectionsMax && !endOneOfMost(address)) return TOO_MANY
    return undefined
  }

  function whyEnd(connection: Connection): Reached | undefined {
    const { facts } = connection
    const nowMs = monotonicMs()
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
    if (connection.isInHandshake && idleMs > limits.handshakeMsMax)
      return { limit: 'handshake_time', text: '4.4.2 No handshake' }
    if (idleMs > limits.commandMsMax)
      return { limit: 'command_time', text: '4.4.2 Timeout, closing the connection' }
    if (nowMs - facts.openedMs > limits.connectionMsMax)
      return {
        limit: 'connection_time',
        text: '4.4.2 The connection has lasted long enough',
      }
    return undefined
  }

  function tooMany(facts: SessionFacts): Reached | undefined {
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
      return { limit: 'refused_recipients', text: '4.7.1 Too many unknown recipients' }
    return undefined
  }

  return {
    factsOf: (remoteAddress) => ({
      address: networkOf(remoteAddress),
      openedMs: monotonicMs(),
      pace: createPace({
        burstMicros: limits.workMicrosBurst,
        microsPerSecond: limits.workMicrosPerSecond,
        monotonicMs,
      }),
      handshakes: handshakesOf(networkOf(remoteAddress)),
      hasWaited: false,
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
      const refusal = toldText(whyNot(connection.facts), connection)
      o.observe.connection(refusal === undefined ? 'taken' : 'refused')
      if (refusal !== undefined) return refusal
      enter(connection)
      return undefined
    },
    commanded(connection, verb) {
      const { facts } = connection
      facts.commands += 1
      if (!MAIL_COMMANDS.has(verb)) facts.idleCommands += 1
      if (verb === 'MAIL') facts.transactions += 1
      return toldText(tooMany(facts), connection)
    },
    slowed: (connection) => tell('work', connection),
    replied({ facts }, code) {
      facts.idleSinceMs = monotonicMs()
      if (code === 550) facts.refusedRecipients += 1
      else if (code >= 500 && code < 550) facts.badCommands += 1
    },
    closed: leave,
    sweep(connections) {
      for (const connection of connections) {
        if (connection.isEnding) continue
        const end = toldText(whyEnd(connection), connection)
        if (end !== undefined) connection.send(421, end)
      }
    },
    open: () => open,
  }
}
