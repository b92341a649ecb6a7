/** Sending: accept, queue, attempts. Nothing after it needs more than this yet. */
export { createLaneWakeups, type LaneWakeups } from './lane-wakeups.ts'
