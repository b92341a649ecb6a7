/**
 * How much of a busy machine a thread gets. Linux alone has threads with priorities of their own; elsewhere,
 * and where it is forbidden, the thread goes on as it is.
 */
import { readlinkSync } from 'node:fs'
import { setPriority } from 'node:os'

/** Of the calling thread, for ever: a quarter of the share of one that is not lowered. */
export const LOWERED = 5

/** False: it is as it was. */
export function lowerPriority(): boolean {
  try {
    // <pid>/task/<tid>
    setPriority(Number(readlinkSync('/proc/thread-self').split('/').at(-1)), LOWERED)
    return true
  } catch {
    return false
  }
}
