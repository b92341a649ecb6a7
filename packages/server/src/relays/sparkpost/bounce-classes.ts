/**
 * SparkPost's bounce classes (its "Bounce Classification Codes"): how final a bounce is, and which of
 * them are none.
 *
 * Of `hard` and `admin` it says that they are grounds for not writing to the address again. An admin
 * failure is one of SparkPost's own: the address is on a suppression list of the account, or the sender
 * took the mail back, which says nothing of the address.
 */
export type BounceCategory =
  | 'undetermined'
  | 'hard'
  | 'soft'
  | 'block'
  | 'admin'
  /** A vacation notice or a challenge: the mail has arrived. */
  | 'auto-reply'
  /** A reader asks for more mail, or for no more: likewise. */
  | 'subscribe'
  | 'unsubscribe'

const CATEGORIES: ReadonlyMap<string, BounceCategory> = new Map([
  ['1', 'undetermined'],
  ['10', 'hard'], // invalid recipient
  ['20', 'soft'],
  ['21', 'soft'], // DNS failure
  ['22', 'soft'], // mailbox full
  ['23', 'soft'], // too large
  ['24', 'soft'], // timeout
  ['25', 'admin'],
  ['30', 'hard'], // no recipient
  ['40', 'soft'], // generic
  ['50', 'block'], // mail block
  ['51', 'block'], // spam block
  ['52', 'block'], // spam content
  ['53', 'block'], // prohibited attachment
  ['54', 'block'], // relaying denied
  ['60', 'auto-reply'],
  ['70', 'soft'], // transient failure
  ['80', 'subscribe'],
  ['90', 'unsubscribe'],
  ['100', 'auto-reply'], // challenge-response
])

/** A class that is not known says no more than one that is not determined. */
export function bounceCategoryOf(bounceClass: string | undefined): BounceCategory {
  return CATEGORIES.get(bounceClass ?? '') ?? 'undetermined'
}
