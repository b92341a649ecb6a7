/**
 * Names to addresses: this machine's own names, then the name servers.
 *
 * `getaddrinfo` occupies one of libuv's few threads for as long as a name server is silent, so that a
 * handful of names that never answer would stop every lookup and every file operation of the process.
 * c-ares needs no thread. Each lookup has a resolver of its own: its own random source port, its own
 * time-outs (a shared one adapts them to how fast other names answered) and its own end. It also
 * follows a resolv.conf that changes. Names are asked for as they stand, without search domains.
 */
import { Resolver } from 'node:dns/promises'
import { EgressError, systemCodeOf } from './egress-error.ts'
import { createHostsFile, type HostsFile } from './hosts-file.ts'
import type { Lookup, ResolvedAddress } from './resolve-host.ts'

const TRY_MS = 2_000
const TRIES = 2
/** Several silent name servers are asked one after the other: nobody waits that long. */
const LOOKUP_MS_MAX = 10_000
const LOOKUPS_MAX = 1_000
/** The name servers say so: there is no such name, or it has no address. */
const ABSENT: ReadonlySet<string | undefined> = new Set(['ENOTFOUND', 'ENODATA', 'EBADNAME'])

export interface NameLookup {
  readonly lookup: Lookup
  /** Ends the lookups under way; later ones fail. */
  close(): void
}

export function createNameLookup(
  o: {
    /** Addresses with ports; the system's when absent. */
    readonly servers?: readonly string[] | undefined
    readonly hosts?: HostsFile | undefined
    readonly lookupsMax?: number | undefined
    readonly tryMs?: number | undefined
  } = {},
): NameLookup {
  const { servers, hosts = createHostsFile(), lookupsMax = LOOKUPS_MAX, tryMs = TRY_MS } = o
  const underWay = new Set<Resolver>()
  let isClosed = false

  async function ask(name: string, signal: AbortSignal): Promise<readonly ResolvedAddress[]> {
    if (underWay.size >= lookupsMax)
      throw new EgressError('busy', 'too many names are being looked up')
    const resolver = new Resolver({ timeout: tryMs, maxTimeout: tryMs, tries: TRIES })
    if (servers !== undefined) resolver.setServers(servers)
    underWay.add(resolver)
    const cancel = () => resolver.cancel()
    const timer = setTimeout(cancel, LOOKUP_MS_MAX)
    signal.addEventListener('abort', cancel, { once: true })
    try {
      const asked = [resolver.resolve4(name), resolver.resolve6(name)] as const
      return addressesOf(await Promise.allSettled(asked))
    } finally {
      clearTimeout(timer)
      signal.removeEventListener('abort', cancel)
      underWay.delete(resolver)
    }
  }

  return {
    async lookup(name, signal) {
      const own = (await hosts.find(name)) ?? loopbackOf(name)
      if (own !== undefined) return own
      if (isClosed || signal.aborted) throw stopped()
      try {
        return await ask(name, signal)
      } catch (error) {
        throw isClosed ? stopped() : error
      }
    },
    close() {
      isClosed = true
      for (const resolver of underWay) resolver.cancel()
    },
  }
}

/** One family is enough. Only when both are known to be absent is the name known to be absent. */
function addressesOf(
  families: readonly [PromiseSettledResult<string[]>, PromiseSettledResult<string[]>],
): readonly ResolvedAddress[] {
  const found = families.flatMap((result, index) =>
    result.status === 'fulfilled'
      ? result.value.map((address) => ({ address, family: index === 0 ? 4 : 6 }))
      : [],
  )
  if (found.length > 0) return found
  const failures = families.flatMap((result) =>
    result.status === 'rejected' ? [result.reason as unknown] : [],
  )
  const isAbsent = failures.every((failure) => ABSENT.has(systemCodeOf(failure)))
  throw Object.assign(new Error('no address', { cause: failures[0] }), {
    code: isAbsent ? 'ENOTFOUND' : 'EAI_AGAIN',
  })
}

/** RFC 6761 §6.3: these names never leave the machine, also where the hosts file leaves them out. */
function loopbackOf(name: string): readonly ResolvedAddress[] | undefined {
  const isLocal = name === 'localhost' || name.endsWith('.localhost')
  return isLocal ? [{ address: '127.0.0.1', family: 4 }] : undefined
}

function stopped(): EgressError {
  return new EgressError('aborted', 'the name lookup was stopped')
}
