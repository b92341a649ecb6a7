/**
 * How much memory one kind of content may take in this process: in all, and for one caller, so that nobody
 * takes all of it. It counts; a caller that takes bytes gives them back.
 */
export interface ByteLimiter {
  /** Whether `take` would succeed. */
  hasRoom(caller: string, bytes: number): boolean
  /** False, and nothing taken, when so many more do not fit. */
  take(caller: string, bytes: number): boolean
  giveBack(caller: string, bytes: number): void
  readonly takenBytes: number
}

export function createByteLimiter(o: {
  readonly bytesMax: number
  readonly bytesOfCallerMax: number
  /** What is larger than a limit is let in where nothing else is taken; else it would wait for ever. */
  readonly letsLargeInAlone: boolean
  /**
   * Nobody has more than is left for others: the first has half at most, the second a quarter, the third
   * an eighth. So a few who give nothing back leave room for what is small.
   */
  readonly leavesAsMuch?: boolean
}): ByteLimiter {
  /** Without those that have none. */
  const byCaller = new Map<string, number>()
  let takenBytes = 0

  function fits(taken: number, bytes: number, max: number): boolean {
    return taken + bytes <= max || (o.letsLargeInAlone && taken === 0)
  }

  function hasRoom(caller: string, bytes: number): boolean {
    const own = byCaller.get(caller) ?? 0
    const left = o.bytesMax - takenBytes - bytes
    if (o.leavesAsMuch === true && own + bytes > left) return false
    return fits(own, bytes, o.bytesOfCallerMax) && fits(takenBytes, bytes, o.bytesMax)
  }

  function add(caller: string, bytes: number): void {
    takenBytes += bytes
    const own = (byCaller.get(caller) ?? 0) + bytes
    if (own === 0) byCaller.delete(caller)
    else byCaller.set(caller, own)
  }

  return {
    hasRoom,
    take(caller, bytes) {
      if (!hasRoom(caller, bytes)) return false
      add(caller, bytes)
      return true
    },
    giveBack: (caller, bytes) => add(caller, -bytes),
    get takenBytes() {
      return takenBytes
    },
  }
}
