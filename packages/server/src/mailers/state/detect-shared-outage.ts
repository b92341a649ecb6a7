/**
 * Whether what was refused is each mailer's own fault, or that of something they share
 * (docs/reference/mailers.md#deactivation): the OAuth app through which they get their tokens, the server at
 * which they log in. A secret that was replaced, or a server that cannot reach its directory, looks like
 * every mailbox withdrawing at the same time; then none of them is deactivated.
 */

/** Of the mailers that share it, within `BLAME_WINDOW_MS`. */
export interface SharedRecord {
  /** Whose login was refused, this one included. */
  readonly refused: number
  readonly worked: number
}

export const BLAME_WINDOW_MS = 10 * 60_000
/** So many are believed in any case: people do leave. */
const REFUSED_MAX = 5

export function detectSharedOutage({ refused, worked }: SharedRecord): 'own' | 'shared' {
  return refused > REFUSED_MAX && refused > worked ? 'shared' : 'own'
}
