/**
 * Bounds the connections of a server: in all, and of one client address (IPv6: one /64). Trusted proxies
 * are exempt from the second, as all clients come from them.
 *
 * A connection without a request under way is idle, once what came with it was read. Near the limit, each new connection closes the one
 * that has been idle for longest; at the limit of an address, one of that address. When none is idle, the
 * address with the most connections gives up the one that has been busy for longest, to an address with
 * fewer: requests and answers that drip keep a connection busy. Else the new connection is refused. So a
 * few addresses, whatever they do, keep nobody else out.
 *
 * A connection may have so many unanswered requests. Its further ones are refused and it is closed: one
 * read of pipelined requests is handled in one turn of the event loop, and must stay short.
 */
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { ErrorCode } from '@postrider/contract'
import { createMostConnections } from '@postrider/runtime/most-connections'
import { canonicalAddress } from '../../egress/address-policy.ts'
import { networkOf } from '../../limits/address-network.ts'

export const connectionBounds = [
  'connections',
  'connections-per-address',
  'idle-connections',
  'pipelined-requests',
] as const
export type ConnectionBound = (typeof connectionBounds)[number]

export interface ConnectionLimits {
  /** For the log and the metrics. */
  readonly counts: () => { readonly open: number; readonly idle: number }
}

export interface Refusal {
  readonly bound: ConnectionBound
  readonly code: ErrorCode
  readonly message: string
}

/** A default that leaves half of the descriptors to the database, sending, webhooks and received mail. */
export function defaultConnectionsMax(descriptorsMax: number): number {
  return Math.min(CONNECTIONS_MAX, Math.max(CONNECTIONS_MIN, Math.floor(descriptorsMax / 2)))
}

const CONNECTIONS_MAX = 8_000
const CONNECTIONS_MIN = 16
/** Of all connections. */
const ADDRESS_SHARE = 1 / 4
const NEAR_SHARE = 9 / 10
/** Clients that pipeline at all send a few. */
export const pipelinedMax = 32

interface Held {
  readonly address: Address
  unanswered: number
  isEnding: boolean
}

interface Address {
  readonly name: string
  readonly isProxy: boolean
  open: number
  /** Longest idle first. */
  readonly idle: Set<Socket>
  /** Longest busy first. */
  readonly busy: Set<Socket>
}

export interface ConnectionLimitsOptions {
  readonly connectionsMax: number
  readonly isProxy: (address: string) => boolean
  /** Answers a connection or a response that is refused, and closes it. */
  readonly refuse: (refusal: Refusal, to: Socket | ServerResponse) => void
  readonly onClosed: (bound: ConnectionBound) => void
}

export function limitConnections(server: Server, o: ConnectionLimitsOptions): ConnectionLimits {
  const perAddressMax = Math.max(1, Math.floor(o.connectionsMax * ADDRESS_SHARE))
  const nearMax = Math.floor(o.connectionsMax * NEAR_SHARE)
  const held = createHeldConnections(o)

  function whyNot(address: Address): Refusal | undefined {
    const isFull = !address.isProxy && address.open >= perAddressMax
    if (isFull && !held.closeIdle(address)) return TOO_MANY_OF_ADDRESS
    const isAtLimit = held.counts().open >= o.connectionsMax
    if (isAtLimit && !held.closeIdle() && !held.closeOfMost(address)) return TOO_MANY
    if (held.counts().open >= nearMax) held.closeIdle()
    return undefined
  }

  function take(socket: Socket): void {
    const address = held.addressOf(socket)
    const refusal = whyNot(address)
    if (refusal !== undefined) {
      o.refuse(refusal, socket)
      return
    }
    const connection = held.add(socket, address)
    afterNextRead(() => {
      if (connection.unanswered === 0) held.rest(socket)
    })
  }

  /** False: it is refused. */
  function begin(socket: Socket, response: ServerResponse): boolean {
    const connection = held.get(socket)
    // Refused as it came, and already answered.
    if (connection === undefined || connection.isEnding) return false
    if (connection.unanswered >= pipelinedMax) {
      connection.isEnding = true
      o.refuse(TOO_MANY_PIPELINED, response)
      return false
    }
    connection.unanswered += 1
    held.work(socket)
    response.once('close', () => {
      connection.unanswered -= 1
      if (connection.unanswered === 0) held.rest(socket)
    })
    return true
  }

  const handlers = server.listeners('request')
  server.removeAllListeners('request')
  server.on('connection', take)
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    if (!begin(request.socket, response)) return
    for (const handle of handlers) handle.call(server, request, response)
  })
  return { counts: held.counts }
}

/** The open connections by address, idle or busy. One that is closed is forgotten. */
function createHeldConnections(o: Pick<ConnectionLimitsOptions, 'isProxy' | 'onClosed'>) {
  const open = new Map<Socket, Held>()
  /** Longest idle first. */
  const idle = new Set<Socket>()
  const addresses = new Map<string, Address>()
  /** Of those that are no proxies. */
  const largest = createMostConnections<Address>()

  function addressOf(socket: Socket): Address {
    const canonical = canonicalAddress(socket.remoteAddress ?? '') ?? ''
    const name = networkOf(canonical)
    const known = addresses.get(name)
    return (
      known ?? { name, isProxy: o.isProxy(canonical), open: 0, idle: new Set(), busy: new Set() }
    )
  }

  function count(address: Address, by: 1 | -1): void {
    if (address.isProxy) address.open += by
    else largest.change(address, by)
  }

  function add(socket: Socket, address: Address): Held {
    count(address, 1)
    addresses.set(address.name, address)
    const held = { address, unanswered: 0, isEnding: false }
    open.set(socket, held)
    address.busy.add(socket)
    socket.once('close', () => forget(socket))
    return held
  }

  function forget(socket: Socket): void {
    const held = open.get(socket)
    if (held === undefined) return
    const { address } = held
    open.delete(socket)
    idle.delete(socket)
    address.idle.delete(socket)
    address.busy.delete(socket)
    count(address, -1)
    if (address.open === 0) addresses.delete(address.name)
  }

  /** False when there is none. */
  function closeOne(of: ReadonlySet<Socket>, bound: ConnectionBound): boolean {
    const [longest] = of
    if (longest === undefined) return false
    forget(longest)
    longest.destroy()
    o.onClosed(bound)
    return true
  }

  return {
    addressOf,
    add,
    get: (socket: Socket) => open.get(socket),
    counts: () => ({ open: open.size, idle: idle.size }),
    /** Unless it was closed meanwhile. */
    rest(socket: Socket): void {
      const address = open.get(socket)?.address
      if (address === undefined) return
      idle.add(socket)
      address.idle.add(socket)
      address.busy.delete(socket)
    },
    work(socket: Socket): void {
      idle.delete(socket)
      const address = open.get(socket)?.address
      address?.idle.delete(socket)
      address?.busy.add(socket)
    },
    /** The longest idle, of all or of one address. False when there is none. */
    closeIdle: (address?: Address) => closeOne(address?.idle ?? idle, 'idle-connections'),
    /** At the limit, with none idle: of who has more than the new one would have. */
    closeOfMost({ isProxy, open }: Address): boolean {
      const { most } = largest
      const own = isProxy ? 0 : open
      return most !== undefined && most.open > own + 1 && closeOne(most.busy, 'connections')
    },
  }
}

/**
 * When what has already come on a new connection was read. Before that it is not idle: of many that come
 * at once, those beyond the limit are answered, instead of closing the others.
 */
function afterNextRead(then: () => void): void {
  setImmediate(() => setImmediate(then))
}

const TOO_MANY: Refusal = {
  bound: 'connections',
  code: 'unavailable',
  message: 'Too many connections',
}
const TOO_MANY_OF_ADDRESS: Refusal = {
  bound: 'connections-per-address',
  code: 'rate_limited',
  message: 'Too many connections from this address',
}
const TOO_MANY_PIPELINED: Refusal = {
  bound: 'pipelined-requests',
  code: 'rate_limited',
  message: `Too many requests on one connection: wait for answers before sending more than ${pipelinedMax}`,
}
