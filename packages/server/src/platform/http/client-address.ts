/**
 * Where a request really comes from: the peer of the connection, or what trusted proxies say of it.
 *
 * X-Forwarded-For is read from the right, and only as far as trusted proxies have written it: what
 * stands to the left of the first address that is no trusted proxy's could have been sent by
 * anyone. An IPv4-mapped address is the IPv4 address.
 */
import { createBoundedMap } from '@postrider/runtime/bounded-map'
import { canonicalAddress, createNetworks } from '../egress/address-policy.ts'

export type ClientAddress = (o: {
  readonly peer: string | undefined
  readonly forwardedFor: string | readonly string[] | undefined
}) => string

const PEERS_MAX = 1_000

/** @param trustedProxies networks in CIDR form. The result answers '' where nothing is known. */
export function createClientAddress(trustedProxies: readonly string[]): ClientAddress {
  const trusted = createNetworks(trustedProxies)
  /** Of peers, which are few where there are proxies. */
  const known = createBoundedMap<string, { readonly address: string; readonly isProxy: boolean }>(
    PEERS_MAX,
  )

  function peerOf(text: string): { readonly address: string; readonly isProxy: boolean } {
    const before = known.get(text)
    if (before !== undefined) return before
    const address = canonicalAddress(text) ?? ''
    const peer = { address, isProxy: trusted.has(address) }
    known.set(text, peer)
    return peer
  }

  return ({ peer = '', forwardedFor }) => {
    const { address, isProxy } = peerOf(peer)
    let nearest = address
    if (!isProxy || forwardedFor === undefined) return nearest
    const hops = [forwardedFor].flat().join(',').split(',')
    while (hops.length > 0 && trusted.has(nearest)) {
      const hop = addressIn(hops.pop() ?? '')
      if (hop === undefined) break
      nearest = hop
    }
    return nearest
  }
}

/** Some proxies add the port. */
function addressIn(hop: string): string | undefined {
  const text = hop.trim()
  const [, v6, v4] = /^\[([0-9a-f:.]+)\](?::\d+)?$|^([\d.]+)(?::\d+)?$/i.exec(text) ?? []
  return canonicalAddress(v6 ?? v4 ?? text)
}
