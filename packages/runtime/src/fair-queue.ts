/**
 * Whose turn it is: tenants in turn, and within a tenant its members in turn. A tenant with a
 * thousand members has no more turns than one with a single member.
 */
export interface FairQueue<T extends { readonly tenantId: string }> {
  /** Twice is once; the place in the line is kept. */
  add(member: T): void
  /** Takes the first member that can go, of the first tenant that can. */
  take(o?: CanGo<T>): T | undefined
  /** Whether `take` would find one. */
  has(o?: CanGo<T>): boolean
  readonly size: number
  clear(): void
}

export interface CanGo<T> {
  readonly tenantCanGo?: (tenantId: string) => boolean
  readonly canGo?: (member: T) => boolean
}

export function createFairQueue<T extends { readonly tenantId: string }>(): FairQueue<T> {
  // Sets and maps keep the order of insertion: who had a turn is put behind the others.
  const tenants = new Map<string, Set<T>>()
  let size = 0

  function first({ tenantCanGo = () => true, canGo = () => true }: CanGo<T>): T | undefined {
    for (const [tenantId, members] of tenants) {
      if (!tenantCanGo(tenantId)) continue
      for (const member of members) if (canGo(member)) return member
    }
    return undefined
  }

  return {
    add(member) {
      const members = tenants.get(member.tenantId) ?? new Set()
      if (members.has(member)) return
      if (members.size === 0) tenants.set(member.tenantId, members)
      members.add(member)
      size += 1
    },
    take(o = {}) {
      const member = first(o)
      if (member === undefined) return undefined
      const members = tenants.get(member.tenantId)
      members?.delete(member)
      tenants.delete(member.tenantId)
      if (members !== undefined && members.size > 0) tenants.set(member.tenantId, members)
      size -= 1
      return member
    },
    has: (o = {}) => first(o) !== undefined,
    get size() {
      return size
    },
    clear() {
      tenants.clear()
      size = 0
    },
  }
}
