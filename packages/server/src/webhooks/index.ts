/** Webhooks: subscriptions, the event log, and the streams through which events leave. */

export { changeSubscription } from './change-subscription.ts'
export {
  checkReceiver,
  parseReceiverUrl,
  type ReceiverRules,
  type ReceiverUrl,
} from './check-receiver.ts'
export { createSubscription } from './create-subscription.ts'
export { checkHeaders } from './custom-headers.ts'
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
export { findIncoming } from './incoming-store.ts'
export { deleteIncoming, moveIncoming } from './incoming-subscriptions.ts'
export { type RecordedEvents, recordEvents, type TouchedStream } from './record-events.ts'
export type { WebhookDeps } from './register-webhook.ts'
export type { Subscription } from './subscription.ts'
