/**
 * What the addresses of the operator's screens hold. What is no filter is undefined: what a reader leaves out
 * would stay as it was in the address.
 */
import type { QueueKind } from '@postrider/client'

type Raw = Record<string, unknown>

export interface TenantsSearch {
  /** A part of the name. */
  readonly name?: string | undefined
}
export const readTenantsSearch = ({ name }: Raw): TenantsSearch => ({ name: textOf(name) })

export interface QueuesSearch {
  readonly kind?: QueueKind | undefined
}
export const readQueuesSearch = ({ kind }: Raw): QueuesSearch => ({
  kind: kind === 'mailer' || kind === 'webhook' ? kind : undefined,
})

export interface FindSearch {
  /** An id, an address or a domain. */
  readonly q?: string | undefined
}
export const readFindSearch = ({ q }: Raw): FindSearch => ({ q: textOf(q) })

export const systemTabs = ['processes', 'storage', 'alerts', 'configuration'] as const

export interface SystemSearch {
  readonly tab?: (typeof systemTabs)[number] | undefined
  /** A part of a variable's name or value. */
  readonly find?: string | undefined
}
export const readSystemSearch = ({ tab, find }: Raw): SystemSearch => ({
  tab: systemTabs.find((one) => one === tab),
  find: textOf(find),
})

export interface UsersSearch {
  /** The dialog is open: for this tenant or, when it is empty, for none. */
  readonly invite?: string | undefined
}
export const readUsersSearch = ({ invite }: Raw): UsersSearch => ({
  invite: typeof invite === 'string' ? invite : undefined,
})

/** The router reads digits as a number. */
function textOf(value: unknown): string | undefined {
  if (typeof value !== 'string' && typeof value !== 'number') return undefined
  return String(value) || undefined
}
