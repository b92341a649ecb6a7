/**
 * How much of a busy machine a thread gets. Linux alone has threads with priorities of their own; elsewhere,
 * and where it is forbidden, the thread goes on as it is.
 */
import { readlinkSync } from 'node:fs'
import { constants, getPriority, setPriority } from 'node:os'

/** Below the other threads of the process, whose niceness may not be 0: a third of their share. */
const LOWERED_BY = 5

/** The niceness of a thread that was lowered by one of this niceness. */
export function loweredFrom(niceness: number): number {
  return Math.min(niceness + LOWERED_BY, constants.priority.PRIORITY_LOW)
}

/** Lowers the calling thread, for ever. False: it is as it was. */
export function lowerPriority(): boolean {
  try {
    // <pid>/task/<tid>
    const thread = Number(readlinkSync('/proc/thread-self').split('/').at(-1))
    setPriority(thread, loweredFrom(getPriority(thread)))
    return true
  } catch {
    return false
  }
}
