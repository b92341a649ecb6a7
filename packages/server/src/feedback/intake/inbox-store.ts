/**
 * SQL of callbacks as they came. The worker serves all tenants, in turns: its statements say so, every
 * other one names the tenant.
 */
import type { RelayKind } from '@postrider/contract'
import { formatMicros } from '../../platform/clock.ts'
import { insertRows, type Queryable, statement, type Tx } from '../../platform/db/index.ts'
import { dropOld, findByTenant } from '../../platform/work/jobs.ts'

export interface StoredCallback {
  readonly tenantId: string
  /** A ULID. */
  readonly inboxId: string
  readonly kind: RelayKind
  readonly receivedAtMicros: bigint
  readonly body: Buffer
}

export async function insertCallbacks(tx: Tx, rows: readonly StoredCallback[]): Promise<void> {
  await insertRows(tx, {
    name: 'feedback.insert_callback',
    into: 'feedback_inbox',
    columns: ['tenant_id', 'inbox_id', 'kind', 'received_at', 'body', 'bytes'],
    rows: rows.map((row) => [
      row.tenantId,
      row.inboxId,
      row.kind,
      formatMicros(row.receivedAtMicros),
      row.body,
      row.body.length,
    ]),
  })
}

export interface WaitingCallback {
  readonly tenantId: string
  readonly inboxId: string
  readonly bytes: number
}

// Over all tenants, in turns.
const FIND_WAITING = findByTenant({
  ...{ name: 'feedback.find_waiting', table: 'feedback_inbox', orderBy: 'inbox_id' },
  isDue: 'refused_at is null and due_at <= now()',
  columns: ['inbox_id', 'bytes'],
})

/** Of tenants after that one, in their order: of each its oldest. */
export async function findWaiting(
  q: Queryable,
  o: { readonly after: string; readonly tenantsMax: number; readonly ofEachMax: number },
): Promise<WaitingCallback[]> {
  const values = [o.after, o.tenantsMax, o.ofEachMax]
  const { rows } = await q.query<WaitingCallback>(FIND_WAITING, values)
  return rows
}

export type CallbackKey = Pick<StoredCallback, 'tenantId' | 'inboxId'>

const TAKE = statement(
  'feedback.take_callbacks',
  `select i.* from unnest($2::text[]) as w (inbox_id)
    cross join lateral (
      select tenant_id as "tenantId", inbox_id as "inboxId", kind, body,
             (extract(epoch from received_at) * 1000000)::bigint as "receivedAtMicros"
        from feedback_inbox i
       where i.tenant_id = $1 and i.inbox_id = w.inbox_id and refused_at is null
       limit 1 for update skip locked) i`,
)

/** Locked to the end of the transaction; what others are at is passed over. */
export async function takeCallbacks(
  tx: Tx,
  tenantId: string,
  inboxIds: readonly string[],
): Promise<StoredCallback[]> {
  const { rows } = await tx.query<
    Omit<StoredCallback, 'receivedAtMicros'> & { readonly receivedAtMicros: string }
  >(TAKE, [tenantId, inboxIds])
  return rows.map((row) => ({ ...row, receivedAtMicros: BigInt(row.receivedAtMicros) }))
}

const HOLD = statement(
  'feedback.hold_callback',
  `select from feedback_inbox
    where tenant_id = $1 and inbox_id = $2 and refused_at is null for update skip locked`,
)

/** The same lock without the body; false where there is none to be had. */
export async function holdCallback(tx: Tx, { tenantId, inboxId }: CallbackKey): Promise<boolean> {
  return (await tx.query(HOLD, [tenantId, inboxId])).rowCount > 0
}

const DELETE = statement(
  'feedback.delete_callbacks',
  'delete from feedback_inbox where tenant_id = $1 and inbox_id = any($2)',
)

export async function deleteCallbacks(
  tx: Tx,
  tenantId: string,
  inboxIds: readonly string[],
): Promise<void> {
  if (inboxIds.length > 0) await tx.query(DELETE, [tenantId, inboxIds])
}

const REFUSE = statement(
  'feedback.refuse_callback',
  `update feedback_inbox set refused_at = now(), problem = $3
    where tenant_id = $1 and inbox_id = $2`,
)

/** It is kept aside. */
export async function refuseCallback(
  q: Queryable,
  { tenantId, inboxId }: CallbackKey,
  problem: string,
): Promise<void> {
  await q.query(REFUSE, [tenantId, inboxId, problem])
}

const POSTPONE = statement(
  'feedback.postpone_callback',
  `update feedback_inbox set due_at = now() + $3 * interval '1 ms'
    where tenant_id = $1 and inbox_id = $2`,
)

export async function postponeCallback(
  q: Queryable,
  { tenantId, inboxId }: CallbackKey,
  waitMs: number,
): Promise<void> {
  await q.query(POSTPONE, [tenantId, inboxId, waitMs])
}

const DROP_EXCESS = statement(
  'feedback.drop_refused_excess',
  `delete from feedback_inbox i
    using (select inbox_id from feedback_inbox
            where tenant_id = $1 and refused_at is not null
            order by inbox_id desc offset $2 limit 1000) few
    where i.tenant_id = $1 and i.inbox_id = few.inbox_id`,
)

/** Of what a tenant's callbacks were refused for, the newest stay. Answers how many went. */
export async function boundRefused(q: Queryable, tenantId: string, max: number): Promise<number> {
  return (await q.query(DROP_EXCESS, [tenantId, max])).rowCount
}

// Over all tenants: the janitor's.
export const dropOldRefused = dropOld({
  ...{ name: 'feedback.drop_old_refused', table: 'feedback_inbox', since: 'refused_at' },
  key: ['tenant_id', 'inbox_id'],
})

export interface InboxFigures {
  readonly rows: number
  readonly bytes: number
  readonly refused: number
  /** Of the oldest that waits; 0 where none does. */
  readonly ageS: number
}

// Over all tenants: what an operator watches.
const MEASURE = statement(
  'feedback.measure_inbox',
  `select count(*) filter (where refused_at is null)::int as rows,
          coalesce(sum(bytes) filter (where refused_at is null), 0)::float8 as bytes,
          count(*) filter (where refused_at is not null)::int as refused,
          coalesce(extract(epoch from now() - min(received_at) filter (where refused_at is null)), 0)::float8
            as "ageS"
     from feedback_inbox`,
)

export async function measureInbox(q: Queryable): Promise<InboxFigures> {
  const { rows } = await q.query<InboxFigures>(MEASURE)
  return rows[0] ?? { rows: 0, bytes: 0, refused: 0, ageS: 0 }
}

// Over all tenants: who has more waiting than is taken in.
const FIND_FULL = statement(
  'feedback.find_full',
  `select tenant_id as "tenantId" from feedback_inbox where refused_at is null
    group by tenant_id having sum(bytes) > $1`,
)

export async function findFull(q: Queryable, bytesMax: number): Promise<ReadonlySet<string>> {
  const { rows } = await q.query<{ tenantId: string }>(FIND_FULL, [bytesMax])
  return new Set(rows.map(({ tenantId }) => tenantId))
}
