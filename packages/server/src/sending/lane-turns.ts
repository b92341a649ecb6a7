/**
 * Whose turn it is: tenants in turn, and within a tenant its mailers in turn. A tenant with a
 * thousand mailers has no more turns than one with a single mailer.
 */
import type { Lane } from './lane.ts'

export interface LaneTurns {
  /** Twice is once; the place in the line is kept. */
  add(lane: Lane): void
  /** Takes the first lane that can go, of the first tenant that can. */
  take(o: {
    readonly tenantCanGo?: (tenantId: string) => boolean
    readonly canGo?: (lane: Lane) => boolean
  }): Lane | undefined
  clear(): void
}

export function createLaneTurns(): LaneTurns {
  // Sets and maps keep the order of insertion: who had a turn is put behind the others.
  const tenants = new Map<string, Set<Lane>>()

  function rotate(tenantId: string, lanes: Set<Lane>): void {
    tenants.delete(tenantId)
    if (lanes.size > 0) tenants.set(tenantId, lanes)
  }

  return {
    add(lane) {
      const lanes = tenants.get(lane.tenantId)
      if (lanes === undefined) tenants.set(lane.tenantId, new Set([lane]))
      else lanes.add(lane)
    },
    take({ tenantCanGo = () => true, canGo = () => true }) {
      for (const [tenantId, lanes] of tenants) {
        if (!tenantCanGo(tenantId)) continue
        for (const lane of lanes) {
          if (!canGo(lane)) continue
          lanes.delete(lane)
          rotate(tenantId, lanes)
          return lane
        }
      }
      return undefined
    },
    clear() {
      tenants.clear()
    },
  }
}
