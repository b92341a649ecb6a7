/**
 * SQL of subscriptions, and of what a change of one means to its stream. Every statement names the
 * tenant, save those that say why not.
 *
 * Who records events shares nothing with who changes a subscription: no tenant's change, and no
 * transaction that it waits for, delays the events of others that are recorded in one group. What
 * was read before a change is harmless after it. The generation that each pointer carries tells the
 * dispatcher what was queued before the webhook was switched off; and the share lock on the stream
 * keeps it in place for the pointers, also when its webhook has just been deleted. An event that is
 * judged by the older state happened before the change.
 */
import type { WebhookEvent } from '@postrider/contract'
import { givenRows, type Queryable, statement, type Tx } from '../../platform/db/index.ts'
import type { StreamKey } from '../dispatch/stream-store.ts'
import type { SubscriptionSelector } from '../events/select-subscription.ts'
import type { Subscription, SubscriptionEvent, SubscriptionName, Toggles } from './subscription.ts'

export interface SubscriptionRow {
  tenant_id: string
  webhook_id: string
  event: SubscriptionEvent
  owner: string
  url: string
  active: boolean
  generation: number
  options: Toggles | null
  headers_sealed: string
  header_names: string[]
  signing_sealed: string | null
  created_at: Date
  updated_at: Date
}

export function toSubscription(row: SubscriptionRow): Subscription {
  return {
    tenantId: row.tenant_id,
    webhookId: row.webhook_id,
    event: row.event,
    owner: row.owner,
    url: row.url,
    active: row.active,
    generation: row.generation,
    ...(row.options === null ? {} : { toggles: row.options }),
    headersSealed: row.headers_sealed,
    headerNames: row.header_names,
    ...(row.signing_sealed === null ? {} : { signingSealed: row.signing_sealed }),
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  }
}

export const SUBSCRIPTION_COLUMNS = `tenant_id, webhook_id, event, owner, url, active, generation, options,
  headers_sealed, header_names, signing_sealed, created_at, updated_at`

export type TenantSubscription = Subscription & {
  readonly event: WebhookEvent
  readonly isPaused: boolean
}

/** Newest first. Those that the tenant registered, not those of its mailboxes and inbound selectors. */
export async function listSubscriptions(
  q: Queryable,
  tenantId: string,
): Promise<TenantSubscription[]> {
  const { rows } = await q.query<
    SubscriptionRow & { readonly event: WebhookEvent; readonly is_paused: boolean }
  >(
    `select ${SUBSCRIPTION_COLUMNS},
            (select s.paused_at is not null from webhooks_stream s
              where s.tenant_id = $1 and s.webhook_id = sub.webhook_id) as is_paused
       from webhooks_subscription sub
      where tenant_id = $1 and event in ('EMAIL_EVENT', 'DOMAIN_VERIFICATION')
      order by created_at desc, webhook_id desc`,
    [tenantId],
  )
  return rows.map((row) => ({
    ...toSubscription(row),
    event: row.event,
    isPaused: row.is_paused,
  }))
}

export async function findSubscription(
  q: Queryable,
  { tenantId, event, owner }: SubscriptionName,
): Promise<Subscription | undefined> {
  const { rows } = await q.query<SubscriptionRow>(
    `select ${SUBSCRIPTION_COLUMNS} from webhooks_subscription
      where tenant_id = $1 and event = $2 and owner = $3`,
    [tenantId, event, owner],
  )
  return rows[0] === undefined ? undefined : toSubscription(rows[0])
}

export async function findSubscriptionById(
  q: Queryable,
  { tenantId, webhookId }: StreamKey,
): Promise<Subscription | undefined> {
  const { rows } = await q.query<SubscriptionRow>(
    `select ${SUBSCRIPTION_COLUMNS} from webhooks_subscription
      where tenant_id = $1 and webhook_id = $2`,
    [tenantId, webhookId],
  )
  return rows[0] === undefined ? undefined : toSubscription(rows[0])
}

/** For a change: of two at once, the second sees what the first has made of it. */
export async function lockSubscription(
  tx: Tx,
  { tenantId, event, owner }: SubscriptionName,
): Promise<Subscription | undefined> {
  const { rows } = await tx.query<SubscriptionRow>(
    `select ${SUBSCRIPTION_COLUMNS} from webhooks_subscription
      where tenant_id = $1 and event = $2 and owner = $3 for update`,
    [tenantId, event, owner],
  )
  return rows[0] === undefined ? undefined : toSubscription(rows[0])
}

export type NewSubscriptionRow = Omit<
  Subscription,
  'active' | 'generation' | 'createdAt' | 'updatedAt'
>

/** Fails with a violation of `webhooks_subscription_event_key` when there is one. */
export async function insertSubscription(q: Queryable, s: NewSubscriptionRow): Promise<void> {
  await q.query(
    `insert into webhooks_subscription
       (tenant_id, webhook_id, event, owner, url, method, options, headers_sealed, header_names,
        signing_sealed)
     values ($1, $2, $3, $4, $5, 'POST', $6, $7, $8, $9)`,
    [
      s.tenantId,
      s.webhookId,
      s.event,
      s.owner,
      s.url,
      toJson(s.toggles),
      s.headersSealed,
      s.headerNames,
      s.signingSealed ?? null,
    ],
  )
}

export async function updateSubscription(q: Queryable, s: Subscription): Promise<void> {
  await q.query(
    `update webhooks_subscription
        set url = $3, active = $4, generation = $5, options = $6, headers_sealed = $7,
            header_names = $8, signing_sealed = $9, updated_at = now()
      where tenant_id = $1 and webhook_id = $2`,
    [
      s.tenantId,
      s.webhookId,
      s.url,
      s.active,
      s.generation,
      toJson(s.toggles),
      s.headersSealed,
      s.headerNames,
      s.signingSealed ?? null,
    ],
  )
}

/** For a change of its secrets. Null: it is not signed; undefined: there is no such webhook. */
export async function lockSigning(
  tx: Tx,
  { tenantId, webhookId }: StreamKey,
): Promise<string | null | undefined> {
  const { rows } = await tx.query<{ signing_sealed: string | null }>(
    `select signing_sealed from webhooks_subscription
      where tenant_id = $1 and webhook_id = $2 for update`,
    [tenantId, webhookId],
  )
  return rows[0]?.signing_sealed
}

export async function saveSigning(
  q: Queryable,
  { tenantId, webhookId }: StreamKey,
  sealed: string,
): Promise<void> {
  await q.query(
    `update webhooks_subscription set signing_sealed = $3, updated_at = now()
      where tenant_id = $1 and webhook_id = $2`,
    [tenantId, webhookId, sealed],
  )
}

function toJson(toggles: Toggles | undefined): string | null {
  return toggles === undefined ? null : JSON.stringify(toggles)
}

export async function removeSubscription(
  q: Queryable,
  { tenantId, webhookId }: StreamKey,
): Promise<void> {
  await q.query('delete from webhooks_subscription where tenant_id = $1 and webhook_id = $2', [
    tenantId,
    webhookId,
  ])
}

/**
 * The stream is looked at anew, without a back-off: to try what may have been fixed, or to discard
 * what is no longer to be sent. What a request still on its way to the old receiver brings
 * changes its delivery only: it is of an older epoch. What a receiver taught about sizes is forgotten with
 * it; after failures the first new request stays a small one. The pause of a deleted webhook ends: what
 * it kept is to be discarded.
 */
export async function restartStream(
  q: Queryable,
  { tenantId, webhookId }: StreamKey,
  o: RestartOptions,
): Promise<void> {
  await restartStreams(q, { tenantId, webhookIds: [webhookId] }, o)
}

export interface RestartOptions {
  readonly isSameReceiver: boolean
  readonly isDeleted?: boolean
}

export async function restartStreams(
  q: Queryable,
  { tenantId, webhookIds }: { readonly tenantId: string; readonly webhookIds: readonly string[] },
  o: RestartOptions,
): Promise<void> {
  await q.query(
    `update webhooks_stream
        set state = 'active', not_before = '-infinity', fail_count = 0, first_failure_at = null,
            parked_in_row = 0, epoch = epoch + 1,
            paused_at = case when not $4::boolean then paused_at end,
            batch_bytes_max = case when $3::boolean then batch_bytes_max end,
            batch_shrunk_at = case when $3::boolean then batch_shrunk_at end
      where tenant_id = $1 and webhook_id = any($2::text[])`,
    [tenantId, webhookIds, o.isSameReceiver, o.isDeleted ?? false],
  )
}

/** Laterally, so that it stays an index scan per selector at any number of subscriptions. */
const DESTINATIONS = statement(
  'webhooks.destinations',
  `select selector.n::integer as n, sub.webhook_id, sub.generation
     from ${givenRows('text', 'text', 'text', 'text')}
            with ordinality as selector (tenant_id, event, owner, toggle, n)
    cross join lateral (
      select webhook_id, generation from webhooks_subscription
       where tenant_id = selector.tenant_id and event = selector.event and owner = selector.owner
         and active and (selector.toggle is null or (options ->> selector.toggle)::boolean)
       limit 1) sub
    cross join lateral (
      select 1 from webhooks_stream
       where tenant_id = selector.tenant_id and webhook_id = sub.webhook_id
         for key share) stream`,
)

/** A webhook that wants an event now. */
export interface Destination extends StreamKey {
  readonly generation: number
}

/**
 * Per selector, the active webhook that wants such events. Its stream stays until the transaction ends,
 * so that pointers can be inserted; those of webhooks that want nothing are not touched.
 */
export async function findDestinations(
  tx: Tx,
  selectors: readonly (SubscriptionSelector & { readonly tenantId: string })[],
): Promise<(Destination | undefined)[]> {
  const keyOf = ({ tenantId, event, owner, toggle }: (typeof selectors)[number]) =>
    [tenantId, event, owner, toggle ?? ''].join(' ')
  const distinct = [...new Map(selectors.map((selector) => [keyOf(selector), selector]))]
  const { rows } = await tx.query<{ n: number; webhook_id: string; generation: number }>(
    DESTINATIONS,
    [
      distinct.map(([, selector]) => selector.tenantId),
      distinct.map(([, selector]) => selector.event),
      distinct.map(([, selector]) => selector.owner),
      distinct.map(([, selector]) => selector.toggle ?? null),
    ],
  )
  const found = new Map(
    rows.flatMap(({ n, webhook_id: webhookId, generation }) => {
      const entry = distinct[n - 1]
      if (entry === undefined) return []
      return [[entry[0], { tenantId: entry[1].tenantId, webhookId, generation }]]
    }),
  )
  return selectors.map((selector) => found.get(keyOf(selector)))
}
