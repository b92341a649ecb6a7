/**
 * Tells the workers of a role that something in a bucket has work: those of this process at once,
 * and those of other processes, for buckets that none here owns, by a notification. Hints: who
 * misses one finds the work at its next sweep.
 */
export interface Wakeups<T extends { readonly bucket: number }> {
  /** After the commit. */
  wake(items: readonly T[]): void
  onWake(listener: (items: readonly T[]) => void): () => void
  /** Another process has made work in these buckets, or may have. */
  onNews(listener: (buckets: ReadonlySet<number>) => void): () => void
}

/** The processes beside this one. */
export interface Others {
  /** What this process serves itself. */
  owned(): ReadonlySet<number>
  notify(buckets: Iterable<number>): void
  onNotified(listener: (buckets: ReadonlySet<number>) => void): () => void
}

export function createWakeups<T extends { readonly bucket: number }>(others?: Others): Wakeups<T> {
  const listeners = new Set<(items: readonly T[]) => void>()
  return {
    wake(items) {
      if (items.length === 0) return
      for (const listener of listeners) listener(items)
      if (others === undefined) return
      const owned = others.owned()
      const elsewhere = items.map((item) => item.bucket).filter((bucket) => !owned.has(bucket))
      if (elsewhere.length > 0) others.notify(elsewhere)
    },
    onWake(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    onNews: (listener) => others?.onNotified(listener) ?? (() => undefined),
  }
}
