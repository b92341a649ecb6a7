/** The front door of sending: what others need of accepted emails. */
export { createLaneWakeups, type LaneWakeups } from './lane-wakeups.ts'
export {
  findLinks,
  findTrackedCopies,
  type TrackedCopy,
} from './tracking/store.ts'
export type { TrackedRecipient, TrackingUrls } from './tracking/tracking-urls.ts'
