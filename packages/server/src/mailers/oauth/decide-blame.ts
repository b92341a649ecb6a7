/**
 * Whether refresh tokens that the provider calls revoked are the mailboxes' fault, or the app's
 * (interface §3 "Mailer"). A secret that was replaced, or an app that was taken back, looks like
 * every mailbox withdrawing at the same time; then none of them is deactivated.
 */

/** Of the mailboxes of one app, within `BLAME_WINDOW_MS`. */
export interface AppRecord {
  /** Whose refresh token was called revoked, this one included. */
  readonly refused: number
  readonly refreshed: number
}

export const BLAME_WINDOW_MS = 10 * 60_000
/** So many are believed in any case: people do leave. */
const REFUSED_MAX = 5

export function decideBlame({ refused, refreshed }: AppRecord): 'mailbox' | 'app' {
  return refused > REFUSED_MAX && refused > refreshed ? 'app' : 'mailbox'
}
