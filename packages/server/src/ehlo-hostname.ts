/**
 * The one name by which this service greets: mail servers in EHLO, and clients of its own listener
 * in the banner (docs/reference/running.md#names-in-smtp).
 *
 * POSTRIDER_HELO_NAME; else this host's fully qualified name; else POSTRIDER_INBOUND_HOST where that
 * is a name with a dot; else this host's address as a literal, which many servers refuse.
 */
import { readFileSync } from 'node:fs'
import { hostname, networkInterfaces } from 'node:os'
import { type Config, isInboundHostUnnamed } from './config.ts'
import { ehloNameOf, qualifiedNameOf } from './mailers/index.ts'

export interface Host {
  readonly hostname: string
  /** Of its interfaces, loopback left out. */
  readonly addresses: readonly string[]
  /** The text of hosts(5). */
  readonly hosts: string
}

export function heloNameOf(
  config: Pick<Config, 'heloName' | 'inboundHost'>,
  host: Host = thisHost(),
): string {
  const named = config.heloName ?? qualifiedNameOf(host)
  if (named !== undefined) return named
  return isInboundHostUnnamed(config) ? ehloNameOf(host) : config.inboundHost
}

/** Whether other servers may refuse it: it is an address, or has no dot. */
export function isHeloNameBare(name: string): boolean {
  return name.startsWith('[') || !name.includes('.')
}

function thisHost(): Host {
  const addresses = Object.values(networkInterfaces())
    .flatMap((list) => list ?? [])
    .filter((one) => !one.internal)
    .map((one) => one.address)
  return { hostname: hostname(), addresses, hosts: readHosts() }
}

function readHosts(): string {
  try {
    return readFileSync('/etc/hosts', 'utf8')
  } catch {
    return ''
  }
}
