/** Sending: accept, queue, attempts, and the record of what was sent. */

export type { AcceptSubmitted, Submitted, SubmittedOutcome } from './accept/accept-submitted.ts'
export { type RecipientState, selectRecipients } from './accept/schedule-store.ts'
export { createReturnPathTokens, type ReturnPathTokens } from './attempt/return-path-tokens.ts'
export { getContent } from './content/get-content.ts'
export { pageOfHtml, pageOfText, previewHeaders } from './content/preview/mail-page.ts'
export { layOver } from './own-data/own-data.ts'
export { readShownOwn, type ShownOwn } from './own-data/own-data-store.ts'
export { discoverQueues } from './queue/claim/claim-store.ts'
export { isDayQueued, wasQueuedLately } from './queue/queue-store.ts'
export { findBlamed, findBlamedOf, type WaitingReason } from './queue-watch/find-blamed.ts'
export { measureQueue, type QueueFigures } from './queue-watch/measure-queue.ts'
export { measureMailerQueue, measureTenantQueue } from './queue-watch/measure-tenant-queue.ts'
export { countQueues } from './queue-watch/observe-store.ts'
export { countQueued } from './queue-watch/tenant-store.ts'
export { type DatedRecipient, readBesideRecipients } from './record/beside-recipients-store.ts'
export { groupsOfRecipient, withReason } from './record/counter-groups.ts'
export { domainFirst } from './record/email.ts'
export {
  findTenantOf,
  type RecordedAttempt,
  type RecordedEmail,
  type RecordedWait,
  readAttemptsOf,
  readEmail,
  readEmails,
  readWaitsOf,
  type WholeEmail,
} from './record/email-store.ts'
export { type EmailSelection, havingReason, readEmailFilters } from './record/read-filters.ts'
export {
  indexOfStatus,
  mayHaveStatus,
  type RecipientIndex,
  readCampaignEnds,
  readEmailIndex,
  readRecipientIndex,
} from './record/recipient-index-store.ts'
export {
  type Piece,
  type RecipientFilters,
  type RecipientKey,
  type RecordedRecipient,
  type RecordRange,
  readRecipients,
  type WalkedBy,
  walkRecipients,
  walkRecipientsOf,
} from './record/recipient-store.ts'
export {
  lockReported,
  type ReportedRecipient,
  type ReportedStatus,
  reportStatuses,
  settleReported,
} from './record/report-store.ts'
export { searchEmails, searchRecipients } from './record/search-store.ts'
export { findByMessageId, findSentTo } from './record/sent-store.ts'
export { buildSentCopy } from './sent-copies/build-sent-copy.ts'
export {
  claimSentCopies,
  discoverSentCopies,
  endSentCopies,
  forgetSentCopies,
  pauseSentCopies,
  putOffSentCopies,
  type SentCopy,
  type SentCopyMailer,
} from './sent-copies/copy-jobs-store.ts'
export {
  type EmailTracks,
  findLink,
  findLinks,
  findTrackedCopies,
  findTracks,
  findUnsubscribable,
  type TrackedCopy,
} from './tracking/store.ts'
export type { TrackedRecipient, TrackingUrls } from './tracking/tracking-urls.ts'
