/** How a claim ends: decided, and ready to be written (finish-attempts.ts). */
import type { NewEvent } from '../../webhooks/index.ts'
import type { AttemptFailed, AttemptResult, Claim, Undo } from '../attempt/attempt.ts'
import type { NextStep } from './decide-next-step.ts'

/** A decided attempt. */
export interface Finish {
  readonly kind: 'finished'
  readonly claim: Claim
  readonly result: AttemptResult
  /** Undefined when the mail was accepted. */
  readonly next?: NextStep
  /** None where a relay provider has taken it. */
  readonly event?: NewEvent
  readonly traceparent: string
  /** To be stored of the recipient: its copy's from now on. */
  readonly messageId?: string
  /** Of an accepted copy that belongs in the mailer's Sent folder: its Message-ID. */
  readonly sentCopyId?: string
  /** What is to be decided on when it is written (settle-rejections.ts). */
  readonly rejection?: Rejection
}

export type FailedFinish = Finish & { readonly result: AttemptFailed; readonly event: NewEvent }

/** The mailer's login was rejected. */
export interface Rejection {
  readonly configVersion: number
  readonly isBeyondDoubt: boolean
  /** The ending instead, where the server is not believed for now. */
  readonly ifDoubted: FailedFinish
}

/** Ends without an attempt, and without an event where there is none to report. */
export interface Stop {
  readonly kind: 'stopped'
  readonly claim: Claim
  readonly status: 'suppressed' | 'blocked'
  readonly failedReason: string
  readonly event?: NewEvent
}

export type Ending =
  | Finish
  | Stop
  | { readonly kind: 'undone'; readonly claim: Claim; readonly undo: Undo }
