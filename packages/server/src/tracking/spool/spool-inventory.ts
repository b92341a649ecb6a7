/** Which files a process has written or taken and is not done with: how much that is, and since when. */
export interface SpoolInventory {
  /** More of one, known or not. */
  add(path: string, bytes: number): void
  /** Under another name. */
  rename(path: string, to: string): void
  delete(path: string): void
  has(path: string): boolean
  readonly paths: readonly string[]
  readonly bytes: number
  /** How long the oldest has been there; 0 without any. */
  readonly oldestMs: number
}

export function createSpoolInventory(): SpoolInventory {
  /** In the order of their first bytes. */
  const files = new Map<string, { bytes: number; readonly sinceMs: number }>()
  let bytes = 0
  return {
    add(path, more) {
      const known = files.get(path)
      if (known === undefined) files.set(path, { bytes: more, sinceMs: performance.now() })
      else known.bytes += more
      bytes += more
    },
    rename(path, to) {
      const known = files.get(path)
      files.delete(path)
      if (known !== undefined) files.set(to, known)
    },
    delete(path) {
      bytes -= files.get(path)?.bytes ?? 0
      files.delete(path)
    },
    has: (path) => files.has(path),
    get paths() {
      return [...files.keys()]
    },
    get bytes() {
      return bytes
    },
    get oldestMs() {
      const since = Math.min(...[...files.values()].map(({ sinceMs }) => sinceMs))
      return Number.isFinite(since) ? performance.now() - since : 0
    },
  }
}
