/**
 * Which addresses this service may connect to on a tenant's behalf (architecture invariant 11).
 *
 * An allow-list: of IPv4 everything that is globally reachable unicast, of IPv6 only 2000::/3 minus
 * what is special inside it. ipaddr.js's own `range()` is no policy: it calls `::7f00:1`, `4000::1`
 * and `168.63.129.16` unicast. An IPv4-mapped address is judged as the IPv4 address it stands for.
 * ALLOW_NETWORKS opens exceptions for self-hosters, but never for a metadata service, whichever way
 * its address is dressed (NAT64, 6to4, compatible, translated).
 */
import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

type Address = ipaddr.IPv4 | ipaddr.IPv6
export type Network = readonly [Address, number]

export interface AddressPolicy {
  isAllowed(address: string): boolean
}

const REFUSED_V4 = networks([
  '0.0.0.0/8', // this network
  '10.0.0.0/8', // private
  '100.64.0.0/10', // carrier-grade NAT
  '127.0.0.0/8', // loopback
  '168.63.129.16/32', // Azure's host agent, in public space
  '169.254.0.0/16', // link-local, cloud metadata
  '172.16.0.0/12', // private
  '192.0.0.0/24', // protocol assignments
  '192.0.2.0/24', // documentation
  '192.88.99.0/24', // 6to4 relays
  '192.168.0.0/16', // private
  '198.18.0.0/15', // benchmarks
  '198.51.100.0/24', // documentation
  '203.0.113.0/24', // documentation
  '224.0.0.0/4', // multicast
  '240.0.0.0/4', // reserved, broadcast
])

const GLOBAL_V6 = networks(['2000::/3'])

const REFUSED_V6 = networks([
  '2001::/23', // protocol assignments: Teredo, benchmarks, ORCHID, drone ids
  '2001:db8::/32', // documentation
  '2002::/16', // 6to4
  '3fff::/20', // documentation
])

const METADATA = networks([
  '169.254.169.254/32', // most clouds
  '169.254.0.23/32', // Tencent
  '169.254.170.2/32', // AWS containers
  '169.254.170.23/32', // AWS pods
  '169.254.42.42/32', // Scaleway
  '168.63.129.16/32', // Azure
  '100.100.100.200/32', // Alibaba
  '192.0.0.192/32', // Oracle
  'fd00:42::42/128', // Scaleway
  'fd00:c1::a9fe:a9fe/128', // Oracle
  'fd00:ec2::254/128', // AWS
  'fd00:ec2::23/128', // AWS pods
  'fd20:ce::254/128', // Google
  'fe80::a9fe:a9fe/128', // OpenStack
])

/** IPv6 networks whose addresses stand for IPv4 ones, and the bytes in which those are. */
const EMBEDDING: readonly (readonly [readonly Network[], ...(readonly number[])[]])[] = [
  [networks(['2002::/16']), [2, 3, 4, 5]], // 6to4
  // Compatible; translated (RFC 2765); NAT64 with its well-known prefix
  [networks(['::/96', '::ffff:0:0:0/96', '64:ff9b::/96']), [12, 13, 14, 15]],
  // NAT64 with a prefix of the network's own, of /48, /56, /64 or /96 (RFC 6052 §2.2, RFC 8215)
  [networks(['64:ff9b:1::/48']), [6, 7, 9, 10], [7, 9, 10, 11], [9, 10, 11, 12], [12, 13, 14, 15]],
]

export function createAddressPolicy(allowNetworks: readonly string[]): AddressPolicy {
  const exceptions = allowNetworks.map(parseNetwork)
  return {
    isAllowed(text) {
      const address = parseAddress(text)
      if (address === undefined || isMetadata(address)) return false
      return isGlobalUnicast(address) || isInside(address, exceptions)
    },
  }
}

export interface Networks {
  /** False for what is no address. */
  has(address: string): boolean
}

/** Of CIDRs as `parseNetwork` takes them. */
export function createNetworks(list: readonly string[]): Networks {
  const parsed = list.map(parseNetwork)
  return {
    has(text) {
      const address = parseAddress(text)
      return address !== undefined && isInside(address, parsed)
    },
  }
}

/** The one spelling of a CIDR. Throws where `parseNetwork` does. */
export function canonicalNetwork(text: string): string {
  const [base, bits] = parseNetwork(text)
  return `${base}/${bits}`
}

/** Whether every address of one CIDR is in the other. */
export function covers(outer: string, inner: string): boolean {
  const [[, outerBits], [base, innerBits]] = [parseNetwork(outer), parseNetwork(inner)]
  return innerBits >= outerBits && isInside(base, [parseNetwork(outer)])
}

/** The one spelling of an address: of an IPv4-mapped one, the IPv4 address. Undefined for none. */
export function canonicalAddress(text: string): string | undefined {
  return parseAddress(text)?.toString()
}

/**
 * One CIDR (or a bare address) in its canonical form: host bits cleared, IPv4-mapped networks turned
 * into the IPv4 network they mean. Throws on anything else, because `::ffff:10.0.0.0/8` read
 * loosely would open all of IPv4 (the mistake of CVE-2026-92395).
 */
export function parseNetwork(text: string): Network {
  const [, base = '', bitsText] = /^([^/]+)(?:\/(\d{1,3}))?$/.exec(text.trim()) ?? []
  if (isIP(base) === 0 || base.includes('%')) throw new Error(`not a network: ${text}`)
  const address = parseExactly(base)
  const width = address.kind() === 'ipv4' ? 32 : 128
  const bits = bitsText === undefined ? width : Number(bitsText)
  if (bits > width) throw new Error(`not a network: ${text}`)
  if (!(address instanceof ipaddr.IPv6) || !address.isIPv4MappedAddress()) {
    return masked(address, bits)
  }
  if (bits < 96) throw new Error(`an IPv4-mapped network needs a prefix of 96 or more: ${text}`)
  return masked(address.toIPv4Address(), bits - 96)
}

function parseAddress(text: string): Address | undefined {
  const [bare = ''] = text.split('%')
  if (isIP(bare) === 0) return undefined
  const address = parseExactly(bare)
  return address instanceof ipaddr.IPv6 && address.isIPv4MappedAddress()
    ? address.toIPv4Address()
    : address
}

/** ipaddr.js reads `::8.8.8.8` as `::ffff:8.8.8.8`; in the URL standard's form nothing is left to read. */
function parseExactly(text: string): Address {
  if (isIP(text) === 4) return ipaddr.parse(text)
  return ipaddr.parse(new URL(`http://[${text}]/`).hostname.slice(1, -1))
}

function isGlobalUnicast(address: Address): boolean {
  if (address instanceof ipaddr.IPv4) return !isInside(address, REFUSED_V4)
  return isInside(address, GLOBAL_V6) && !isInside(address, REFUSED_V6)
}

function isMetadata(address: Address): boolean {
  if (isInside(address, METADATA)) return true
  return address instanceof ipaddr.IPv6 && embeddedV4(address).some((v4) => isInside(v4, METADATA))
}

function embeddedV4(address: ipaddr.IPv6): ipaddr.IPv4[] {
  const bytes = address.toByteArray()
  return EMBEDDING.flatMap(([inside, ...places]) =>
    isInside(address, inside)
      ? places.map((place) => new ipaddr.IPv4(place.map((index) => bytes[index] ?? 0)))
      : [],
  )
}

function isInside(address: Address, list: readonly Network[]): boolean {
  return list.some(([base, bits]) => address.kind() === base.kind() && address.match(base, bits))
}

function masked(address: Address, bits: number): Network {
  const bytes = address.toByteArray().map((byte, index) => {
    const kept = Math.min(8, Math.max(0, bits - index * 8))
    return byte & (0xff << (8 - kept)) & 0xff
  })
  return [ipaddr.fromByteArray(bytes), bits]
}

function networks(list: readonly string[]): readonly Network[] {
  return list.map(parseNetwork)
}
