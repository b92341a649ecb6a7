/**
 * The memory of large requests under way. There are places for hundreds of requests, and an INCOMING_EMAIL
 * has megabytes: receivers that hang would hold more than a process has, and end it for everyone.
 *
 * A tenant has a quarter of the room, or one request. Who finds none comes again, and is not read before
 * there is some: nothing is kept in memory for it meanwhile.
 */
import { createBoundedMap } from '../../../platform/bounded-map.ts'
import type { StreamKey } from '../stream-store.ts'

export interface BodyBudget {
  /** Undefined: there is no room now. Else what gives it back. */
  take(key: StreamKey, octets: number): (() => void) | undefined
  /** It found no room, and would find none now. */
  isCrowdedOut(key: StreamKey): boolean
}

/** Smaller ones are not counted: all places have room for them. */
const LARGE_OCTETS = 256 * 1024
const OCTETS_MAX = 128 * 1024 * 1024
const TENANT_SHARE = 1 / 4
const WAITING_MAX = 10_000

export function createBodyBudget(octetsMax = OCTETS_MAX): BodyBudget {
  const byTenant = new Map<string, number>()
  const waiting = createBoundedMap<string, number>(WAITING_MAX)
  let inAll = 0

  /** Of one that is larger than all of it, alone. */
  function hasRoom(tenantId: string, octets: number): boolean {
    const own = byTenant.get(tenantId) ?? 0
    const hasShare = own === 0 || own + octets <= octetsMax * TENANT_SHARE
    return hasShare && (inAll === 0 || inAll + octets <= octetsMax)
  }

  function add(tenantId: string, octets: number): void {
    inAll += octets
    const own = (byTenant.get(tenantId) ?? 0) + octets
    if (own === 0) byTenant.delete(tenantId)
    else byTenant.set(tenantId, own)
  }

  return {
    take({ tenantId, webhookId }, octets) {
      if (octets < LARGE_OCTETS) return () => undefined
      if (!hasRoom(tenantId, octets)) {
        waiting.set(webhookId, octets)
        return undefined
      }
      waiting.delete(webhookId)
      add(tenantId, octets)
      return () => add(tenantId, -octets)
    },
    isCrowdedOut({ tenantId, webhookId }) {
      const octets = waiting.get(webhookId)
      return octets !== undefined && !hasRoom(tenantId, octets)
    },
  }
}
