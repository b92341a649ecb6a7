/**
 * From a host text to the addresses that may be connected to.
 *
 * The name is resolved once, to all its addresses, and the caller connects to what comes back here:
 * resolving again at connect time is what DNS rebinding lives on. Refused addresses are dropped; a
 * host that has none left is refused.
 */
import { isIP } from 'node:net'
import type { AddressPolicy } from './address-policy.ts'
import { EgressError, systemCodeOf } from './egress-error.ts'
import { parseHost } from './parse-host.ts'

export interface ResolvedAddress {
  readonly address: string
  readonly family: number
}

/** The signal says that nobody waits any more. */
export type Lookup = (host: string, signal: AbortSignal) => Promise<readonly ResolvedAddress[]>

const ADDRESSES_MAX = 16

export interface Resolution {
  readonly allowed: readonly ResolvedAddress[]
  readonly isPartlyRefused: boolean
}

export async function resolveHost(
  deps: { readonly policy: AddressPolicy; readonly lookup: Lookup },
  host: string,
  signal: AbortSignal,
): Promise<Resolution> {
  const parsed = parseHost(host)
  if (parsed === undefined) {
    throw new EgressError('dns', `${printable(host)} is not a host name`, {
      systemCode: 'ENOTFOUND',
    })
  }
  const found =
    parsed.kind === 'address'
      ? [{ address: parsed.address, family: isIP(parsed.address) }]
      : await lookUp(deps.lookup, parsed.name, signal)
  const allowed = found.filter(({ address }) => deps.policy.isAllowed(address))
  if (allowed.length === 0) throw refused(host)
  return {
    allowed: alternateFamilies(allowed).slice(0, ADDRESSES_MAX),
    isPartlyRefused: allowed.length < found.length,
  }
}

/** Of a host that is refused for its address. */
export const notReachable =
  'is not publicly reachable; the operator can allow its network with POSTRIDER_ALLOW_NETWORKS, such as 127.0.0.0/8 or 10.1.2.0/24'

export function refused(host: string): EgressError {
  return new EgressError('address_refused', `${printable(host)} ${notReachable}`)
}

async function lookUp(lookup: Lookup, name: string, signal: AbortSignal) {
  try {
    const found = await lookup(name, signal)
    if (found.length > 0) return found
  } catch (cause) {
    if (cause instanceof EgressError) throw cause
    throw new EgressError('dns', `${printable(name)} could not be resolved`, {
      systemCode: systemCodeOf(cause),
      cause,
    })
  }
  throw new EgressError('dns', `${printable(name)} has no address`, { systemCode: 'ENODATA' })
}

/** RFC 8305 §4: the resolver's order, but alternating between the families. */
function alternateFamilies(list: readonly ResolvedAddress[]): readonly ResolvedAddress[] {
  const first = list.filter(({ family }) => family === list[0]?.family)
  const others = list.filter(({ family }) => family !== list[0]?.family)
  return first
    .flatMap((address, index) => [address, ...others.slice(index, index + 1)])
    .concat(others.slice(first.length))
}

function printable(host: string): string {
  return JSON.stringify(host.slice(0, 253)).slice(1, -1)
}
