/**
 * SQL that reads what other capabilities keep of recipients, each in a table of its own with one row for a
 * recipient. Every statement names the tenant.
 */
import { type Queryable, statement } from '../../platform/db/index.ts'
import type { RecipientKey, RecordRange } from './recipient-store.ts'

/** With the day of the email. */
export type DatedRecipient = RecipientKey & { readonly day: string }

export interface BesideRecipients<Row> {
  /** Of those who have a row. */
  read(q: Queryable, tenantId: string, keys: readonly DatedRecipient[]): Promise<Row[]>
  /** All that have a row, in the order of the record, newest first. */
  walk(q: Queryable, o: RecordRange): Promise<(Row & DatedRecipient)[]>
}

/** `columns`: of what is kept, beside the key. */
export function readBesideRecipients<Row extends object>(o: {
  readonly table: string
  readonly columns: string
  readonly names: { readonly read: string; readonly walk: string }
}): BesideRecipients<Row & RecipientKey> {
  const columns = `ref_id as "refId", n, ${o.columns}`
  const READ = statement(
    o.names.read,
    `select t.* from unnest($2::text[], $3::smallint[], $4::date[]) as k (ref_id, n, day)
      cross join lateral (
        select ${columns} from ${o.table}
         where tenant_id = $1 and ref_id = k.ref_id and n = k.n and day = k.day
           and day between $5 and $6 limit 1) t`,
  )
  const WALK = statement(
    o.names.walk,
    `select ${columns}, day from ${o.table}
      where tenant_id = $1 and day between $2 and $3 and ref_id >= $4
        and (ref_id, n) < ($5, $6::smallint)
      order by ref_id desc, n desc limit $7`,
  )
  return {
    async read(q, tenantId, keys) {
      const days = keys.map(({ day }) => day).sort()
      if (days.length === 0) return []
      const { rows } = await q.query<Row & RecipientKey>(READ, [
        tenantId,
        keys.map(({ refId }) => refId),
        keys.map(({ n }) => n),
        keys.map(({ day }) => day),
        days[0],
        days.at(-1),
      ])
      return rows
    },
    async walk(q, { tenantId, days, refIdMin, below, limit }) {
      const values = [tenantId, days.from, days.to, refIdMin, below.refId, below.n, limit]
      return (await q.query<Row & DatedRecipient>(WALK, values)).rows
    },
  }
}
