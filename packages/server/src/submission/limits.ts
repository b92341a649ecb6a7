/** How much of the submission listener one program, one address and one tenant may take. */
import { type ListenerLimits, listenerLimits } from '../platform/smtp-server/limits.ts'

export interface SubmissionLimits extends ListenerLimits {
  /** Of a tenant, from whatever addresses. */
  readonly connectionsPerTenantMax: number
  readonly logInMsMax: number
  /** Longer than the database may leave a commit without an answer. */
  readonly commitMsMax: number
}

/** Its own, so that received mail and mail to be sent do not wait for each other. */
export const submissionLimits: SubmissionLimits = {
  ...listenerLimits,
  connectionsPerAddressMax: 250,
  connectionsPerTenantMax: 250,
  // A mail server keeps its connection for as long as it has mail.
  transactionsMax: 10_000,
  workMicrosPerSecond: 300_000,
  logInMsMax: 10_000,
  commitMsMax: 45_000,
}

/** As a request of sendEmail. */
export const messageBytesMax = 40 * 1024 * 1024
