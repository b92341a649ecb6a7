/** SQL of incoming webhooks, by their owners: those of many routes of one tenant at once. */
import { type Queryable, statement, type Tx } from '../../platform/db/index.ts'
import type { Subscription } from './subscription.ts'
import { SUBSCRIPTION_COLUMNS, type SubscriptionRow, toSubscription } from './subscription-store.ts'

export interface Owners {
  readonly tenantId: string
  readonly owners: readonly string[]
}

const FIND = statement(
  'webhooks.find_incoming',
  `select ${SUBSCRIPTION_COLUMNS} from webhooks_subscription
    where tenant_id = $1 and event = 'INCOMING' and owner = any($2::text[])`,
)

/** By owner. */
export async function findIncoming(
  q: Queryable,
  { tenantId, owners }: Owners,
): Promise<ReadonlyMap<string, Subscription>> {
  const { rows } = await q.query<SubscriptionRow>(FIND, [tenantId, owners])
  return new Map(rows.map((row) => [row.owner, toSubscription(row)]))
}

/** Ids of those that there were. */
export async function removeIncoming(tx: Tx, { tenantId, owners }: Owners): Promise<string[]> {
  const { rows } = await tx.query<{ webhook_id: string }>(
    `delete from webhooks_subscription
      where tenant_id = $1 and event = 'INCOMING' and owner = any($2::text[])
      returning webhook_id`,
    [tenantId, owners],
  )
  return rows.map((row) => row.webhook_id)
}

export async function updateIncomingUrls(
  tx: Tx,
  { tenantId, owners }: Owners,
  url: string,
): Promise<string[]> {
  const { rows } = await tx.query<{ webhook_id: string }>(
    `update webhooks_subscription set url = $3, updated_at = now()
      where tenant_id = $1 and event = 'INCOMING' and owner = any($2::text[])
      returning webhook_id`,
    [tenantId, owners, url],
  )
  return rows.map((row) => row.webhook_id)
}
