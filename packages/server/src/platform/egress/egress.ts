/**
 * Guarded egress: raw connections and HTTP requests to hosts that tenants chose.
 *
 * Everything that leaves this process for such a host goes through one connector (connector.ts);
 * this file adds HTTP pools, the extra authorities of WEBHOOK_TLS_CA and an orderly end.
 */
import { readFileSync } from 'node:fs'
import type { Socket } from 'node:net'
import {
  createSecureContext,
  getCACertificates,
  type SecureContext,
  type TLSSocket,
} from 'node:tls'
import type { Descriptors } from '../process/descriptors.ts'
import { createAddressPolicy } from './address-policy.ts'
import { type ConnectOptions, createConnector, type ResolveOptions } from './connector.ts'
import { createHttpPools } from './http-pools.ts'
import { createNameLookup } from './name-lookup.ts'
import { parseHost } from './parse-host.ts'
import type { Lookup, ResolvedAddress } from './resolve-host.ts'
import type { TlsOptions } from './secure-socket.ts'
import { type HttpAnswer, type RequestOptions, sendRequest } from './send-request.ts'

const CHECK_TIMEOUT_MS = 5_000
const POOL_IDLE_MS = 30_000
const POOLS_MAX = 1_024

export interface Egress {
  connect(o: ConnectOptions): Promise<Socket | TLSSocket>
  /**
   * The host's addresses that may be connected to, for a client that makes its connections itself: it
   * dials these and no others, for the host's name.
   */
  resolve(o: ResolveOptions): Promise<readonly ResolvedAddress[]>
  /** Every address of the host must be allowed; for hosts that are about to be stored. */
  check(host: string, timeoutMs?: number): Promise<void>
  request(o: RequestOptions): Promise<HttpAnswer>
  /** An address literal, or `localhost`, that ALLOW_NETWORKS alone opens: there plain HTTP will do. */
  isOwnNetwork(host: string): boolean
  /** TLS as `request` does it, WEBHOOK_TLS_CA included: for a check that connects and sends nothing. */
  tlsForRequests(): TlsOptions
  readonly stats: { readonly pools: number }
  close(): Promise<void>
}

export interface EgressOptions {
  readonly allowNetworks: readonly string[]
  /** A PEM bundle trusted for `request` beside the default authorities. */
  readonly tlsCaFile?: string | undefined
  /** Name servers, as addresses with ports; the system's when absent. */
  readonly dnsServers?: readonly string[] | undefined
  /** Without it, running out of file descriptors is a failed connection. */
  readonly descriptors?: Descriptors | undefined
  /** Instead of looking names up. */
  readonly lookup?: Lookup | undefined
  readonly poolIdleMs?: number | undefined
  readonly poolsMax?: number | undefined
}

export function createEgress(o: EgressOptions): Egress {
  const names = createNameLookup({ servers: o.dnsServers, descriptors: o.descriptors })
  const policy = createAddressPolicy(o.allowNetworks)
  const publicPolicy = createAddressPolicy([])
  const connector = createConnector({
    policy,
    lookup: o.lookup ?? names.lookup,
    descriptors: o.descriptors,
  })
  const extraCa = o.tlsCaFile === undefined ? [] : [readFileSync(o.tlsCaFile, 'utf8')]
  let context: SecureContext | undefined
  const secureContext = () => {
    context ??= createSecureContext({ ca: [...getCACertificates('default'), ...extraCa] })
    return context
  }
  const pools = createHttpPools({
    connector,
    secureContext,
    idleMs: o.poolIdleMs ?? POOL_IDLE_MS,
    poolsMax: o.poolsMax ?? POOLS_MAX,
  })
  let isClosed = false

  return {
    connect: async (options) => (await connector.open(options)).socket,
    resolve: connector.resolve,
    check: (host, timeoutMs = CHECK_TIMEOUT_MS) => connector.check(host, timeoutMs),
    request: (options) => sendRequest(pools, options),
    isOwnNetwork(text) {
      const host = parseHost(text === 'localhost' ? '127.0.0.1' : text)
      if (host?.kind !== 'address') return false
      return policy.isAllowed(host.address) && !publicPolicy.isAllowed(host.address)
    },
    tlsForRequests: () => ({ secureContext: secureContext(), alpnProtocols: ['http/1.1'] }),
    stats: {
      get pools() {
        return pools.size()
      },
    },
    async close() {
      if (isClosed) return
      isClosed = true
      names.close()
      await pools.close()
    },
  }
}
