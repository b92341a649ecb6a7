/** What the address of the domains' page holds: the relay of a domain that is to be added. */
import { relayKinds } from '../api/names.ts'

export interface DomainSearch {
  readonly relay?: (typeof relayKinds)[number]
}

export function readDomainSearch(search: Record<string, unknown>): DomainSearch {
  const relay = relayKinds.find((one) => one === search.relay)
  return relay === undefined ? {} : { relay }
}
