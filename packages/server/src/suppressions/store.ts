/** All SQL of suppressions. Every statement names the tenant. */
import type { SuppressionReason, SuppressionSource } from '@postrider/contract'
import { type Queryable, statement } from '../platform/db/index.ts'

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
}

/** From the weakest: who asked not to be written to stays suppressed when bounces are forgiven. */
const STRENGTH = `array['bounced', 'manual', 'unsubscribed', 'complained']`

const UPSERT = statement(
  'suppressions.upsert',
  `insert into suppressions_address (tenant_id, email_key, email, reason, id, source)
   values ($1, $2, $3, $4, $5, $6)
   on conflict (tenant_id, email_key) do update
     set reason = excluded.reason, source = excluded.source
    where array_position(${STRENGTH}, excluded.reason)
        > array_position(${STRENGTH}, suppressions_address.reason)
   returning id`,
)

/** An address that is suppressed already keeps the stronger reason with its source, and its id. True for a new one. */
export async function upsertSuppression(tx: Queryable, row: SuppressionRow): Promise<boolean> {
  const source = row.source === null ? null : JSON.stringify(row.source)
  const values = [row.tenantId, row.emailKey, row.email, row.reason, row.id, source]
  const { rows } = await tx.query<{ id: string }>(UPSERT, values)
  return rows[0]?.id === row.id
}

// Laterally: one probe of the index for each address, whatever the statistics say of the table.
const FIND = statement(
  'suppressions.find',
  `select w.tenant_id as "tenantId", w.email_key as "emailKey"
     from unnest($1::text[], $2::text[]) as w (tenant_id, email_key)
    cross join lateral (
      select from suppressions_address s
       where s.tenant_id = w.tenant_id and s.email_key = w.email_key limit 1) s`,
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
  'delete from suppressions_address where tenant_id = $1 and email_key = $2',
)

/** False when it was not suppressed. */
export async function deleteKey(
  q: Queryable,
  { tenantId, emailKey }: SuppressionKey,
): Promise<boolean> {
  const { rowCount } = await q.query(DELETE, [tenantId, emailKey])
  return rowCount > 0
}

const COLUMNS = 'tenant_id as "tenantId", email_key as "emailKey", email, reason, id, source'

const GET = statement(
  'suppressions.get',
  `select ${COLUMNS} from suppressions_address where tenant_id = $1 and email_key = $2`,
)

export async function getSuppression(
  q: Queryable,
  { tenantId, emailKey }: SuppressionKey,
): Promise<SuppressionRow | undefined> {
  const { rows } = await q.query<SuppressionRow>(GET, [tenantId, emailKey])
  return rows[0]
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

/** Newest first. */
export async function listSuppressions(
  q: Queryable,
  o: {
    readonly tenantId: string
    readonly reason: SuppressionReason | undefined
    readonly before: string | undefined
    readonly limit: number
  },
): Promise<SuppressionRow[]> {
  const values = [o.tenantId, o.before ?? ABOVE, o.limit]
  const { rows } =
    o.reason === undefined
      ? await q.query<SuppressionRow>(LIST, values)
      : await q.query<SuppressionRow>(LIST_BY_REASON, [...values, o.reason])
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
