/**
 * SQL of unmatched reports: whom they are about is not known, or their attempt is not over. Every
 * statement names the tenant, or says why not.
 */
import type { RelayKind } from '@postrider/contract'
import { formatMicros } from '../../platform/clock.ts'
import { insertRows, statement, type Tx } from '../../platform/db/index.ts'
import { dropOld } from '../../platform/work/jobs.ts'
import { factFromJson, type Report, reportToJson } from './report.ts'

export type RelayReport = Report & { readonly relay: RelayKind }

export interface UnmatchedRow {
  readonly report: RelayReport
  readonly messageKey: string | undefined
  /** Null: nobody is to look at it. */
  readonly waitMs: number | null
}

/** One that is stored already stays as it is. Given in an order that all callers share. */
export async function insertUnmatched(tx: Tx, rows: readonly UnmatchedRow[]): Promise<void> {
  await insertRows(tx, {
    name: 'feedback.insert_unmatched',
    into: 'feedback_unmatched',
    columns: [
      'tenant_id',
      'relay',
      'fact_id',
      'kind',
      'message_key',
      'fact',
      'received_at',
      'due_at',
    ],
    expressions: { due_at: `now() + $::float8 * interval '1 ms'` },
    rows: rows.map(({ report, messageKey, waitMs }) => [
      report.tenantId,
      report.relay,
      report.fact.factId,
      report.fact.kind,
      messageKey ?? null,
      reportToJson(report),
      formatMicros(report.receivedAtMicros),
      waitMs,
    ]),
    suffix: 'on conflict do nothing',
  })
}

// First what nobody waits for any more, then what is reported of most mail anyway.
const DROP_EXCESS = statement(
  'feedback.drop_excess',
  `with counted as (select count(*)::int as count from feedback_unmatched where tenant_id = $1)
   delete from feedback_unmatched p
    using (select relay, fact_id from feedback_unmatched
            where tenant_id = $1 and (select count from counted) > $2
            order by due_at is not null, kind <> 'delivered', received_at
            limit (select greatest(count - $2, 0) from counted) for update skip locked) few
    where p.tenant_id = $1 and p.relay = few.relay and p.fact_id = few.fact_id`,
)

/** No more than so many of a tenant stay. Answers how many went. */
export async function boundUnmatched(tx: Tx, tenantId: string, max: number): Promise<number> {
  return (await tx.query(DROP_EXCESS, [tenantId, max])).rowCount
}

const WAKE = statement(
  'feedback.wake_unmatched',
  `update feedback_unmatched p set due_at = now()
     from (select p.relay, p.fact_id from unnest($2::text[]) as w (key)
            cross join lateral (
              select relay, fact_id from feedback_unmatched p
               where p.tenant_id = $1 and p.message_key = w.key and p.due_at > now()
                 for update skip locked) p) few
    where p.tenant_id = $1 and p.relay = few.relay and p.fact_id = few.fact_id`,
)

/** Unmatched reports under these keys are tried next. Answers how many. */
export async function wakeUnmatched(
  tx: Tx,
  tenantId: string,
  keys: readonly string[],
): Promise<number> {
  if (keys.length === 0) return 0
  return (await tx.query(WAKE, [tenantId, keys])).rowCount
}

export interface DueReport {
  readonly report: RelayReport
  readonly tries: number
  readonly ageMs: number
}

// Over all tenants: the worker's, of whatever is due.
const TAKE = statement(
  'feedback.take_unmatched',
  `select tenant_id as "tenantId", relay, fact, tries,
          (extract(epoch from received_at) * 1000000)::bigint as "receivedAtMicros",
          (extract(epoch from now() - received_at) * 1000)::float8 as "ageMs"
     from feedback_unmatched where due_at <= now()
    order by due_at limit $1 for update skip locked`,
)

/** Locked to the end of the transaction; what others are at is passed over. */
export async function takeUnmatched(tx: Tx, limit: number): Promise<DueReport[]> {
  const { rows } = await tx.query<{
    tenantId: string
    relay: RelayKind
    fact: string
    tries: number
    receivedAtMicros: string
    ageMs: number
  }>(TAKE, [limit])
  return rows.map(({ tenantId, relay, fact, tries, receivedAtMicros, ageMs }) => ({
    report: {
      tenantId,
      relay,
      receivedAtMicros: BigInt(receivedAtMicros),
      fact: factFromJson(fact),
    },
    tries,
    ageMs,
  }))
}

type UnmatchedKey = Pick<Report, 'tenantId' | 'relay' | 'fact'>

const keysOf = (reports: readonly UnmatchedKey[]) => [
  reports.map(({ tenantId }) => tenantId),
  reports.map(({ relay }) => relay),
  reports.map(({ fact }) => fact.factId),
]
const IS_GIVEN = 'p.tenant_id = w.tenant_id and p.relay = w.relay and p.fact_id = w.fact_id'

const DELETE = statement(
  'feedback.delete_unmatched',
  `delete from feedback_unmatched p
    using unnest($1::text[], $2::text[], $3::text[]) as w (tenant_id, relay, fact_id)
    where ${IS_GIVEN}`,
)

export async function deleteUnmatched(tx: Tx, reports: readonly UnmatchedKey[]): Promise<void> {
  if (reports.length > 0) await tx.query(DELETE, keysOf(reports))
}

const POSTPONE = statement(
  'feedback.postpone_unmatched',
  `update feedback_unmatched p
      set tries = p.tries + 1, due_at = now() + w.wait_ms * interval '1 ms'
     from unnest($1::text[], $2::text[], $3::text[], $4::float8[])
       as w (tenant_id, relay, fact_id, wait_ms)
    where ${IS_GIVEN}`,
)

/** Null: nobody looks any more. */
export async function postponeUnmatched(
  tx: Tx,
  reports: readonly { readonly report: UnmatchedKey; readonly waitMs: number | null }[],
): Promise<void> {
  if (reports.length === 0) return
  await tx.query(POSTPONE, [
    ...keysOf(reports.map(({ report }) => report)),
    reports.map(({ waitMs }) => waitMs),
  ])
}

// Over all tenants: the janitor's.
export const dropOldUnmatched = dropOld({
  ...{ name: 'feedback.drop_old_unmatched', table: 'feedback_unmatched', since: 'received_at' },
  key: ['tenant_id', 'relay', 'fact_id'],
})
