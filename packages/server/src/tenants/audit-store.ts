/**
 * SQL of the audit log: what the operator and people changed, and what a tenant's keys changed of its keys.
 * Every statement names the tenant, but for the operator's list and the one that removes old entries.
 */
import type { AuditedChange } from '@postrider/contract'
import { type Queryable, statement, timeOfMicros } from '../platform/db/index.ts'
import { ulidAtTime } from '../platform/ids.ts'
import type { TimeSpan } from '../platform/values/date-time.ts'

/** In place of a tenant, for changes that are not about the data of one. */
export const noTenant = ''

export interface AuditKey {
  readonly tenantId: string
  readonly entryId: string
}

export interface AuditEntry extends AuditKey {
  readonly actor: string
  readonly operation: string
  readonly target: string | undefined
  readonly from: string
  readonly requestId: string
}

const INSERT = statement(
  'tenants.insert_audit_entry',
  `insert into tenants_audit_entry
     (tenant_id, entry_id, actor, operation, target, from_address, request_id)
   values ($1, $2, $3, $4, $5, $6, $7)`,
)

export async function insertAuditEntry(q: Queryable, e: AuditEntry): Promise<void> {
  await q.query(INSERT, [
    ...[e.tenantId, e.entryId, e.actor, e.operation, e.target ?? null, e.from, e.requestId],
  ])
}

const END = statement(
  'tenants.end_audit_entry',
  `update tenants_audit_entry set status = $3, target = coalesce($4, target), changes = $5
    where tenant_id = $1 and entry_id = $2`,
)

export async function endAuditEntry(
  q: Queryable,
  { tenantId, entryId }: AuditKey,
  o: {
    readonly status: number
    readonly target: string | undefined
    readonly changes: readonly AuditedChange[] | undefined
  },
): Promise<void> {
  const changes = o.changes === undefined ? null : JSON.stringify(o.changes)
  await q.query(END, [tenantId, entryId, o.status, o.target ?? null, changes])
}

export interface ListedAuditEntry extends AuditKey {
  readonly at: Date
  readonly actor: string
  readonly operation: string
  readonly target: string | null
  readonly from: string
  readonly requestId: string
  readonly status: number | null
  readonly changes: readonly AuditedChange[] | null
}

export interface AuditFilters {
  readonly operation: string | undefined
  readonly actor: string | undefined
  /** One of the ids in it, or all of it. */
  readonly target: string | undefined
  /** When it began. */
  readonly span: TimeSpan | undefined
}

export interface AuditPage {
  readonly entries: readonly ListedAuditEntry[]
  /** The last that was looked at, where there may be more behind it. */
  readonly reached: string | undefined
}

const COLUMNS = `tenant_id as "tenantId", entry_id as "entryId", at, actor, operation, target,
  from_address as "from", request_id as "requestId", status, changes`

/**
 * Newest first. It looks at `looksMax` entries at most, by the index of entry ids, whatever the filters let through.
 *
 * @param o.tenantId undefined: of all tenants, for the operator
 */
export async function listAuditEntries(
  q: Queryable,
  o: {
    readonly tenantId: string | undefined
    readonly filters: AuditFilters
    readonly before: string | undefined
    readonly limit: number
    readonly looksMax: number
  },
): Promise<AuditPage> {
  const values: unknown[] = []
  const $ = (value: unknown) => `$${values.push(value)}`
  const looked = [
    ...(o.tenantId === undefined ? [] : [`tenant_id = ${$(o.tenantId)}`]),
    ...(o.before === undefined ? [] : [`entry_id < ${$(o.before)}`]),
    ...idsWithin(o.filters.span).map(([sign, id]) => `entry_id ${sign} ${$(id)}`),
  ]
  const fits = fitsOf(o.filters, $)
  const { rows } = await q.query<Partial<ListedAuditEntry> & Reach>(
    `with looked as materialized (
       select * from tenants_audit_entry where ${['true', ...looked].join(' and ')}
        order by entry_id desc limit ${$(o.looksMax)})
     select found.*, reach.*
       from (select min(entry_id) as reached, count(*)::int as looks from looked) reach
       left join lateral (
         select ${COLUMNS} from looked where ${['true', ...fits].join(' and ')}
          order by entry_id desc limit ${$(o.limit)}) found on true
      order by found."entryId" desc`,
    values,
  )
  const entries = rows.flatMap(({ reached, looks, ...entry }) =>
    entry.entryId == null ? [] : [entry as ListedAuditEntry],
  )
  const [reach] = rows
  const isAll = reach === undefined || reach.looks < o.looksMax
  return { entries, reached: isAll ? undefined : (reach.reached ?? undefined) }
}

interface Reach {
  readonly reached: string | null
  readonly looks: number
}

/** The clock of the database says when an entry began, and the clock of a process made its id. */
const CLOCKS_DIFFER_MS = 86_400_000

/** A span of ids that holds all entries of that time. */
function idsWithin(span: TimeSpan | undefined): [string, string][] {
  if (span === undefined) return []
  const idAt = (micros: bigint, shiftMs: number) =>
    ulidAtTime(Math.max(0, Number(micros / 1000n) + shiftMs))
  return [
    ['>=', idAt(span.from, -CLOCKS_DIFFER_MS)],
    ['<', idAt(span.to, CLOCKS_DIFFER_MS)],
  ]
}

function fitsOf(o: AuditFilters, $: (value: unknown) => string): string[] {
  const fits: string[] = []
  if (o.operation !== undefined) fits.push(`operation = ${$(o.operation)}`)
  if (o.actor !== undefined) fits.push(`actor = ${$(o.actor)}`)
  if (o.target !== undefined) {
    const target = $(o.target)
    fits.push(`(target = ${target} or ${target} = any(string_to_array(target, '/')))`)
  }
  if (o.span !== undefined)
    fits.push(`at >= ${timeOfMicros($(String(o.span.from)))}
      and at < ${timeOfMicros($(String(o.span.to)))}`)
  return fits
}

const DELETE_OLD = statement(
  'tenants.delete_old_audit_entries',
  // By their places: a plan that joins by the key may read the whole table.
  `delete from tenants_audit_entry where ctid = any(array(
     select place
       from (select ctid as place, at from tenants_audit_entry order by entry_id limit $2) oldest
      where at < now() - $1::float8 * interval '1 ms'))`,
)

/**
 * Over all tenants: removes what is older than `ageMs` among the `limit` oldest entries. It reads no more
 * than these, by the index of entry ids.
 */
export async function deleteOldAuditEntries(
  q: Queryable,
  ageMs: number,
  limit: number,
): Promise<number> {
  return (await q.query(DELETE_OLD, [ageMs, limit])).rowCount
}
