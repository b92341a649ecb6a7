/** Names to addresses: this machine's own names, then the name servers. */
import { createNameServers, type NameServersOptions } from '@postrider/runtime/dns/name-servers'
import { EgressError, systemCodeOf } from './egress-error.ts'
import { createHostsFile, type HostsFile } from './hosts-file.ts'
import type { Lookup, ResolvedAddress } from './resolve-host.ts'

/** The name servers say so: there is no such name, or it has no address. */
const ABSENT: ReadonlySet<string | undefined> = new Set(['ENOTFOUND', 'ENODATA', 'EBADNAME'])

export interface NameLookup {
  readonly lookup: Lookup
  /** Ends the lookups under way; later ones fail. */
  close(): void
}

export function createNameLookup(
  o: NameServersOptions & { readonly hosts?: HostsFile | undefined } = {},
): NameLookup {
  const { hosts = createHostsFile() } = o
  const nameServers = createNameServers(o)

  return {
    async lookup(name, signal) {
      const own = (await hosts.find(name)) ?? loopbackOf(name)
      if (own !== undefined) return own
      const asked = await nameServers.ask(
        (resolver) => Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)]),
        signal,
      )
      if (asked.kind === 'busy') throw busy()
      if (asked.kind === 'stopped') throw stopped()
      const isUnreachable = asked.result.some(
        (one) => one.status === 'rejected' && systemCodeOf(one.reason) === 'ECONNREFUSED',
      )
      // So c-ares calls a socket that could not be made.
      if (isUnreachable && o.descriptors?.areOut() === true) throw busy()
      return addressesOf(asked.result)
    },
    close: nameServers.close,
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

function busy(): EgressError {
  return new EgressError('busy', 'too many names are being looked up, or no free file descriptors')
}

function stopped(): EgressError {
  return new EgressError('aborted', 'the name lookup was stopped')
}
