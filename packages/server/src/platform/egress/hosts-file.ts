/**
 * The names that this machine defines itself (hosts(5)), which no name server knows.
 *
 * The file may change while the process runs; it is looked at again at most every few seconds. One
 * that is missing or unreadable defines nothing.
 */
import { readFile } from 'node:fs/promises'
import { isIP } from 'node:net'
import { isOutOfDescriptors } from '../process/descriptors.ts'
import { EgressError } from './egress-error.ts'
import type { ResolvedAddress } from './resolve-host.ts'

const SYSTEM_FILE = '/etc/hosts'
const FRESH_MS = 5_000

export interface HostsFile {
  /** Undefined when the file does not have the name, which is in lower case. */
  find(name: string): Promise<readonly ResolvedAddress[] | undefined>
}

type Hosts = ReadonlyMap<string, readonly ResolvedAddress[]>

export function createHostsFile(
  o: { readonly path?: string | undefined; readonly nowMs?: () => number } = {},
): HostsFile {
  const { path = SYSTEM_FILE, nowMs = () => performance.now() } = o
  let hosts: Promise<Hosts> | undefined
  let readAtMs = 0
  return {
    async find(name) {
      if (hosts === undefined || nowMs() - readAtMs >= FRESH_MS) {
        readAtMs = nowMs()
        hosts = readFile(path, 'utf8').then(parseHosts, (error: unknown) => {
          if (!isOutOfDescriptors(error)) return new Map()
          // It may define the name: nothing is known, and the next caller reads it again.
          hosts = undefined
          throw new EgressError('busy', 'no free file descriptors', { cause: error })
        })
      }
      return (await hosts).get(name)
    },
  }
}

/** A line: an address, then its names; `#` begins a comment. What is no address is passed over. */
export function parseHosts(text: string): Hosts {
  const hosts = new Map<string, ResolvedAddress[]>()
  for (const line of text.split('\n')) {
    const [address = '', ...names] = line.replace(/#.*/s, '').trim().split(/\s+/)
    const family = isIP(address)
    if (family === 0) continue
    for (const name of new Set(names.map((one) => one.toLowerCase().replace(/\.$/, '')))) {
      const known = hosts.get(name) ?? []
      if (known.some((one) => one.address === address)) continue
      hosts.set(name, [...known, { address, family }])
    }
  }
  return hosts
}
