/**
 * Keep-alive pools of HTTP connections, one per `poolKey` and origin.
 *
 * A connection is never shared between two pool keys: what one tenant's receiver does to it
 * (hanging, a response out of turn, a lying certificate) stays with that tenant. Pools unused for a
 * while are closed, and beyond `poolsMax` the longest unused idle one goes first; only pools with a
 * request in flight may exceed that number, and those the callers bound.
 */
import type { Socket } from 'node:net'
import type { SecureContext } from 'node:tls'
import { Pool } from 'undici'
import type { Connection, Connector } from './connector.ts'
import { EgressError } from './egress-error.ts'
import { skipContinues } from './skip-continue.ts'

const CONNECTIONS_PER_POOL_MAX = 64
const HEADERS_BYTES_MAX = 16 * 1024
const KEEP_ALIVE_MS = 4_000
const KEEP_ALIVE_MS_MAX = 20_000
const SWEEP_MS_MAX = 5_000
/**
 * What a connection may carry towards us for one request. The parser bounds headers and we bound
 * bodies, but nobody counts a reason phrase or the extensions of a chunk.
 */
const ANSWER_BYTES_MAX = 1024 * 1024

export interface PoolEntry {
  readonly pool: Pool
  inFlight: number
  lastUsedAt: number
  connectTimeoutMs: number
  /** Open connections, with how far each may be read. */
  readonly readUntil: Map<Socket, number>
  /** The connection just made, until the request that waited for it takes its timings. */
  fresh: Connection | undefined
}

export interface HttpPools {
  acquire(poolKey: string, url: URL, connectTimeoutMs: number): PoolEntry
  /** The connections of the next requests are all made anew. */
  renew(poolKey: string, url: URL): void
  release(entry: PoolEntry): void
  size(): number
  close(): Promise<void>
}

export interface HttpPoolsDeps {
  readonly connector: Connector
  readonly secureContext: () => SecureContext
  readonly idleMs: number
  readonly poolsMax: number
}

export function createHttpPools(deps: HttpPoolsDeps): HttpPools {
  const entries = new Map<string, PoolEntry>()
  /** Replaced, with requests in flight: closed when those have ended. */
  const retired = new Set<PoolEntry>()
  const stopping = new AbortController()
  let sweeper: NodeJS.Timeout | undefined

  const drop = (key: string, entry: PoolEntry): Promise<void> => {
    entries.delete(key)
    return entry.pool.destroy()
  }

  const sweep = () => {
    const now = performance.now()
    for (const [key, entry] of entries) {
      if (entry.inFlight === 0 && now - entry.lastUsedAt >= deps.idleMs) void drop(key, entry)
    }
    if (entries.size === 0) {
      clearInterval(sweeper)
      sweeper = undefined
    }
  }

  const makeRoom = () => {
    for (const [key, entry] of entries) {
      if (entries.size < deps.poolsMax) return
      if (entry.inFlight === 0) void drop(key, entry)
    }
  }

  const retire = (key: string, entry: PoolEntry) => {
    if (entry.inFlight === 0) return void drop(key, entry)
    entries.delete(key)
    retired.add(entry)
  }

  return {
    acquire(poolKey, url, connectTimeoutMs) {
      const key = keyOf(poolKey, url)
      let entry = entries.get(key)
      if (entry === undefined) {
        makeRoom()
        entry = createEntry(deps, url, stopping.signal)
      }
      entries.delete(key)
      entries.set(key, entry) // insertion order is the order of last use
      entry.inFlight += 1
      entry.connectTimeoutMs = connectTimeoutMs
      for (const socket of entry.readUntil.keys())
        entry.readUntil.set(socket, socket.bytesRead + ANSWER_BYTES_MAX)
      sweeper ??= setInterval(sweep, Math.min(deps.idleMs, SWEEP_MS_MAX)).unref()
      return entry
    },
    renew(poolKey, url) {
      const key = keyOf(poolKey, url)
      const entry = entries.get(key)
      if (entry !== undefined) retire(key, entry)
    },
    release(entry) {
      entry.inFlight -= 1
      entry.lastUsedAt = performance.now()
      if (entry.inFlight === 0 && retired.delete(entry)) void entry.pool.destroy()
    },
    size: () => entries.size,
    async close() {
      clearInterval(sweeper)
      sweeper = undefined
      stopping.abort()
      await Promise.all([
        ...[...entries].map(([key, entry]) => drop(key, entry)),
        ...[...retired].map((entry) => entry.pool.destroy()),
      ])
    },
  }
}

/** A pool of connections to one origin; opening ends when it is stopped. */
function createEntry(deps: HttpPoolsDeps, url: URL, stopped: AbortSignal): PoolEntry {
  const entry: PoolEntry = {
    inFlight: 0,
    lastUsedAt: 0,
    connectTimeoutMs: 0,
    readUntil: new Map(),
    fresh: undefined,
    pool: new Pool(url.origin, {
      connections: CONNECTIONS_PER_POOL_MAX,
      pipelining: 1,
      allowH2: false,
      maxHeaderSize: HEADERS_BYTES_MAX,
      headersTimeout: 0, // both restart or idle on a dripping peer: the request's one deadline
      bodyTimeout: 0, //    stands in their place
      keepAliveTimeout: KEEP_ALIVE_MS,
      keepAliveMaxTimeout: KEEP_ALIVE_MS_MAX,
      connect: ({ hostname, port, protocol }, callback) => {
        const isTls = protocol === 'https:'
        deps.connector
          .open({
            host: hostname,
            port: Number(port) || (isTls ? 443 : 80),
            timeoutMs: entry.connectTimeoutMs,
            signal: stopped,
            tls: isTls
              ? { secureContext: deps.secureContext(), alpnProtocols: ['http/1.1'] }
              : undefined,
          })
          .then(
            (connection) => {
              boundReading(entry.readUntil, connection.socket)
              skipContinues(connection.socket)
              entry.fresh = connection
              callback(null, connection.socket)
              entry.fresh = undefined
            },
            (error) => callback(error, null),
          )
      },
    }),
  }
  return entry
}

function keyOf(poolKey: string, url: URL): string {
  return `${url.origin} ${poolKey}`
}

function boundReading(readUntil: PoolEntry['readUntil'], socket: Socket): void {
  readUntil.set(socket, socket.bytesRead + ANSWER_BYTES_MAX)
  socket.once('close', () => readUntil.delete(socket))
  socket.on('readable', () => {
    if (socket.bytesRead > (readUntil.get(socket) ?? 0))
      socket.destroy(new EgressError('too_large', 'the answer is too large'))
  })
}
