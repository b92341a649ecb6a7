/** Webhooks: subscriptions, the event log, and the streams through which events leave. */

export { listDeliveries } from './deliveries/list-deliveries.ts'
export {
  countGivenUp,
  countOpen,
  countPending,
  countStreams,
  findLongestFailing,
  listBusyStreams,
  listFailing,
  listFailingOf,
  observeStreams,
  type StreamFigures,
} from './dispatch/operate/observe-store.ts'
export {
  type ListedStream,
  listStreams,
  ownerOfStream,
  pauseStream,
  pendingMax,
  replayStream,
  resumeStream,
} from './dispatch/operate/operate-streams.ts'
export { isDeliveryDayOpen, isEventDayAwaited } from './dispatch/operate/retention-store.ts'
export { createTargetCache } from './dispatch/request/target-cache.ts'
export { createWakeups, type Wakeups } from './dispatch/schedule/wakeups.ts'
export { type NewEvent, testMark } from './events/event.ts'
export { type EventOfEmail, readEventsOfEmail } from './events/event-store.ts'
export { type RecordedEvents, recordEvents, type TouchedStream } from './events/record-events.ts'
export { mayReadContent } from './log/shown-event.ts'
export {
  searchDeliveries,
  searchEvents,
  searchOpenDeliveries,
  searchWebhooks,
} from './search-store.ts'
export { sendTestEvent } from './status/send-test-event.ts'
export { getWebhookStatus } from './status/webhook-status.ts'
export {
  type ChangedSubscription,
  changeSubscription,
} from './subscriptions/change-subscription.ts'
export {
  checkReceiver,
  parseReceiverUrl,
  type ReceiverRules,
  type ReceiverUrl,
} from './subscriptions/check-receiver.ts'
export { createSubscription } from './subscriptions/create-subscription.ts'
export { checkHeaders, headersPlaceOf } from './subscriptions/custom-headers.ts'
export { findIncoming } from './subscriptions/incoming-store.ts'
export { deleteIncoming, moveIncoming } from './subscriptions/incoming-subscriptions.ts'
export { toWireSecret } from './subscriptions/list-webhooks.ts'
export type { WebhookDeps } from './subscriptions/register-webhook.ts'
export { rotateSigningSecret } from './subscriptions/rotate-secret.ts'
export { signingPlaceOf } from './subscriptions/signing.ts'
export type { Subscription } from './subscriptions/subscription.ts'
