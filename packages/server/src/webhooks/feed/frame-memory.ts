/**
 * Memory of large events that wait for readers. Small ones are bounded by what waits in each stream. An event
 * counts once for all streams in which it waits, and for as long as it waits in one of them.
 */
import { createByteLimiter } from '@postrider/runtime/byte-limiter'

export interface Loan {
  /** One more holds it. */
  keep(): void
  /** One fewer. After the last the memory is free. */
  leave(): void
}

export interface FrameMemory {
  /** Held by the caller; undefined: there is no room now. */
  lend(tenantId: string, octets: number): Loan | undefined
}

export interface FrameMemoryLimits {
  readonly bytesMax: number
  readonly bytesOfTenantMax: number
}

export const FRAME_MEMORY: FrameMemoryLimits = {
  bytesMax: 256 * 1024 * 1024,
  bytesOfTenantMax: 64 * 1024 * 1024,
}
const LARGE_OCTETS = 64 * 1024

/** Of what is not counted. */
const free: Loan = { keep: () => undefined, leave: () => undefined }

export function isLarge(octets: number): boolean {
  return octets > LARGE_OCTETS
}

export function createFrameMemory(o: FrameMemoryLimits): FrameMemory {
  const limiter = createByteLimiter({
    bytesMax: o.bytesMax,
    bytesOfCallerMax: o.bytesOfTenantMax,
    letsLargeInAlone: true,
  })
  return {
    lend(tenantId, octets) {
      if (!isLarge(octets)) return free
      if (!limiter.take(tenantId, octets)) return undefined
      let holders = 1
      return {
        keep() {
          holders += 1
        },
        leave() {
          holders -= 1
          if (holders === 0) limiter.giveBack(tenantId, octets)
        },
      }
    },
  }
}
