/** A map that never has more than so many entries: what was set longest ago leaves first. */
export interface BoundedMap<K, V> {
  get(key: K): V | undefined
  /** Also makes it the latest. */
  set(key: K, value: V): void
  delete(key: K): void
  clear(): void
  readonly size: number
}

export function createBoundedMap<K, V>(entriesMax: number): BoundedMap<K, V> {
  // A map keeps the order in which its keys were added. All before `oldest` have left: to begin anew
  // each time would be to step over every one that did.
  const entries = new Map<K, V>()
  let oldest = entries.keys()

  function dropOldest(): void {
    let next = oldest.next()
    if (next.done) {
      oldest = entries.keys()
      next = oldest.next()
    }
    if (!next.done) entries.delete(next.value)
  }

  return {
    get: (key) => entries.get(key),
    set(key, value) {
      entries.delete(key)
      if (entries.size >= entriesMax) dropOldest()
      entries.set(key, value)
    },
    delete(key) {
      entries.delete(key)
    },
    clear: () => entries.clear(),
    get size() {
      return entries.size
    },
  }
}
