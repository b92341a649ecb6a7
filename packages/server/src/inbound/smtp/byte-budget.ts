/**
 * The memory of all messages on their way in. One address has half of it at most: messages that drip
 * keep nobody else from sending.
 */
export interface ByteBudget {
  /** False: there is no room for so many more. */
  take(address: string, bytes: number): boolean
  giveBack(address: string, bytes: number): void
  hasRoom(address: string, bytes: number): boolean
  takenBytes(): number
}

export function createByteBudget(bytesMax: number): ByteBudget {
  const taken = new Map<string, number>()
  let inAll = 0

  function add(address: string, bytes: number): void {
    inAll += bytes
    const left = (taken.get(address) ?? 0) + bytes
    if (left === 0) taken.delete(address)
    else taken.set(address, left)
  }

  function hasRoom(address: string, bytes: number): boolean {
    return inAll + bytes <= bytesMax && (taken.get(address) ?? 0) + bytes <= bytesMax / 2
  }

  return {
    take(address, bytes) {
      if (!hasRoom(address, bytes)) return false
      add(address, bytes)
      return true
    },
    giveBack: (address, bytes) => add(address, -bytes),
    hasRoom,
    takenBytes: () => inAll,
  }
}
