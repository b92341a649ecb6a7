/** Webhooks: subscriptions, the event log, and the streams through which events leave. */

export { listDeliveries } from './deliveries/list-deliveries.ts'
export {
  type ListedStream,
  listStreams,
  pauseStream,
  pendingMax,
  replayStream,
  resumeStream,
} from './dispatch/operate-streams.ts'
export { createWakeups, type Wakeups } from './dispatch/wakeups.ts'
export type { NewEvent } from './event.ts'
export { type EventOfEmail, readEventsOfEmail } from './event-store.ts'
export { type RecordedEvents, recordEvents, type TouchedStream } from './record-events.ts'
