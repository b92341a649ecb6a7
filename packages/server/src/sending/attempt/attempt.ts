/**
 * An attempt to hand one recipient's copy to the mailer's server, or a relay provider, from claim to
 * finish. What is said of the final dot holds of a provider's request as well.
 *
 * In the queue a row is
 * - `waiting`: not before `due_at`;
 * - `sending`: claimed until `due_at`. The final dot is not sent: when the claim runs out, the same
 *   attempt is run again and leaves no event (docs/reference/sending.md#interrupted-attempts);
 * - `dot`: claimed, and the final dot may be sent. When the claim runs out, the outcome is
 *   uncertain: a failed attempt whose mail may have been delivered.
 * Every claim raises the fence; a sender with an older fence has lost the row.
 */
import type { FailureCategory } from '@postrider/mail'
import type { MailerForSend } from '../../mailers/index.ts'
import type { CounterGroups } from '../../platform/counters/counter-store.ts'
import type { PreparedEmail } from './prepare-email.ts'

export interface Claim {
  readonly tenantId: string
  readonly refId: string
  readonly n: number
  readonly mailerId: string
  readonly attempt: number
  readonly maxAttempts: number
  readonly fence: string
  /** How often this attempt was cut off before the commit point by the end of its process. */
  readonly interrupted: number
  readonly isExpired: boolean
  /** About how much memory the email's content takes. */
  readonly contentBytes: number
  /** See `isBulk` of email.ts. */
  readonly isBulk: boolean
  /** When its mailer's limits permitted it, by the database's clock in ms; absent without limits. */
  readonly permittedMs?: number
  /** What it is counted under. Known once its email is loaded. */
  readonly groups?: CounterGroups
  /** Its recipient's address. Known once its email is loaded. */
  readonly email?: string
  /** Which rendering its recipient gets, where it has one. Known once its email is loaded. */
  readonly rendering?: number
  /** The phase in which an earlier claim ran out, else `waiting`. */
  readonly was: 'waiting' | 'sending' | 'dot'
}

/**
 * `held`: its tenant is suspended, or is being deleted. `unreadable`: its password does not open with the keys of
 * this process.
 */
export type ReadMailer = MailerForSend | 'held' | 'gone' | 'unreadable'

/** What is loaded with a claim. */
export interface LoadedClaim {
  readonly claim: Claim
  /** Made when it is first needed, and shared by the recipients of an email. */
  readonly prepare: () => Promise<PreparedEmail>
  readonly customArgs: Readonly<Record<string, unknown>> | null
  readonly traceparent: string
  /** As the caller wrote it. */
  readonly email: string
  /** In the header of its copy. */
  readonly messageId: string
  /** The recipient's row has it: not that of a sending domain, nor where nothing was made before. */
  readonly isMessageIdStored: boolean
  /** Whether its address must not be sent to, as known now or a moment ago. */
  readonly isSuppressed: () => Promise<boolean>
}

/** What an attempt needs: its mailer is read when it begins, not when it is claimed. */
export interface LoadedAttempt extends LoadedClaim {
  readonly mailer: ReadMailer
}

export interface AttemptFailed {
  readonly kind: 'failed'
  readonly category: FailureCategory
  readonly retryable: boolean
  readonly isUncertain: boolean
  readonly failedReason: string
  readonly providerError: string
  readonly retryAfterMsMin?: number
  /** Its server rejected the mailer's login for good, or, where `isBeyondDoubt`, said why it must. */
  readonly rejectedLogin?: { readonly configVersion: number; readonly isBeyondDoubt: boolean }
  /**
   * `message_id` is empty in the event: nothing was made for this recipient
   * (docs/reference/sending.md#failures-before-the-first-connection).
   */
  readonly isBeforeMessage: boolean
}

/**
 * Not sent, and not an attempt: its address was suppressed after it was accepted (no event), or
 * phishing protection stopped it (docs/reference/sending.md#phishing).
 */
export type Stopped =
  | { readonly kind: 'stopped'; readonly status: 'suppressed' }
  | { readonly kind: 'stopped'; readonly status: 'blocked'; readonly failedReason: string }

/** What came of an attempt, before what follows is decided. */
export type AttemptResult =
  | { readonly kind: 'accepted' }
  /** A relay provider has taken it, by its own id: what becomes of it is reported later. */
  | { readonly kind: 'sent'; readonly messageId: string }
  | AttemptFailed

/** Surely not sent, and nobody's failure: the row goes back as it was, without an event. */
export interface Undo {
  readonly kind: 'undone'
  readonly waitMs: number
}
