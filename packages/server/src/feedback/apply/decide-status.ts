/**
 * Decides where a recipient stands after a report (docs/reference/statuses.md#recipients): `sent`, then
 * `delivered`, then how it ended otherwise. Reports come in any order, and a recipient never goes back: the
 * highest of all that was heard is its status, so that every order of the same reports ends in the same one.
 *
 * What sending itself has ended stays ended, with one exception: an attempt whose request got no answer
 * and that was not to be repeated is `failed`, but in doubt. The provider knows what became of it.
 */
import type { RecipientStatus } from '@postrider/contract'
import type { RelayFactKind } from '../../relays/index.ts'

export interface Standing {
  readonly status: RecipientStatus
  /** It is `failed` for want of an answer alone. */
  readonly isInDoubt: boolean
}

const RANKS = {
  queued: 0,
  scheduled: 0,
  sending: 0,
  deferred: 0,
  held: 0,
  sent: 1,
  delivered: 2,
  failed: 3,
  rejected: 4,
  bounced: 5,
  // No provider has got these, as far as is known here.
  expired: 6,
  blocked: 6,
  suppressed: 6,
} as const satisfies Record<RecipientStatus, number>

/** The least that is true once it was reported; undefined: nothing follows. */
const STATUS_OF = {
  processed: 'sent',
  deferred: 'sent',
  delivered: 'delivered',
  bounced: 'bounced',
  complained: 'sent',
  unsubscribed: 'sent',
  policy_rejected: 'rejected',
  generation_failed: 'failed',
  generation_rejected: 'rejected',
  other: undefined,
} as const satisfies Record<RelayFactKind, RecipientStatus | undefined>

/** The same standing where nothing changes. */
export function decideStatus(standing: Standing, kind: RelayFactKind): Standing {
  const status = STATUS_OF[kind]
  if (status === undefined) return standing
  const { isInDoubt } = standing
  const rank = RANKS[isInDoubt ? 'sent' : standing.status]
  if (RANKS[status] > rank) return { status, isInDoubt: false }
  return standing
}
