/**
 * The name of a machine for mail servers (RFC 5321 §4.1.4): its fully qualified name, else its
 * address as a literal. Many servers refuse a bare name (`web-1`, a container's id).
 */
import { parseHost } from '../../platform/egress/index.ts'

const LABEL = '[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?'
const IPV4 = /^\d{1,3}(?:\.\d{1,3}){3}$/
const OF_THIS_MACHINE = /(?:^|\.)local(?:host|domain)$/i
const QUALIFIED = new RegExp(`^${LABEL}(?:\\.${LABEL})+$`, 'i')

export function ehloNameOf(o: {
  readonly hostname: string
  /** Of this machine's interfaces, loopback left out. */
  readonly addresses: readonly string[]
}): string {
  return qualifiedNameOf(o) ?? addressLiteralOf(o.addresses)
}

/** The host name itself, or the name with a dot that hosts(5) has beside it; in lower case. */
export function qualifiedNameOf(o: {
  readonly hostname: string
  /** The text of hosts(5). */
  readonly hosts?: string
}): string | undefined {
  const hostname = o.hostname.replace(/\.$/, '')
  return [hostname, ...namesBeside(hostname, o.hosts ?? '')].find(isQualified)?.toLowerCase()
}

function isQualified(name: string): boolean {
  if (name.length > 253 || !QUALIFIED.test(name) || OF_THIS_MACHINE.test(name)) return false
  return parseHost(name)?.kind === 'name'
}

function namesBeside(hostname: string, hosts: string): readonly string[] {
  return hosts
    .split('\n')
    .map((line) => line.replace(/#.*/s, '').trim().split(/\s+/).slice(1))
    .filter((names) => names.some((name) => name.toLowerCase() === hostname.toLowerCase()))
    .flat()
}

function addressLiteralOf(addresses: readonly string[]): string {
  return `[${addresses.find((address) => IPV4.test(address)) ?? '127.0.0.1'}]`
}
