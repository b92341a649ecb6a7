/** All SQL of suppressions. Every statement names the tenant. */
import type { SuppressionReason, SuppressionSource } from '@postrider/contract'
import {
  arrayText,
  nullableArrayText,
  type Queryable,
  statement,
  textArray,
} from '../platform/db/index.ts'

export interface SuppressionKey {
  readonly tenantId: string
  readonly emailKey: string
}

export interface SuppressionRow extends SuppressionKey {
  /** As it was given. */
  readonly email: string
  readonly reason: SuppressionReason
  /** A ULID, made when the address was suppressed. */
  readonly id: string
  /** What gave the reason; null where it is not known. */
  readonly source: SuppressionSource | null
  readonly note: string | null
  /** Null: never. */
  readonly expiresAt: Date | null
}

/** From the weakest: who asked not to be written to stays suppressed when bounces are forgiven. */
const REASONS = ['bounced', 'manual', 'unsubscribed', 'complained'] as const
const STRENGTH = `array[${REASONS.map((reason) => `'${reason}'`).join()}]`
const HAS_ENDED = 's.expires_at <= now()'
const WINS = `(${HAS_ENDED} is true
              or array_position(${STRENGTH}, excluded.reason) > array_position(${STRENGTH}, s.reason)
              or $9::boolean and excluded.reason = s.reason)`

/** In the order of the keys, as others write the same addresses. */
const PUT = statement(
  'suppressions.put',
  `insert into suppressions_address as s
     (tenant_id, email_key, email, reason, id, source, note, expires_at)
   select $1, email_key, email, reason, id, source::jsonb, note, expires_at
     from unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[],
                 $8::timestamptz[]) as given (email_key, email, reason, id, source, note, expires_at)
    order by email_key
   on conflict (tenant_id, email_key) do update
     set email = case when ${HAS_ENDED} then excluded.email else s.email end,
         id = case when ${HAS_ENDED} then excluded.id else s.id end,
         reason = case when ${WINS} then excluded.reason else s.reason end,
         source = case when ${WINS} then excluded.source else s.source end,
         note = case when ${WINS} then excluded.note else s.note end,
         expires_at = case
           when ${HAS_ENDED} or $9 and excluded.reason = s.reason then excluded.expires_at
           when s.expires_at is null or excluded.expires_at is null then null
           else greatest(s.expires_at, excluded.expires_at) end
    where ${WINS} or s.expires_at < coalesce(excluded.expires_at, 'infinity')
   returning id`,
)

export type NewRow = Omit<SuppressionRow, 'tenantId'>

/** What the statement makes of two rows of one address, of which it takes one only. */
export function mergeRows(a: NewRow, b: NewRow): NewRow {
  const stronger = REASONS.indexOf(b.reason) > REASONS.indexOf(a.reason) ? b : a
  const expiresAt =
    a.expiresAt === null || b.expiresAt === null ? null : later(a.expiresAt, b.expiresAt)
  return {
    ...a,
    ...{ reason: stronger.reason, source: stronger.source, note: stronger.note },
    expiresAt,
  }
}

function later(a: Date, b: Date): Date {
  return a > b ? a : b
}

/**
 * The addresses differ. Of two reasons for one address the stronger stays, with its source and note, and of two ends the later;
 * the address keeps its id. With `isAmended` an equal reason counts as the stronger, with its end. Answers
 * the ids of those that were not suppressed before, and how many rows were written: what changes nothing is not.
 */
export async function putSuppressions(
  q: Queryable,
  tenantId: string,
  rows: readonly NewRow[],
  { isAmended = false } = {},
): Promise<{ readonly added: ReadonlySet<string>; readonly written: number }> {
  const { rows: written } = await q.query<{ id: string }>(PUT, [
    tenantId,
    textArray(rows.map((row) => row.emailKey)),
    textArray(rows.map((row) => row.email)),
    arrayText(rows.map((row) => row.reason)),
    arrayText(rows.map((row) => row.id)),
    textArray(rows.map(({ source }) => (source === null ? null : JSON.stringify(source)))),
    textArray(rows.map((row) => row.note)),
    nullableArrayText(rows.map(({ expiresAt }) => expiresAt?.toISOString() ?? null)),
    isAmended,
  ])
  const given = new Set(rows.map((row) => row.id))
  const added = new Set(written.flatMap(({ id }) => (given.has(id) ? id : [])))
  return { added, written: written.length }
}

// Laterally: one probe of the index for each address, whatever the statistics say of the table.
const FIND = statement(
  'suppressions.find',
  `select w.tenant_id as "tenantId", w.email_key as "emailKey"
     from unnest($1::text[], $2::text[]) as w (tenant_id, email_key)
    cross join lateral (
      select from suppressions_address s
       where s.tenant_id = w.tenant_id and s.email_key = w.email_key
         and (s.expires_at is null or s.expires_at > now()) limit 1) s`,
)

/** Those of the given that are suppressed. */
export async function findKeys(
  q: Queryable,
  keys: readonly SuppressionKey[],
): Promise<SuppressionKey[]> {
  const { rows } = await q.query<SuppressionKey>(FIND, [
    keys.map((key) => key.tenantId),
    keys.map((key) => key.emailKey),
  ])
  return rows
}

const DELETE = statement(
  'suppressions.delete',
  `delete from suppressions_address where tenant_id = $1 and email_key = $2
   returning expires_at is null or expires_at > now() as "wasSuppressed"`,
)

/** False when it was not suppressed. */
export async function deleteKey(
  q: Queryable,
  { tenantId, emailKey }: SuppressionKey,
): Promise<boolean> {
  const { rows } = await q.query<{ wasSuppressed: boolean }>(DELETE, [tenantId, emailKey])
  return rows[0]?.wasSuppressed === true
}

const COLUMNS = `tenant_id as "tenantId", email_key as "emailKey", email, reason, id, source, note,
  expires_at as "expiresAt", coalesce(expires_at <= now(), false) as "hasEnded"`

/** What has ended is there until the janitor comes. */
export interface ListedRow extends SuppressionRow {
  readonly hasEnded: boolean
}

const GET = statement(
  'suppressions.get',
  `select ${COLUMNS} from suppressions_address where tenant_id = $1 and email_key = $2`,
)

export async function getSuppression(
  q: Queryable,
  { tenantId, emailKey }: SuppressionKey,
): Promise<SuppressionRow | undefined> {
  const { rows } = await q.query<ListedRow>(GET, [tenantId, emailKey])
  return rows[0]?.hasEnded === false ? rows[0] : undefined
}

const LIST = statement(
  'suppressions.list',
  `select ${COLUMNS} from suppressions_address
    where tenant_id = $1 and id < $2 order by id desc limit $3`,
)

const LIST_BY_REASON = statement(
  'suppressions.list_by_reason',
  `select ${COLUMNS} from suppressions_address
    where tenant_id = $1 and reason = $4 and id < $2 order by id desc limit $3`,
)

/** Above every ULID. */
const ABOVE = '8'

/** Newest first, also what has ended: so a page reads a bounded number of rows. */
export async function listSuppressions(
  q: Queryable,
  o: {
    readonly tenantId: string
    readonly reason: SuppressionReason | undefined
    readonly before: string | undefined
    readonly limit: number
  },
): Promise<ListedRow[]> {
  const values = [o.tenantId, o.before ?? ABOVE, o.limit]
  const { rows } =
    o.reason === undefined
      ? await q.query<ListedRow>(LIST, values)
      : await q.query<ListedRow>(LIST_BY_REASON, [...values, o.reason])
  return rows
}

const LIFT = statement(
  'suppressions.lift',
  `delete from suppressions_address s
    using unnest($2::text[], $3::text[]) as w (email_key, id)
    where s.tenant_id = $1 and s.email_key = w.email_key and s.id = w.id and s.reason = 'bounced'`,
)

/** Those that are suppressed for a bounce still, and not anew. Answers how many. */
export async function liftBounced(
  q: Queryable,
  tenantId: string,
  rows: readonly Pick<SuppressionRow, 'emailKey' | 'id'>[],
): Promise<number> {
  if (rows.length === 0) return 0
  const values = [tenantId, rows.map(({ emailKey }) => emailKey), rows.map(({ id }) => id)]
  return (await q.query(LIFT, values)).rowCount
}

const DELETE_ENDED = statement(
  'suppressions.delete_ended',
  // By their places: a plan that joins by the key may read the whole table. Who extends one writes a new place.
  `delete from suppressions_address
    where ctid = any(array(
            select ctid from suppressions_address
             where expires_at is not null and expires_at <= now() order by expires_at limit $1))
      and expires_at <= now()`,
)

/** Over all tenants. Answers how many. */
export async function deleteEnded(q: Queryable, limit: number): Promise<number> {
  return (await q.query(DELETE_ENDED, [limit])).rowCount
}
