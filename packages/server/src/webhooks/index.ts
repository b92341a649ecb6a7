/** Webhooks: subscriptions, the event log, and the streams through which events leave. */
export type { NewEvent } from './event.ts'
export { type RecordedEvents, recordEvents, type TouchedStream } from './record-events.ts'
export { createWakeups, type Wakeups } from './wakeups.ts'
