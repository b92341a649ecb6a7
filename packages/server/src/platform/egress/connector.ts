/**
 * The guarded connector: the only way from this process to a host that a tenant chose.
 *
 * Steps, under one absolute deadline: normalise the host → resolve it once to all addresses → drop
 * the refused ones → connect to a vetted one → check the peer's address again → TLS for the host's
 * name. A guard in `lookup` alone would be none: it is never called for an address literal.
 */
import type { Socket } from 'node:net'
import type { TLSSocket } from 'node:tls'
import type { Descriptors } from '../process/descriptors.ts'
import type { AddressPolicy } from './address-policy.ts'
import { EgressError } from './egress-error.ts'
import { openSocket } from './open-socket.ts'
import { type Lookup, type ResolvedAddress, refused, resolveHost } from './resolve-host.ts'
import { secureSocket, type TlsOptions } from './secure-socket.ts'
import { untilAborted, withDeadline } from './with-deadline.ts'

export interface ConnectOptions {
  readonly host: string
  readonly port: number
  readonly tls?: TlsOptions | undefined
  readonly timeoutMs: number
  readonly signal?: AbortSignal | undefined
  /** What has come about so far, before TLS. */
  readonly onProgress?: ((progress: ConnectProgress) => void) | undefined
}

export type ResolveOptions = Pick<ConnectOptions, 'host' | 'timeoutMs' | 'signal'>

export type ConnectProgress =
  /** Those that may be connected to. */
  | {
      readonly step: 'dns'
      readonly addresses: readonly string[]
      readonly isPartlyRefused: boolean
    }
  | { readonly step: 'connect'; readonly address: string }

export interface Connection {
  readonly socket: Socket | TLSSocket
  readonly dnsMs: number
  readonly connectMs: number
  readonly tlsMs?: number
}

export interface Connector {
  open(o: ConnectOptions): Promise<Connection>
  /** The addresses that may be connected to. */
  resolve(o: ResolveOptions): Promise<readonly ResolvedAddress[]>
  /** Every address of the host must be allowed, not just one: used before a host is stored. */
  check(host: string, timeoutMs: number): Promise<void>
}

export function createConnector(deps: {
  readonly policy: AddressPolicy
  readonly lookup: Lookup
  readonly descriptors?: Descriptors | undefined
}): Connector {
  const { policy, descriptors } = deps
  const lookup = shareLookups(deps.lookup)
  return {
    open: (o) =>
      withDeadline({ ...o, what: 'the connection' }, async (signal) => {
        const startedAt = performance.now()
        const { allowed, isPartlyRefused } = await resolveHost({ policy, lookup }, o.host, signal)
        const resolvedAt = performance.now()
        const addresses = allowed.map(({ address }) => address)
        o.onProgress?.({ step: 'dns', addresses, isPartlyRefused })
        const socket = await openSocket(allowed, o.port, signal, descriptors)
        if (socket.remoteAddress === undefined || !policy.isAllowed(socket.remoteAddress)) {
          socket.destroy()
          throw refused(o.host)
        }
        const connectedAt = performance.now()
        o.onProgress?.({ step: 'connect', address: socket.remoteAddress })
        const dnsMs = Math.round(resolvedAt - startedAt)
        const connectMs = Math.round(connectedAt - resolvedAt)
        if (o.tls === undefined) return { socket, dnsMs, connectMs }
        const secured = await secureSocket(socket, o.host, o.tls, signal)
        return {
          socket: secured,
          dnsMs,
          connectMs,
          tlsMs: Math.round(performance.now() - connectedAt),
        }
      }),
    resolve: (o) =>
      withDeadline({ ...o, what: 'the name lookup' }, async (signal) => {
        const { allowed } = await resolveHost({ policy, lookup }, o.host, signal)
        // The caller connects by itself, and would take it for a fault of the host.
        if (descriptors?.areOut() === true)
          throw new EgressError('busy', 'no free file descriptors')
        return allowed
      }),
    check: (host, timeoutMs) =>
      withDeadline({ timeoutMs, what: 'the name lookup' }, async (signal) => {
        const { isPartlyRefused } = await resolveHost({ policy, lookup }, host, signal)
        if (isPartlyRefused) throw refused(host)
      }),
  }
}

/** Callers that ask for a name already being asked for share the answer. The last one to go ends the asking. */
function shareLookups(lookup: Lookup): Lookup {
  interface Asked {
    readonly answer: ReturnType<Lookup>
    readonly stopper: AbortController
    waiters: number
  }
  const pending = new Map<string, Asked>()

  function ask(host: string): Asked {
    const stopper = new AbortController()
    const answer = lookup(host, stopper.signal)
    const asked = { answer, stopper, waiters: 0 }
    pending.set(host, asked)
    const forget = () => {
      if (pending.get(host) === asked) pending.delete(host)
    }
    answer.then(forget, forget)
    return asked
  }

  return async (host, signal) => {
    const asked = pending.get(host) ?? ask(host)
    asked.waiters += 1
    try {
      return await untilAborted(asked.answer, signal)
    } finally {
      asked.waiters -= 1
      if (asked.waiters === 0) {
        if (pending.get(host) === asked) pending.delete(host)
        asked.stopper.abort()
      }
    }
  }
}
