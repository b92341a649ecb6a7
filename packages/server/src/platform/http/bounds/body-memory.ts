/**
 * How much memory request bodies may take, by group (a tenant, or an address without one).
 *
 * Each group has the memory of one ordinary body to itself, which no other can take. What it needs beyond
 * that comes from a shared part, of which a group may take no more than stays free for the others: the
 * first group half of it, the next a quarter, and so on. So no two groups use it up.
 */
export interface BodyMemory {
  hasRoom(group: string, bytes: number): boolean
  /** False, and nothing taken, when so many more do not fit. */
  take(group: string, bytes: number): boolean
  giveBack(group: string, bytes: number): void
  readonly bytes: number
}

interface Taken {
  own: number
  shared: number
}

export function createBodyMemory(o: {
  readonly sharedBytesMax: number
  /** Of each group. */
  readonly ownBytesMax: number
  /** Of all groups together: beyond it, a group has nothing of its own. */
  readonly ownBytesInAllMax: number
}): BodyMemory {
  const groups = new Map<string, Taken>()
  let ownInAll = 0
  let sharedInAll = 0

  /** How many of the bytes fit into the group's own memory. */
  function ownPartOf(taken: Taken | undefined, bytes: number): number {
    const left = Math.min(o.ownBytesMax - (taken?.own ?? 0), o.ownBytesInAllMax - ownInAll)
    return Math.max(0, Math.min(bytes, left))
  }

  function fits(taken: Taken | undefined, shared: number): boolean {
    const freeAfter = o.sharedBytesMax - sharedInAll - shared
    return shared === 0 || (taken?.shared ?? 0) + shared <= freeAfter
  }

  return {
    hasRoom(group, bytes) {
      const taken = groups.get(group)
      return fits(taken, bytes - ownPartOf(taken, bytes))
    },
    take(group, bytes) {
      const known = groups.get(group)
      const own = ownPartOf(known, bytes)
      if (!fits(known, bytes - own)) return false
      const taken = known ?? { own: 0, shared: 0 }
      taken.own += own
      taken.shared += bytes - own
      ownInAll += own
      sharedInAll += bytes - own
      if (known === undefined) groups.set(group, taken)
      return true
    },
    giveBack(group, bytes) {
      const taken = groups.get(group)
      if (taken === undefined) return
      const shared = Math.min(bytes, taken.shared)
      const own = Math.min(bytes - shared, taken.own)
      taken.shared -= shared
      taken.own -= own
      sharedInAll -= shared
      ownInAll -= own
      if (taken.own + taken.shared === 0) groups.delete(group)
    },
    get bytes() {
      return ownInAll + sharedInAll
    },
  }
}
