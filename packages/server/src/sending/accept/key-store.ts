/**
 * SQL of idempotency keys. A key is written in the transaction that accepts its email, so a key is
 * kept exactly when its email is.
 */
import { insertRows, type Queryable, statement } from '../../platform/db/index.ts'

export interface NewKey {
  readonly tenantId: string
  readonly key: string
  readonly bodyHash: Buffer
  readonly refId: string
}

export interface KeptKey extends Pick<NewKey, 'bodyHash' | 'refId'> {
  /** The recipients whom the first answer named as suppressed. */
  readonly suppressed: readonly number[]
}

interface KeyRow {
  tenant_id: string
  key: string
  body_hash: Buffer
  ref_id: string
  suppressed: number[] | null
}

const COLUMNS = ['tenant_id', 'key', 'body_hash', 'ref_id']

const SELECT_KEYS = statement(
  'sending.select_keys',
  `select i.tenant_id, i.key, i.body_hash, i.ref_id, i.suppressed
     from unnest($1::text[], $2::text[]) as k (tenant_id, key)
     join sending_idempotency i on i.tenant_id = k.tenant_id and i.key = k.key`,
)

/**
 * Keeps keys for 24 hours (docs/reference/idempotency.md#the-same-request-again) and answers, by `keyId`,
 * whose each is now: the caller's, or that of the request which came first. Waits for other processes that
 * are about to keep one of these keys.
 */
export async function keepKeys(
  tx: Queryable,
  keys: readonly NewKey[],
): Promise<ReadonlyMap<string, KeptKey>> {
  if (keys.length === 0) return new Map()
  // In one order everywhere: two groups that share keys wait for each other in one direction only.
  const sorted = keys.toSorted((a, b) => (keyId(a) < keyId(b) ? -1 : 1))
  const { rows } = await insertRows<KeyRow>(tx, {
    name: 'sending.insert_key',
    into: 'sending_idempotency',
    columns: COLUMNS,
    rows: sorted.map((k) => [k.tenantId, k.key, k.bodyHash, k.refId]),
    suffix: `on conflict (tenant_id, key) do update
      set body_hash = excluded.body_hash, ref_id = excluded.ref_id, created_at = now(),
          suppressed = null
      where sending_idempotency.created_at < now() - interval '24 hours'
      returning ${COLUMNS.join(', ')}, suppressed`,
  })
  const kept = new Map(rows.map(toEntry))
  const others = keys.filter((key) => !kept.has(keyId(key)))
  if (others.length === 0) return kept
  const found = await tx.query<KeyRow>(SELECT_KEYS, [
    others.map((k) => k.tenantId),
    others.map((k) => k.key),
  ])
  return new Map([...kept, ...found.rows.map(toEntry)])
}

/** A tenant's id holds no space. */
export function keyId({ tenantId, key }: { readonly tenantId: string; readonly key: string }) {
  return `${tenantId} ${key}`
}

function toEntry(row: KeyRow): [string, KeptKey] {
  const id = keyId({ tenantId: row.tenant_id, key: row.key })
  return [id, { bodyHash: row.body_hash, refId: row.ref_id, suppressed: row.suppressed ?? [] }]
}

const DELETE_KEYS = statement(
  'sending.delete_keys',
  `delete from sending_idempotency
    where tenant_id = any($1) and key = any($2) and ref_id = any($3)`,
)

/** Takes back keys that these very requests kept. */
export async function dropKeys(tx: Queryable, keys: readonly NewKey[]): Promise<void> {
  if (keys.length === 0) return
  await tx.query(DELETE_KEYS, [
    keys.map((k) => k.tenantId),
    keys.map((k) => k.key),
    keys.map((k) => k.refId),
  ])
}

const NOTE_SUPPRESSED = statement(
  'sending.note_suppressed',
  'update sending_idempotency set suppressed = $4 where tenant_id = $1 and key = $2 and ref_id = $3',
)

/** Keeps what the first answer says of an email's recipients. */
export async function noteSuppressed(
  tx: Queryable,
  { tenantId, key, refId }: NewKey,
  suppressed: readonly number[],
): Promise<void> {
  await tx.query(NOTE_SUPPRESSED, [tenantId, key, refId, suppressed])
}

/** Over all tenants: keys older than 24 hours say nothing any more. Bounded per call. */
export async function deleteOldKeys(q: Queryable, limit: number): Promise<number> {
  const { rowCount } = await q.query(
    `delete from sending_idempotency where ctid in (
       select ctid from sending_idempotency
        where created_at < now() - interval '24 hours' limit $1)`,
    [limit],
  )
  return rowCount
}
