/**
 * An attempt to hand one recipient's copy to the mailer's server, from claim to finish.
 *
 * In the queue a row is
 * - `waiting`: not before `due_at`;
 * - `sending`: claimed until `due_at`. The final dot is not sent: when the claim runs out, the same
 *   attempt is run again and leaves no event (contract §5);
 * - `dot`: claimed, and the final dot may be sent. When the claim runs out, the outcome is
 *   uncertain: a failed attempt whose mail may have been delivered.
 * Every claim raises the fence; whoever holds an older one has lost the row.
 */
import type { FailureCategory } from '../mail/index.ts'

export interface Claim {
  readonly tenantId: string
  readonly refId: string
  readonly n: number
  readonly mailerId: string
  readonly attempt: number
  readonly maxAttempts: number
  readonly fence: string
  /** How often this attempt was cut off before the dot by the end of its process. */
  readonly interrupted: number
  readonly expiresAt: Date
  readonly isExpired: boolean
  /** The phase in which an earlier claim ran out, else `waiting`. */
  readonly was: 'waiting' | 'sending' | 'dot'
}

/** What came of an attempt, before what follows is decided. */
export type AttemptResult =
  | { readonly kind: 'accepted' }
  | {
      readonly kind: 'failed'
      readonly category: FailureCategory
      readonly retryable: boolean
      readonly isUncertain: boolean
      readonly failedReason: string
      readonly providerError: string
      readonly retryAfterMsMin?: number
      /** `message_id` is empty in the event: nothing was made for this recipient. */
      readonly isBeforeMessage: boolean
    }

/** Surely not sent, and nobody's failure: the row goes back as it was, without an event. */
export interface Undo {
  readonly kind: 'undone'
  readonly waitMs: number
}
