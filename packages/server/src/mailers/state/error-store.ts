/** SQL of the last errors of mailers. Every statement names the tenant, or says why not. */
import { insertRows, type Queryable, statement, type Tx } from '../../platform/db/index.ts'
import type { MailerKey } from './state-store.ts'

export interface MailerErrorRow extends MailerKey {
  /** Of each, the latest is kept. */
  readonly category: string
  readonly at: Date
  readonly failedReason: string
  /** As received. */
  readonly providerError: string
  /** Of the email that met it. */
  readonly refId: string
}

/** In the order of their keys, so that two who write the same do not wait for each other. */
export async function upsertErrors(tx: Tx, rows: readonly MailerErrorRow[]): Promise<void> {
  const latest = new Map<string, MailerErrorRow>()
  for (const row of rows) {
    const key = `${row.tenantId} ${row.mailerId} ${row.category}`
    const known = latest.get(key)
    if (known === undefined || known.at <= row.at) latest.set(key, row)
  }
  await insertRows(tx, {
    name: 'mailers.upsert_error',
    into: 'mailers_error',
    columns: [
      'tenant_id',
      'mailer_id',
      'category',
      'at',
      'failed_reason',
      'provider_error',
      'ref_id',
    ],
    rows: [...latest]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([, r]) => [
        r.tenantId,
        r.mailerId,
        r.category,
        r.at,
        r.failedReason,
        r.providerError,
        r.refId,
      ]),
    suffix: `on conflict (tenant_id, mailer_id, category) do update
      set at = excluded.at, failed_reason = excluded.failed_reason,
          provider_error = excluded.provider_error, ref_id = excluded.ref_id
      where mailers_error.at <= excluded.at`,
  })
}

const LIST = statement(
  'mailers.list_errors',
  `select e.mailer_id as "mailerId", e.at, e.failed_reason as "failedReason",
          e.provider_error as "providerError", e.ref_id as "refId"
     from unnest($2::text[]) as m (mailer_id)
    cross join lateral (
      select * from mailers_error
       where tenant_id = $1 and mailer_id = m.mailer_id order by at desc limit $3) e`,
)

export type ListedError = Omit<MailerErrorRow, 'tenantId' | 'category'>

/** Of each mailer the latest, newest first. */
export async function listErrors(
  q: Queryable,
  tenantId: string,
  mailerIds: readonly string[],
  ofEach: number,
): Promise<ListedError[]> {
  const { rows } = await q.query<ListedError>(LIST, [tenantId, mailerIds, ofEach])
  return rows
}

const DELETE_OLD = statement(
  'mailers.delete_old_errors',
  `delete from mailers_error where at < now() - $1 * interval '1 ms'`,
)

/** Of all tenants; there are a few for each mailer at most. */
export async function deleteOldErrors(q: Queryable, olderThanMs: number): Promise<number> {
  const { rowCount } = await q.query(DELETE_OLD, [olderThanMs])
  return rowCount
}
