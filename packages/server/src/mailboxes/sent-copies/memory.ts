/** How many bytes of emails' contents are made into copies at once. */
export interface CopyMemory {
  /** Undefined when there is no room; what is larger than all of it has it to itself. */
  take(bytes: number): (() => void) | undefined
}

export function createCopyMemory(bytesMax: number): CopyMemory {
  let used = 0
  return {
    take(bytes) {
      if (used > 0 && used + bytes > bytesMax) return undefined
      used += bytes
      return () => {
        used -= bytes
      }
    },
  }
}
