/**
 * What a mail server tells by mail of one recipient of a message that it, or another, took over:
 * a delivery report (RFC 3464) or a complaint (RFC 5965). It is a claim of the author of the mail:
 * nothing may follow from it that is not tied to a message of ours.
 */
import type { Classified } from '../classified.ts'

export interface MailReport {
  /** `deferral`: it goes on trying. Reports of success are none. */
  readonly kind: 'bounce' | 'deferral' | 'complaint'
  /** The Message-ID of the message reported on, with its angle brackets. */
  readonly originalMessageId?: string
  /** As we have sent to it where that is told, else as it was tried last; absent where it is hidden. */
  readonly recipient?: string
  /** Of a bounce: another message to this recipient would fare no better. */
  readonly isHard: boolean
  /** Of a bounce: why, and what says so. */
  readonly classified?: Classified
  /** RFC 3463, such as `5.1.1`. */
  readonly status?: string
  /** The remote server's words, else those of the report; '' without. Bounded. */
  readonly diagnostic: string
  /** Microseconds since 1970, as the report says. */
  readonly reportedAtMicros?: bigint
  /** The host that reports. */
  readonly reportingHost?: string
  /** The host that has refused. */
  readonly remoteHost?: string
  /** ENVID of RFC 3461, or what a complaint repeats of it. */
  readonly envelopeId?: string
  /** Of a complaint, such as `abuse`; `not-spam` takes one back, and is reported as none. */
  readonly feedbackType?: string
}
