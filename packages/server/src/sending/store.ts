/**
 * SQL of accepting emails. The queue and the attempts are in `queue-store.ts`. Every statement
 * names the tenant of each row that it touches.
 */
import { insertRows, type Queryable, statement } from '../platform/db/index.ts'

export interface EmailRow {
  readonly tenantId: string
  readonly refId: string
  readonly day: string
  readonly mailerId: string
  readonly fromEmail: string
  readonly subject: string
  readonly campaignId: string | null
  readonly customArgs: string | null
  readonly content: string
  readonly maxAttempts: number
  readonly expiresAt: Date
  readonly traceparent: string
  readonly createdAt: Date
  readonly bucket: number
}

export interface RecipientRow {
  readonly n: number
  readonly email: string
  readonly type: string
  readonly messageId: string
}

/** The email, its recipients and their places in the queue; due at once. */
export async function insertEmails(
  tx: Queryable,
  emails: readonly { readonly email: EmailRow; readonly recipients: readonly RecipientRow[] }[],
): Promise<void> {
  if (emails.length === 0) return
  const all = emails.flatMap(({ email, recipients }) => recipients.map((r) => ({ e: email, r })))
  await Promise.all([
    insertRows(tx, {
      name: 'sending.insert_email',
      into: 'sending_email',
      columns: [
        'tenant_id',
        'ref_id',
        'day',
        'mailer_id',
        'from_email',
        'subject',
        'campaign_id',
        'custom_args',
        'content',
        'max_attempts',
        'expires_at',
        'traceparent',
        'created_at',
      ],
      rows: emails.map(({ email: e }) => [
        e.tenantId,
        e.refId,
        e.day,
        e.mailerId,
        e.fromEmail,
        e.subject,
        e.campaignId,
        e.customArgs,
        e.content,
        e.maxAttempts,
        e.expiresAt,
        e.traceparent,
        e.createdAt,
      ]),
    }),
    insertRows(tx, {
      name: 'sending.insert_recipient',
      into: 'sending_recipient',
      columns: [
        'tenant_id',
        'ref_id',
        'n',
        'day',
        'email',
        'type',
        'status',
        'message_id',
        'created_at',
      ],
      rows: all.map(({ e, r }) => [
        e.tenantId,
        e.refId,
        r.n,
        e.day,
        r.email,
        r.type,
        'queued',
        r.messageId,
        e.createdAt,
      ]),
    }),
    insertRows(tx, {
      name: 'sending.insert_queue',
      into: 'sending_queue',
      columns: [
        'tenant_id',
        'ref_id',
        'n',
        'mailer_id',
        'bucket',
        'due_at',
        'max_attempts',
        'expires_at',
      ],
      rows: all.map(({ e, r }) => [
        e.tenantId,
        e.refId,
        r.n,
        e.mailerId,
        e.bucket,
        e.createdAt,
        e.maxAttempts,
        e.expiresAt,
      ]),
    }),
  ])
}

export interface NewKey {
  readonly tenantId: string
  readonly key: string
  readonly bodyHash: Buffer
  readonly refId: string
}

export type KeptKey = Pick<NewKey, 'bodyHash' | 'refId'>

const SELECT_KEYS = statement(
  'sending.select_keys',
  `select tenant_id, key, body_hash, ref_id from sending_idempotency
    where tenant_id = any($1) and key = any($2)`,
)

/**
 * Keeps keys for 24 hours (contract §2) and answers, by `<tenant> <key>`, whose each is now: the
 * caller's, or that of the request which came first.
 */
export async function keepKeys(
  tx: Queryable,
  keys: readonly NewKey[],
): Promise<ReadonlyMap<string, KeptKey>> {
  if (keys.length === 0) return new Map()
  const [, { rows }] = await Promise.all([
    insertRows(tx, {
      name: 'sending.insert_key',
      into: 'sending_idempotency',
      columns: ['tenant_id', 'key', 'body_hash', 'ref_id'],
      rows: keys.map((k) => [k.tenantId, k.key, k.bodyHash, k.refId]),
      suffix: `on conflict (tenant_id, key) do update
        set body_hash = excluded.body_hash, ref_id = excluded.ref_id, created_at = now()
        where sending_idempotency.created_at < now() - interval '24 hours'`,
    }),
    tx.query<{ tenant_id: string; key: string; body_hash: Buffer; ref_id: string }>(SELECT_KEYS, [
      keys.map((k) => k.tenantId),
      keys.map((k) => k.key),
    ]),
  ])
  return new Map(
    rows.map((row) => [
      `${row.tenant_id} ${row.key}`,
      { bodyHash: row.body_hash, refId: row.ref_id },
    ]),
  )
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
