/**
 * SQL of subscriptions. Every statement names the tenant, save those that say why not.
 *
 * Subscriptions change under a lock of their tenant: whoever records events or freezes a request
 * shares it, whoever changes or deletes a subscription holds it alone. So an event is never queued
 * for a webhook that has just been switched off or deleted, and no request is frozen for it. An
 * advisory lock and not one on the row: its queue is fair, so that an update gets its turn while
 * senders record without a pause, and taking it writes nothing.
 */
import type { WebhookEvent } from '@postrider/contract'
import { type Queryable, statement, type Tx } from '../platform/db/index.ts'
import type { Subscription, Toggles } from './subscription.ts'

const SHARE = statement(
  'webhooks.share_tenants',
  `select pg_advisory_xact_lock_shared(hashtextextended('webhooks ' || tenant_id, 0))
     from unnest($1::text[]) as tenant_id`,
)

/** Sorted, so that two groups cannot wait for each other across two waiting updates. */
export async function shareTenants(tx: Tx, tenantIds: Iterable<string>): Promise<void> {
  await tx.query(SHARE, [[...new Set(tenantIds)].sort()])
}

export async function lockTenant(tx: Tx, tenantId: string): Promise<void> {
  await tx.query(`select pg_advisory_xact_lock(hashtextextended('webhooks ' || $1, 0))`, [tenantId])
}

interface SubscriptionRow {
  tenant_id: string
  webhook_id: string
  event: WebhookEvent
  url: string
  active: boolean
  options: Toggles | null
  headers_sealed: string
  header_names: string[]
  created_at: Date
  updated_at: Date
}

function toSubscription(row: SubscriptionRow): Subscription {
  return {
    tenantId: row.tenant_id,
    webhookId: row.webhook_id,
    event: row.event,
    url: row.url,
    active: row.active,
    ...(row.options === null ? {} : { toggles: row.options }),
    headersSealed: row.headers_sealed,
    headerNames: row.header_names,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  }
}

const COLUMNS =
  'tenant_id, webhook_id, event, url, active, options, headers_sealed, header_names, created_at, updated_at'

export async function listSubscriptions(q: Queryable, tenantId: string): Promise<Subscription[]> {
  const { rows } = await q.query<SubscriptionRow>(
    `select ${COLUMNS} from webhooks_subscription where tenant_id = $1
      order by created_at, webhook_id`,
    [tenantId],
  )
  return rows.map(toSubscription)
}

export async function findSubscription(
  q: Queryable,
  tenantId: string,
  event: WebhookEvent,
): Promise<Subscription | undefined> {
  const { rows } = await q.query<SubscriptionRow>(
    `select ${COLUMNS} from webhooks_subscription where tenant_id = $1 and event = $2`,
    [tenantId, event],
  )
  return rows[0] === undefined ? undefined : toSubscription(rows[0])
}

export type NewSubscription = Omit<Subscription, 'active' | 'createdAt' | 'updatedAt'>

/** Fails with a violation of `webhooks_subscription_event_key` when the event type has one. */
export async function insertSubscription(q: Queryable, s: NewSubscription): Promise<void> {
  await q.query(
    `insert into webhooks_subscription
       (tenant_id, webhook_id, event, url, method, options, headers_sealed, header_names)
     values ($1, $2, $3, $4, 'POST', $5, $6, $7)`,
    [s.tenantId, s.webhookId, s.event, s.url, toJson(s.toggles), s.headersSealed, s.headerNames],
  )
}

export async function updateSubscription(q: Queryable, s: Subscription): Promise<void> {
  await q.query(
    `update webhooks_subscription
        set url = $3, active = $4, options = $5, headers_sealed = $6, header_names = $7,
            updated_at = now()
      where tenant_id = $1 and webhook_id = $2`,
    [s.tenantId, s.webhookId, s.url, s.active, toJson(s.toggles), s.headersSealed, s.headerNames],
  )
}

function toJson(toggles: Toggles | undefined): string | null {
  return toggles === undefined ? null : JSON.stringify(toggles)
}

export async function deleteSubscription(
  q: Queryable,
  tenantId: string,
  webhookId: string,
): Promise<void> {
  await q.query('delete from webhooks_subscription where tenant_id = $1 and webhook_id = $2', [
    tenantId,
    webhookId,
  ])
}

const ACTIVE_EMAIL_SUBSCRIPTIONS = statement(
  'webhooks.active_email_subscriptions',
  `select tenant_id, webhook_id, options from webhooks_subscription
    where tenant_id = any($1) and event = 'EMAIL_EVENT' and active`,
)

export interface InterestedSubscription {
  readonly tenantId: string
  readonly webhookId: string
  readonly toggles: Toggles
}

/** Of each tenant the one webhook that takes email events, by tenant. Share the tenants first. */
export async function activeEmailSubscriptions(
  q: Queryable,
  tenantIds: readonly string[],
): Promise<Map<string, InterestedSubscription>> {
  const { rows } = await q.query<{ tenant_id: string; webhook_id: string; options: Toggles }>(
    ACTIVE_EMAIL_SUBSCRIPTIONS,
    [tenantIds],
  )
  return new Map(
    rows.map((row) => [
      row.tenant_id,
      { tenantId: row.tenant_id, webhookId: row.webhook_id, toggles: row.options },
    ]),
  )
}
