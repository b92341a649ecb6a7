/** Sending: accept, queue, attempts, and the record of what was sent. */

export { domainFirst } from './email.ts'
export { createLaneWakeups, type LaneWakeups } from './lane-wakeups.ts'
export { type EmailSelection, readEmailFilters, readSpan } from './read-filters.ts'
export {
  type RecordedAttempt,
  type RecordedEmail,
  readAttemptsOf,
  readEmail,
  readEmails,
  type WholeEmail,
} from './record/email-store.ts'
export {
  mayHaveStatus,
  type PlacesOf,
  placesOfStatus,
  readCampaignEnds,
  readEmailPlaces,
  readPlaces,
} from './record/place-store.ts'
export {
  type Piece,
  type Place,
  type RecipientFilters,
  type RecordedRecipient,
  type RecordRange,
  readRecipients,
  type WalkedBy,
  walkRecipients,
  walkRecipientsOf,
} from './record/recipient-store.ts'
export {
  findShared,
  lockReported,
  type ReportedRecipient,
  type ReportedStatus,
  reportStatuses,
  settleReported,
} from './record/report-store.ts'
export { findByMessageId } from './record/sent-store.ts'
export { buildSentCopy } from './sent-copies/build-sent-copy.ts'
export {
  claimSentCopies,
  discoverSentCopies,
  endSentCopies,
  forgetSentCopies,
  postponeSentCopies,
  restSentCopies,
  type SentCopy,
  type SentCopyMailer,
} from './sent-copies/claim-store.ts'
export {
  findLink,
  findTrackedCopies,
  findUnsubscribable,
  type TrackedCopy,
} from './tracking/store.ts'
export type { TrackedRecipient, TrackingUrls } from './tracking/tracking-urls.ts'
