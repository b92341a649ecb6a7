/**
 * SQL of what was reported of recipients, what is true of them beside their status, and the providers'
 * ids by which they are known. Every statement names the tenant.
 */
import { formatMicros } from '../platform/clock.ts'
import { insertRows, type Queryable, statement, type Tx } from '../platform/db/index.ts'
import { dayOfUlid } from '../platform/ids.ts'
import type { Place } from '../sending/index.ts'
import type { Report } from './report.ts'

export interface PlacedReport {
  readonly place: Place
  readonly report: Report
  readonly atMicros: bigint
}

export function placeKey({ refId, n }: Place): string {
  return `${refId} ${n}`
}

export function factKey({ place, report }: PlacedReport): string {
  return `${placeKey(place)} ${report.fact.factId}`
}

/** Answers the keys of those that were not there. Their recipients are locked: nobody else inserts them. */
export async function insertFacts(
  tx: Tx,
  tenantId: string,
  placed: readonly PlacedReport[],
): Promise<ReadonlySet<string>> {
  const { rows } = await insertRows<{ key: string }>(tx, {
    name: 'feedback.insert_fact',
    into: 'feedback_fact',
    columns: [
      'tenant_id',
      'ref_id',
      'n',
      'fact_id',
      'day',
      'relay',
      'kind',
      'type',
      'reported_at',
      'received_at',
      'reason',
      'is_hard',
      'error_code',
      'num_retries',
    ],
    rows: placed.map(({ place, report: { fact, relay, receivedAtMicros }, atMicros }) => [
      tenantId,
      place.refId,
      place.n,
      fact.factId,
      dayOfUlid(place.refId),
      relay ?? null,
      fact.kind,
      fact.type,
      formatMicros(atMicros),
      formatMicros(receivedAtMicros),
      fact.reason,
      fact.isHard ?? null,
      fact.errorCode ?? null,
      fact.numRetries ?? null,
    ]),
    suffix: `on conflict do nothing
      returning ref_id || ' ' || n || ' ' || fact_id as key`,
  })
  return new Set(rows.map(({ key }) => key))
}

const COUNT = statement(
  'feedback.count_facts',
  `select w.i::int as i, f.count
     from unnest($2::text[], $3::int[], $4::date[]) with ordinality as w (ref_id, n, day, i)
    cross join lateral (
      select count(*)::int as count from (
        select from feedback_fact f
         where f.tenant_id = $1 and f.ref_id = w.ref_id and f.n = w.n and f.day = w.day
         limit $5) few) f
    where f.count > 0`,
)

/** How many there are of each, up to `max`; in the order of the given. */
export async function countFacts(
  q: Queryable,
  tenantId: string,
  who: readonly Place[],
  max: number,
): Promise<readonly number[]> {
  if (who.length === 0) return []
  const { rows } = await q.query<{ i: number; count: number }>(COUNT, [
    tenantId,
    who.map(({ refId }) => refId),
    who.map(({ n }) => n),
    who.map(({ refId }) => dayOfUlid(refId)),
    max,
  ])
  const counts = new Map(rows.map(({ i, count }) => [i - 1, count]))
  return who.map((_, i) => counts.get(i) ?? 0)
}

const COMPLAINED = statement(
  'feedback.mark_complained',
  `insert into feedback_recipient as t (tenant_id, ref_id, n, day, complained_at)
   values ($1, $2, $3, $4, $5)
   on conflict (tenant_id, ref_id, n, day) do update
     set complained_at = least(t.complained_at, excluded.complained_at)`,
)

export async function markComplained(
  tx: Tx,
  tenantId: string,
  { place: { refId, n }, atMicros }: PlacedReport,
): Promise<void> {
  await tx.query(COMPLAINED, [tenantId, refId, n, dayOfUlid(refId), formatMicros(atMicros)])
}

const UNSUBSCRIBED = statement(
  'feedback.mark_unsubscribed',
  `insert into feedback_recipient as t (tenant_id, ref_id, n, day, unsubscribed_at)
   values ($1, $2, $3, $4, $5)
   on conflict (tenant_id, ref_id, n, day) do update set unsubscribed_at = excluded.unsubscribed_at
    where t.unsubscribed_at is null`,
)

/** False when it was before. */
export async function markUnsubscribed(
  tx: Tx,
  tenantId: string,
  { place: { refId, n }, atMicros }: PlacedReport,
): Promise<boolean> {
  const values = [tenantId, refId, n, dayOfUlid(refId), formatMicros(atMicros)]
  return (await tx.query(UNSUBSCRIBED, values)).rowCount > 0
}

/** By key. Answers those that were not known. */
export async function insertKeys(
  tx: Tx,
  tenantId: string,
  learnt: ReadonlyMap<string, Place>,
): Promise<string[]> {
  // In one order, as recipients of different transactions may have the same.
  const sorted = [...learnt].sort(([a], [b]) => (a < b ? -1 : 1))
  const { rows } = await insertRows<{ key: string }>(tx, {
    name: 'feedback.insert_key',
    into: 'feedback_key',
    columns: ['tenant_id', 'key', 'ref_id', 'n', 'day'],
    rows: sorted.map(([key, { refId, n }]) => [tenantId, key, refId, n, dayOfUlid(refId)]),
    suffix: 'on conflict do nothing returning key',
  })
  return rows.map(({ key }) => key)
}

const FIND_KEYS = statement(
  'feedback.find_keys',
  `select w.key, k.ref_id as "refId", k.n
     from unnest($2::text[]) as w (key)
    cross join lateral (
      select ref_id, n from feedback_key k
       where k.tenant_id = $1 and k.key = w.key order by k.day desc limit 1) k`,
)

/** In the order of the given. */
export async function findKeys(
  q: Queryable,
  tenantId: string,
  given: readonly (string | undefined)[],
): Promise<readonly (Place | undefined)[]> {
  const keys = new Set(given.flatMap((key) => key ?? []))
  if (keys.size === 0) return []
  const { rows } = await q.query<Place & { readonly key: string }>(FIND_KEYS, [tenantId, [...keys]])
  const found = new Map(rows.map(({ key, refId, n }) => [key, { refId, n }]))
  return given.map((key) => (key === undefined ? undefined : found.get(key)))
}
