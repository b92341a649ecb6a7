/**
 * When a piece of a large message is taken: one, and then a rest, the peers in turn. However many large
 * messages come in, and however fast, what else there is to do waits for no more than a piece; and as
 * what comes in is also to be stored and read, that, too, leaves room for others. Together they come with
 * at most 32 MB a second, and slower where the process is busy: the later a rest ends, the longer is the next.
 */
import { createFairQueue } from '@postrider/runtime/fair-queue'

export interface ReceiveThrottle {
  /** Resolves when it may go on; each of those that wait at a time of its own. */
  next(address: string): Promise<void>
}

/** Of what is taken at once, and after it. */
export const PIECE_BYTES = 64 * 1024
const REST_MS = 2
const REST_MS_MAX = 50

interface Waiter {
  /** Peers take turns as tenants do. */
  readonly tenantId: string
  readonly enter: () => void
}

export function createReceiveThrottle(
  monotonicMs: () => number = () => performance.now(),
): ReceiveThrottle {
  const waiting = createFairQueue<Waiter>()
  let isResting = false
  let restMs = REST_MS

  function rest(): void {
    if (isResting || waiting.size === 0) return
    isResting = true
    const beganMs = monotonicMs()
    setTimeout(() => {
      const lateMs = monotonicMs() - beganMs - restMs
      restMs = Math.min(REST_MS + Math.max(0, lateMs), REST_MS_MAX)
      isResting = false
      waiting.take()?.enter()
      rest()
    }, restMs)
  }

  return {
    next: (address) =>
      new Promise((resolve) => {
        waiting.add({ tenantId: address, enter: resolve })
        rest()
      }),
  }
}
