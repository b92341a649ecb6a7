/** Limits of time for work that cannot be stopped: it goes on when its time is over, and its end is ignored. */
import { setTimeout as delay } from 'node:timers/promises'

/** Rejects when the work takes longer. With `late`, does as `late` does instead: answers, or throws. */
export function withTimeout<T, Late = never>(
  work: Promise<T>,
  timeoutMs: number,
  late: () => Late = () => {
    throw new TimeoutError(timeoutMs)
  },
): Promise<T | Late> {
  return new Promise<T | Late>((resolve, reject) => {
    const end = () => {
      try {
        resolve(late())
      } catch (error) {
        reject(error)
      }
    }
    const timer = setTimeout(end, timeoutMs)
    work.then(resolve, reject).finally(() => clearTimeout(timer))
  })
}

/** Waits for the work, at most so long. */
export async function waitAtMost(work: Promise<unknown>, timeoutMs: number): Promise<void> {
  await withTimeout(work, timeoutMs, () => undefined)
}

/** True after that time; false at once when the signal fires. */
export function pause(ms: number, signal: AbortSignal): Promise<boolean> {
  return delay(ms, true, { signal }).catch(() => false)
}

export class TimeoutError extends Error {
  constructor(timeoutMs: number) {
    super(`took longer than ${timeoutMs} ms`)
    this.name = 'TimeoutError'
  }
}
