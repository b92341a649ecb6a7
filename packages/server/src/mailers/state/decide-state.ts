/**
 * The states of a mailer, and what leads from one to another (docs/reference/statuses.md#mailers).
 *
 * - `active`: sends and fetches. Left by a rejected login and by hand.
 * - `deactivated`: a login was rejected for good, or a grant revoked. Left when credentials have
 *   logged in or a new grant was given, and by hand.
 * - `disabled`: entered and left by hand alone. Working credentials leave it as it is.
 */
import type { DeactivationReason, MailerState } from '@postrider/contract'

export type StateCause =
  /** Found by a send or by a refresh, under this version of the configuration. */
  | {
      readonly kind: 'rejected'
      readonly reason: DeactivationReason
      /** What was said, as received; empty when nothing was. */
      readonly evidence: string
      readonly configVersion: number
      /** Of the send that found it; a new trace when left out. */
      readonly traceparent?: string
    }
  /** Its credentials have just logged in, or a grant was given for it. */
  | { readonly kind: 'authenticated' }
  /** By hand. */
  | { readonly kind: 'switched'; readonly to: 'active' | 'disabled' }

/** Undefined when it stays as it is. */
export function decideState(
  mailer: { readonly state: MailerState; readonly configVersion: number },
  cause: StateCause,
): MailerState | undefined {
  const next = stateAfter(mailer, cause)
  return next === mailer.state ? undefined : next
}

function stateAfter(
  { state, configVersion }: { readonly state: MailerState; readonly configVersion: number },
  cause: StateCause,
): MailerState {
  switch (cause.kind) {
    case 'rejected':
      // What was rejected may not be what it logs in with by now.
      return state === 'active' && cause.configVersion === configVersion ? 'deactivated' : state
    case 'authenticated':
      return state === 'deactivated' ? 'active' : state
    case 'switched':
      return cause.to
  }
}
