/**
 * SQL of subscriptions and of the event log. Every statement names the tenant, save those that say
 * why not. What the dispatcher does with streams is in `stream-store.ts`.
 */
import type { WebhookEvent } from '@postrider/contract'
import { insertRows, type Queryable, statement } from '../platform/db/index.ts'
import type { Subscription, Toggles } from './subscription.ts'

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
    createdAt: new Date(row.created_at),
    updatedAt: new Date(row.updated_at),
  }
}

const COLUMNS =
  'tenant_id, webhook_id, event, url, active, options, headers_sealed, header_names, created_at, updated_at'

const LIST = statement(
  'webhooks.list',
  `select ${COLUMNS} from webhooks_subscription where tenant_id = $1 order by created_at, webhook_id`,
)

export async function listSubscriptions(q: Queryable, tenantId: string): Promise<Subscription[]> {
  const { rows } = await q.query<SubscriptionRow>(LIST, [tenantId])
  return rows.map(toSubscription)
}

const FIND = statement(
  'webhooks.find',
  `select ${COLUMNS} from webhooks_subscription where tenant_id = $1 and event = $2`,
)

export async function findSubscription(
  q: Queryable,
  tenantId: string,
  event: WebhookEvent,
): Promise<Subscription | undefined> {
  const { rows } = await q.query<SubscriptionRow>(FIND, [tenantId, event])
  return rows[0] === undefined ? undefined : toSubscription(rows[0])
}

const FIND_LOCKED = statement('webhooks.find_locked', `${FIND.text} for update`)

export async function lockSubscription(
  q: Queryable,
  tenantId: string,
  event: WebhookEvent,
): Promise<Subscription | undefined> {
  const { rows } = await q.query<SubscriptionRow>(FIND_LOCKED, [tenantId, event])
  return rows[0] === undefined ? undefined : toSubscription(rows[0])
}

export type NewSubscription = Omit<Subscription, 'active' | 'createdAt' | 'updatedAt'>

/** Fails with a violation of `webhooks_subscription_event_key` when the event type has one. */
export async function insertSubscription(q: Queryable, s: NewSubscription): Promise<void> {
  await q.query(
    `insert into webhooks_subscription
       (tenant_id, webhook_id, event, url, method, options, headers_sealed, header_names)
     values ($1, $2, $3, $4, 'POST', $5, $6, $7)`,
    [
      s.tenantId,
      s.webhookId,
      s.event,
      s.url,
      s.toggles === undefined ? null : JSON.stringify(s.toggles),
      s.headersSealed,
      s.headerNames,
    ],
  )
}

export async function updateSubscription(q: Queryable, s: Subscription): Promise<void> {
  await q.query(
    `update webhooks_subscription
        set url = $3, active = $4, options = $5, headers_sealed = $6, header_names = $7,
            updated_at = now()
      where tenant_id = $1 and webhook_id = $2`,
    [
      s.tenantId,
      s.webhookId,
      s.url,
      s.active,
      s.toggles === undefined ? null : JSON.stringify(s.toggles),
      s.headersSealed,
      s.headerNames,
    ],
  )
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

export interface EventRow {
  readonly tenantId: string
  readonly eventId: string
  readonly day: string
  readonly refId: string
  readonly event: string
  readonly eventAt: string
  readonly attempt: number
  readonly body: string
  readonly traceparent: string
}

/** Answers the ids that were inserted: the others met an event with the same deduplication key. */
export async function insertEvents(q: Queryable, rows: readonly EventRow[]): Promise<Set<string>> {
  const result = await insertRows(q, {
    name: 'webhooks.insert_event',
    into: 'webhooks_event',
    columns: [
      'tenant_id',
      'event_id',
      'day',
      'ref_id',
      'event',
      'event_at',
      'attempt',
      'body',
      'traceparent',
    ],
    rows: rows.map((r) => [
      r.tenantId,
      r.eventId,
      r.day,
      r.refId,
      r.event,
      r.eventAt,
      r.attempt,
      r.body,
      r.traceparent,
    ]),
    suffix: 'on conflict do nothing returning event_id',
  })
  return new Set((result.rows as { event_id: string }[]).map((row) => row.event_id))
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

export async function activeEmailSubscriptions(
  q: Queryable,
  tenantIds: readonly string[],
): Promise<InterestedSubscription[]> {
  const { rows } = await q.query<{ tenant_id: string; webhook_id: string; options: Toggles }>(
    ACTIVE_EMAIL_SUBSCRIPTIONS,
    [tenantIds],
  )
  return rows.map((row) => ({
    tenantId: row.tenant_id,
    webhookId: row.webhook_id,
    toggles: row.options,
  }))
}
