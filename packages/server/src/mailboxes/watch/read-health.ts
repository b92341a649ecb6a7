/**
 * Whether mailboxes can be read, for the answers about their mailers (docs/reference/inbound.md#mailboxes). A
 * row has the findings of its last watcher; their age tells that nobody watches it now.
 */
import type { MailboxHealth } from '../../mailers/index.ts'
import { type Queryable, statement } from '../../platform/db/index.ts'

/** Twice the time between two rounds of all folders, and some for the round. */
const OF_LATE_MS = 10 * 60_000

const READ = statement(
  'mailboxes.read_mailbox_health',
  `select mailer_id as "mailerId", read_at as "readAt", failing_since as "failingSince",
          coalesce(read_at > now() - $3 * interval '1 ms', false) as "isReadOfLate",
          failed_at as "failedAt", failed_reason as "failedReason", provider_error as "providerError"
     from mailboxes_mailbox where tenant_id = $1 and mailer_id = any($2)`,
)

interface Row extends Omit<MailboxHealth, 'lastFailure'> {
  readonly mailerId: string
  readonly failedAt: Date | null
  readonly failedReason: string | null
  readonly providerError: string | null
}

export async function readMailboxHealth(
  q: Queryable,
  tenantId: string,
  mailerIds: readonly string[],
): Promise<ReadonlyMap<string, MailboxHealth>> {
  const { rows } = await q.query<Row>(READ, [tenantId, mailerIds, OF_LATE_MS])
  return new Map(rows.map((row) => [row.mailerId, toHealth(row)]))
}

function toHealth({ failedAt, failedReason, providerError, ...row }: Row): MailboxHealth {
  const { readAt, failingSince, isReadOfLate } = row
  const lastFailure =
    failedAt === null
      ? null
      : { at: failedAt, failedReason: failedReason ?? '', providerError: providerError ?? '' }
  return { readAt, failingSince, isReadOfLate, lastFailure }
}
