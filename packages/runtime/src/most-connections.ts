/** Finds the address with the most connections, at the same cost however many addresses there are. */
export interface MostConnections<A extends { open: number }> {
  /** Changes how many it has by one. */
  change(address: A, by: 1 | -1): void
  /** Undefined when nobody has any. */
  readonly most: A | undefined
}

export function createMostConnections<A extends { open: number }>(): MostConnections<A> {
  /** Addresses by how many connections they have. */
  const byCount = new Map<number, Set<A>>()
  let highest = 0

  function move(address: A, from: number, to: number): void {
    const before = byCount.get(from)
    before?.delete(address)
    if (before?.size === 0) byCount.delete(from)
    if (to === 0) return
    const after = byCount.get(to) ?? new Set()
    byCount.set(to, after.add(address))
  }

  return {
    change(address, by) {
      const from = address.open
      address.open += by
      move(address, from, address.open)
      if (address.open > highest) highest = address.open
      // By one: the last of the highest has just gone down by one.
      else if (highest > 0 && !byCount.has(highest)) highest -= 1
    },
    get most() {
      const [address] = byCount.get(highest) ?? []
      return address
    },
  }
}
