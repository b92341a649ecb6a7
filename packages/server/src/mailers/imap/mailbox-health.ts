/**
 * Whether a mailbox can be read, as its mailer's answers say (docs/reference/inbound.md#mailboxes). What is
 * known of it belongs to its watcher, and is handed in.
 */
import type { MailboxHealth as HealthOnWire } from '@postrider/contract'
import type { Queryable } from '../../platform/db/index.ts'
import type { Mailer } from '../mailer.ts'

export interface MailboxHealth {
  /** All of its folders have been looked at a short while ago. */
  readonly isReadOfLate: boolean
  readonly readAt: Date | null
  /** Null: it is in no episode of failure. */
  readonly failingSince: Date | null
  readonly lastFailure: {
    readonly at: Date
    readonly failedReason: string
    readonly providerError: string
  } | null
}

/** Of those of the mailers whose mailbox somebody has begun to watch. */
export type ReadMailboxHealth = (
  q: Queryable,
  tenantId: string,
  mailerIds: readonly string[],
) => Promise<ReadonlyMap<string, MailboxHealth>>

export function healthToWire(
  { state }: Pick<Mailer, 'state'>,
  health: MailboxHealth | undefined,
): HealthOnWire {
  const { readAt = null, failingSince = null, lastFailure = null } = health ?? {}
  return {
    state: state === 'active' ? stateOf(health) : 'stopped',
    failing_since: failingSince?.toISOString() ?? null,
    last_read_at: readAt?.toISOString() ?? null,
    last_error:
      lastFailure === null
        ? null
        : {
            at: lastFailure.at.toISOString(),
            failed_reason: lastFailure.failedReason,
            provider_error: lastFailure.providerError,
          },
  }
}

function stateOf(health: MailboxHealth | undefined): HealthOnWire['state'] {
  if (health === undefined) return 'waiting'
  if (health.failingSince !== null) return 'failing'
  return health.isReadOfLate ? 'watched' : 'waiting'
}
