/**
 * Keeps peers within the limits of the listener: how many connections, how many commands that lead
 * nowhere, how much work, and how long each step may take, however the bytes drip.
 */

import { createBoundedMap } from '@postrider/runtime/bounded-map'
import { createMostConnections } from '@postrider/runtime/most-connections'
import { networkOf } from '../limits/address-network.ts'
import { createWorkLimiter, type WorkLimiter } from '../limits/work-limiter.ts'
import type { Logger } from '../log.ts'
import { createSummedLog, type SummedLog } from '../summed-log.ts'
import type { ListenerLimits } from './limits.ts'
import type { ConnectionObserver, ListenerLimit } from './observe-connections.ts'
import { decideEnd, decideTooMany, type Reached } from './reached-limit.ts'
import type { Connection, SessionFacts, SessionHooks } from './smtp-connection.ts'

export interface Guard extends SessionHooks {
  /** Ends what has taken too long. */
  sweep(connections: Iterable<Connection>): void
  /** Also those whose end the peer has yet to see. */
  open(): ReadonlySet<Connection>
}

/** Of these a transaction consists. */
const MAIL_COMMANDS: ReadonlySet<string> = new Set(['MAIL', 'RCPT', 'DATA', 'BDAT', 'QUIT'])

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

export interface GuardOptions {
  /** The log line of a limit that was reached. */
  readonly limitedLine: string
  readonly limits: ListenerLimits
  readonly recipientsMax: number
  /** What ends a connection that had too much refused by a 550. */
  readonly refusedText: string
  readonly offersChunking: boolean
  /** Whether its peers have to log in. */
  readonly needsLogin: boolean
  readonly monotonicMs: () => number
  readonly observe: Pick<ConnectionObserver, 'connection' | 'limit'>
  readonly log: Logger
}

export function createGuard(o: GuardOptions): Guard {
  const { limits, monotonicMs } = o
  const peers = createPeers()
  const newFacts = createSessionFacts(o)
  const tell = createLimitReporter(o)

  function toldText(reached: Reached | undefined, connection: Connection): string | undefined {
    if (reached !== undefined) tell(reached.limit, connection)
    return reached?.text
  }

  function whyNot({ address }: SessionFacts): Reached | undefined {
    if (peers.countOf(address) >= limits.connectionsPerAddressMax)
      return {
        limit: 'connections_of_address',
        text: '4.7.0 Too many connections from your address, try again later',
      }
    if (peers.open.size >= limits.connectionsMax && !makeRoom(address)) return TOO_MANY
    return undefined
  }

  function makeRoom(address: string): boolean {
    const one = peers.oldestOfMost(address)
    if (one === undefined) return false
    one.send(421, toldText(TOO_MANY, one))
    one.destroy()
    peers.leave(one)
    return true
  }

  return {
    offersChunking: o.offersChunking,
    factsOf: newFacts,
    opening(connection) {
      const refusal = toldText(whyNot(connection.facts), connection)
      o.observe.connection(refusal === undefined ? 'taken' : 'refused')
      if (refusal !== undefined) return refusal
      peers.enter(connection)
      return undefined
    },
    commanded(connection, verb) {
      const { facts } = connection
      facts.commands += 1
      if (!MAIL_COMMANDS.has(verb)) facts.idleCommands += 1
      if (verb === 'MAIL') facts.transactions += 1
      return toldText(decideTooMany(limits, facts, o), connection)
    },
    slowed: (connection) => tell('work', connection),
    replied({ facts }, code) {
      facts.idleSinceMs = monotonicMs()
      if (code === 550) facts.refusedRecipients += 1
      else if (code >= 500 && code < 550) facts.badCommands += 1
    },
    closed: peers.leave,
    sweep(connections) {
      for (const connection of connections) {
        if (connection.isEnding) continue
        const end = toldText(decideEnd(limits, connection, monotonicMs()), connection)
        if (end !== undefined) connection.send(421, end)
      }
    },
    open: () => peers.open,
  }
}

/** The open connections, by address. */
function createPeers() {
  const open = new Set<Connection>()
  const peers = new Map<string, Peer>()
  const largest = createMostConnections<Peer>()
  return {
    open,
    countOf: (address: string) => peers.get(address)?.open ?? 0,
    enter(connection: Connection): void {
      const { address } = connection.facts
      const peer = peers.get(address) ?? { address, open: 0, connections: new Set() }
      peers.set(address, peer)
      open.add(connection)
      peer.connections.add(connection)
      largest.change(peer, 1)
    },
    leave(connection: Connection): void {
      const peer = peers.get(connection.facts.address)
      if (!open.delete(connection) || peer === undefined) return
      peer.connections.delete(connection)
      largest.change(peer, -1)
      if (peer.open === 0) peers.delete(peer.address)
    },
    /**
     * The oldest connection of the address that has most, if it has more than this one would have: few
     * peers keep nobody else out.
     */
    oldestOfMost(address: string): Connection | undefined {
      const { most } = largest
      const own = peers.get(address)?.open ?? 0
      if (most === undefined || most.open <= own + 1) return undefined
      const all = [...most.connections].filter(({ facts }) => !facts.isStoring)
      return all.find(({ isBusy }) => !isBusy) ?? all[0]
    },
  }
}

/** What is counted of a new connection. Handshakes are counted of its address, over connections. */
function createSessionFacts({ limits, monotonicMs, needsLogin }: GuardOptions): Guard['factsOf'] {
  const handshakes = createBoundedMap<string, WorkLimiter>(ADDRESSES_MAX)

  function handshakesOf(address: string): WorkLimiter {
    const known = handshakes.get(address)
    if (known !== undefined) return known
    const { handshakeMicrosBurst: burstMicros, handshakeMicrosPerSecond: microsPerSecond } = limits
    const limiter = createWorkLimiter({ burstMicros, microsPerSecond, monotonicMs })
    handshakes.set(address, limiter)
    return limiter
  }

  return (remoteAddress) => ({
    address: networkOf(remoteAddress),
    openedMs: monotonicMs(),
    workLimiter: createWorkLimiter({
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
    isLoginDue: needsLogin,
    transactions: 0,
    data: undefined,
    isStoring: false,
  })
}

/** In metrics each time, in the log as one line for each limit in ten seconds. */
function createLimitReporter({ limitedLine, observe, log, monotonicMs }: GuardOptions) {
  const lines = new Map<ListenerLimit, SummedLog>()
  return (limit: ListenerLimit, { id, remoteAddress }: Connection): void => {
    observe.limit(limit)
    let line = lines.get(limit)
    if (line === undefined) {
      line = createSummedLog({ log, level: 'warn', message: limitedLine, monotonicMs })
      lines.set(limit, line)
    }
    line.note({ limit, connection_id: id, remote_ip: remoteAddress })
  }
}
