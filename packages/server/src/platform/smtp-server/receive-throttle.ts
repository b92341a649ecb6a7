/**
 * Takes large messages piece by piece: one piece, then a pause, the peers in turn. So other work of the
 * process waits for one piece at most. All large messages together arrive with at most 32 MB a second,
 * and more slowly while the process is busy: the later a pause ends, the longer is the next.
 */
import { createFairQueue } from '@postrider/runtime/fair-queue'

export interface ReceiveThrottle {
  /** Resolves when the next piece of this peer may be taken. */
  next(address: string): Promise<void>
}

/** The size of a piece, and the pause after it. */
export const PIECE_BYTES = 64 * 1024
const PAUSE_MS = 2
const PAUSE_MS_MAX = 50

interface Waiter {
  /** Peers take turns as tenants do. */
  readonly tenantId: string
  readonly enter: () => void
}

export function createReceiveThrottle(
  monotonicMs: () => number = () => performance.now(),
): ReceiveThrottle {
  const waiting = createFairQueue<Waiter>()
  let isPausing = false
  let pauseMs = PAUSE_MS

  function pause(): void {
    if (isPausing || waiting.size === 0) return
    isPausing = true
    const beganMs = monotonicMs()
    setTimeout(() => {
      const lateMs = monotonicMs() - beganMs - pauseMs
      pauseMs = Math.min(PAUSE_MS + Math.max(0, lateMs), PAUSE_MS_MAX)
      isPausing = false
      waiting.take()?.enter()
      pause()
    }, pauseMs)
  }

  return {
    next: (address) =>
      new Promise((resolve) => {
        waiting.add({ tenantId: address, enter: resolve })
        pause()
      }),
  }
}
