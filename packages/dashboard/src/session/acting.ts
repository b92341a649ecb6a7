/**
 * "Act for": whether an operator may change things in the tenant that is looked at. It is a state of the
 * page; the service audits what is changed in any case.
 */
import { useSyncExternalStore } from 'react'

let actingFor: string | undefined
const listeners = new Set<() => void>()

export function actFor(tenantId: string | undefined): void {
  actingFor = tenantId
  for (const listener of listeners) listener()
}

export function useActingFor(): string | undefined {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => actingFor,
  )
}
