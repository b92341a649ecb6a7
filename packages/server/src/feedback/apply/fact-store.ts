/**
 * SQL of what was reported of recipients, and of what is true of them beside their status. Every
 * statement names the tenant.
 */
import { formatMicros } from '../../platform/clock.ts'
import {
  arrayText,
  nullableArrayText,
  type Queryable,
  statement,
  type Tx,
  textArray,
} from '../../platform/db/index.ts'
import { dayOfUlid } from '../../platform/ids.ts'
import type { RecipientKey } from '../../sending/index.ts'
import { messageKeyOf, type Report } from './report.ts'

export interface MatchedReport {
  readonly recipientKey: RecipientKey
  readonly report: Report
  readonly atMicros: bigint
}

export function recipientKeyText({ refId, n }: RecipientKey): string {
  return `${refId} ${n}`
}

export function factKey({ recipientKey, report }: MatchedReport): string {
  return `${recipientKeyText(recipientKey)} ${report.fact.factId}`
}

const INSERT = statement(
  'feedback.insert_facts',
  `insert into feedback_fact
     (tenant_id, ref_id, n, fact_id, day, relay, kind, type, message_key, reported_at, received_at,
      reason, is_hard, error_code, num_retries, status, classified)
   select $1, f.ref_id, f.n, f.fact_id, f.day, f.relay, f.kind, f.type, f.message_key, f.reported_at, f.received_at, f.reason, f.is_hard,
          f.error_code, f.num_retries, f.status, f.classified::jsonb
     from unnest($2::text[], $3::smallint[], $4::text[], $5::date[], $6::text[], $7::text[], $8::text[],
            $9::text[], $10::timestamptz[], $11::timestamptz[], $12::text[], $13::boolean[],
            $14::text[], $15::text[], $16::text[], $17::text[])
       as f (ref_id, n, fact_id, day, relay, kind, type, message_key, reported_at, received_at, reason,
             is_hard, error_code, num_retries, status, classified)
   on conflict (tenant_id, ref_id, n, fact_id, day) do nothing
   returning ref_id || ' ' || n || ' ' || fact_id as key`,
)

/** Answers the keys of those that were not there. Their recipients are locked: nobody else inserts them. */
export async function insertFacts(
  tx: Tx,
  tenantId: string,
  matched: readonly MatchedReport[],
): Promise<ReadonlySet<string>> {
  if (matched.length === 0) return new Set()
  const facts = matched.map(({ report }) => report.fact)
  const { rows } = await tx.query<{ key: string }>(INSERT, [
    tenantId,
    arrayText(matched.map(({ recipientKey }) => recipientKey.refId)),
    arrayText(matched.map(({ recipientKey }) => recipientKey.n)),
    textArray(facts.map(({ factId }) => factId)),
    arrayText(matched.map(({ recipientKey }) => dayOfUlid(recipientKey.refId))),
    textArray(matched.map(({ report }) => report.relay ?? null)),
    arrayText(facts.map(({ kind }) => kind)),
    textArray(facts.map(({ type }) => type)),
    textArray(matched.map(({ report }) => messageKeyOf(report) ?? null)),
    arrayText(matched.map(({ atMicros }) => formatMicros(atMicros))),
    arrayText(matched.map(({ report }) => formatMicros(report.receivedAtMicros))),
    textArray(facts.map(({ reason }) => reason)),
    nullableArrayText(facts.map(({ isHard }) => isHard ?? null)),
    textArray(facts.map(({ errorCode }) => errorCode ?? null)),
    textArray(facts.map(({ numRetries }) => numRetries ?? null)),
    textArray(facts.map(({ status }) => status ?? null)),
    textArray(
      facts.map(({ classified }) => (classified === undefined ? null : JSON.stringify(classified))),
    ),
  ])
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
  who: readonly RecipientKey[],
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
  { recipientKey: { refId, n }, atMicros }: MatchedReport,
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
  { recipientKey: { refId, n }, atMicros }: MatchedReport,
): Promise<boolean> {
  const values = [tenantId, refId, n, dayOfUlid(refId), formatMicros(atMicros)]
  return (await tx.query(UNSUBSCRIBED, values)).rowCount > 0
}

const FIND_MESSAGES = statement(
  'feedback.find_messages',
  `select w.key, f.ref_id as "refId", f.n
     from unnest($2::text[], $3::text[]) as w (key, hashed)
    cross join lateral (
      select ref_id, n from feedback_fact
       where hashtextextended(tenant_id || ' ' || message_key, 0) = hashtextextended(w.hashed, 0)
         and message_key is not null and tenant_id = $1 and message_key = w.key limit 1) f`,
)

/** Whose messages these are, as far as another report has told; in the order of the given. */
export async function findMessages(
  q: Queryable,
  tenantId: string,
  given: readonly (string | undefined)[],
): Promise<readonly (RecipientKey | undefined)[]> {
  const keys = [...new Set(given.flatMap((key) => key ?? []))]
  if (keys.length === 0) return []
  const { rows } = await q.query<RecipientKey & { readonly key: string }>(FIND_MESSAGES, [
    tenantId,
    keys,
    keys.map((key) => `${tenantId} ${key}`),
  ])
  const found = new Map(rows.map(({ key, refId, n }) => [key, { refId, n }]))
  return given.map((key) => (key === undefined ? undefined : found.get(key)))
}
