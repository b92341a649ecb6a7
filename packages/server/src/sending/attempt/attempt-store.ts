/**
 * SQL of attempts: what one needs beyond its claim, and what is written when it ends. Every
 * statement names the tenant.
 */
import { insertRows, type Queryable, statement } from '../../platform/db/index.ts'
import { dayOfUlid } from '../../platform/ids.ts'
import type { EmailContent } from '../record/email.ts'
import { insertStopped, isStopped } from '../record/stopped-store.ts'
import {
  CONTENT_OF_EMAIL,
  readSmall,
  readStored,
  type StoredContent,
} from '../record/stored-content.ts'
import type { Claim } from './attempt.ts'

const LOAD_EMAILS = statement(
  'sending.load_emails',
  `select ref_id, from_email, campaign_id, custom_args, traceparent, created_at, has_own, message_id,
          coalesce(content_of, ref_id) as content_of
     from sending_email where tenant_id = $1 and ref_id = any($2) and day = any($3::date[])`,
)

// Each row once, however many of the emails are in it.
const LOAD_CONTENTS = statement(
  'sending.load_contents',
  `select c.ref_id, c.content, c.attachments
     from (select distinct coalesce(content_of, ref_id) as content_of from sending_email
            where tenant_id = $1 and ref_id = any($2) and day = any($3::date[])) e
    cross join lateral (
        select ref_id, content, attachments from sending_content
         where tenant_id = $1 and ref_id = e.content_of and rendering = 0 and day = any($3::date[])
         limit 1) c`,
)

const LOAD_RECIPIENTS = statement(
  'sending.load_recipients',
  `select ref_id, n, email, message_id from sending_recipient
    where tenant_id = $1 and ref_id = any($2) and n = any($3) and day = any($4::date[])`,
)

export interface EmailForSend {
  readonly ref_id: string
  readonly from_email: string
  readonly campaign_id: string | null
  /** Null when it was not asked for. */
  readonly content: EmailContent | null
  /** That it came with. */
  readonly message_id: string | null
  readonly custom_args: Readonly<Record<string, unknown>> | null
  /** A recipient has data of its own. */
  readonly has_own: true | null
  readonly traceparent: string
  readonly created_at: Date
}

export interface RecipientForSend {
  readonly ref_id: string
  readonly n: number
  readonly email: string
  readonly message_id: string
}

/** Of claims of one tenant; the contents of the emails named in `contentsOf` come along. */
export async function loadForSend(
  q: Queryable,
  tenantId: string,
  claims: readonly Pick<Claim, 'refId' | 'n'>[],
  contentsOf: readonly string[],
): Promise<{ emails: EmailForSend[]; recipients: RecipientForSend[] }> {
  if (claims.length === 0) return { emails: [], recipients: [] }
  const refIds = [...new Set(claims.map((c) => c.refId))]
  const days = [...new Set(refIds.map(dayOfUlid))]
  const ns = [...new Set(claims.map((c) => c.n))]
  const [emails, recipients, contents] = await Promise.all([
    q.query<Omit<EmailForSend, 'content'> & { content_of: string }>(LOAD_EMAILS, [
      tenantId,
      refIds,
      days,
    ]),
    q.query<RecipientForSend>(LOAD_RECIPIENTS, [tenantId, refIds, ns, days]),
    loadContents(q, tenantId, contentsOf),
  ])
  const wanted = new Set(contentsOf)
  const rows = emails.rows.map(({ content_of: contentOf, ...email }) => {
    const read = wanted.has(email.ref_id) ? contents.get(contentOf) : undefined
    return { ...email, content: read?.(email.ref_id) ?? null }
  })
  return { emails: rows, recipients: recipients.rows }
}

/** By the `ref_id` under which they stand. Contents that come along with claims are small. */
async function loadContents(
  q: Queryable,
  tenantId: string,
  refIds: readonly string[],
): Promise<ReadonlyMap<string, (refId: string) => EmailContent>> {
  if (refIds.length === 0) return new Map()
  const days = [...new Set(refIds.map(dayOfUlid))]
  const { rows } = await q.query<StoredContent & { readonly ref_id: string }>(LOAD_CONTENTS, [
    tenantId,
    refIds,
    days,
  ])
  return new Map(rows.map((row) => [row.ref_id, readSmall(row)]))
}

const LOAD_CONTENT = statement(
  'sending.load_content',
  `select c.content, c.attachments
     from sending_email e
    cross join ${CONTENT_OF_EMAIL}
    where e.tenant_id = $1 and e.ref_id = $2 and e.day = $3`,
)

export async function loadContent(
  q: Queryable,
  email: Pick<Claim, 'tenantId' | 'refId'>,
): Promise<EmailContent> {
  const { rows } = await q.query<StoredContent>(LOAD_CONTENT, [
    email.tenantId,
    email.refId,
    dayOfUlid(email.refId),
  ])
  if (rows[0] === undefined) throw new Error(`the email ${email.refId} is gone`)
  return await readStored(rows[0], email.refId)
}

export interface AttemptRow {
  readonly tenantId: string
  readonly refId: string
  readonly n: number
  readonly attempt: number
  readonly day: string
  readonly mailerId: string
  readonly maxAttempts: number
  readonly startedAt: Date
  readonly finishedAt: Date
  readonly outcome: 'accepted' | 'deferred' | 'failed' | 'uncertain'
  readonly category: string | null
  readonly failedReason: string
  readonly providerError: string
  readonly retryScheduled: boolean
  readonly nextAttemptAt: Date | null
}

/** It is told by the recipient's row: the first one, accepted on the day of its email. */
export function isToldByRecipient({ attempt, outcome, day, finishedAt }: AttemptRow): boolean {
  return attempt === 1 && outcome === 'accepted' && finishedAt.toISOString().startsWith(day)
}

/** Those that are not told by the recipient's row. */
export async function insertAttempts(tx: Queryable, rows: readonly AttemptRow[]): Promise<void> {
  await insertRows(tx, {
    name: 'sending.insert_attempt',
    into: 'sending_attempt',
    columns: [
      'tenant_id',
      'ref_id',
      'n',
      'attempt',
      'day',
      'mailer_id',
      'max_attempts',
      'started_at',
      'finished_at',
      'outcome',
      'category',
      'failed_reason',
      'provider_error',
      'retry_scheduled',
      'next_attempt_at',
    ],
    rows: rows.map((r) => [
      r.tenantId,
      r.refId,
      r.n,
      r.attempt,
      r.day,
      r.mailerId,
      r.maxAttempts,
      r.startedAt,
      r.finishedAt,
      r.outcome,
      r.category,
      r.failedReason,
      r.providerError,
      r.retryScheduled,
      r.nextAttemptAt,
    ]),
  })
}

/** Else a report came before the end of the attempt, and knows better (record/report-store.ts). */
const WAITS = `r.status in ('queued', 'scheduled', 'deferred')`

const SET_STATUS = statement(
  'sending.set_status',
  `update sending_recipient r
      set status = case when ${WAITS} then c.status else r.status end, attempts = c.attempt,
          failed_reason = case when ${WAITS} then c.failed_reason else r.failed_reason end,
          message_id = case when ${WAITS} or r.message_id = '' then coalesce(c.message_id, r.message_id)
                            else r.message_id end,
          delivered_at = case when c.status = 'delivered' then now() else r.delivered_at end,
          first_started_at = coalesce(c.first_started_at, r.first_started_at),
          first_accepted_at = case when c.first_started_at is null then r.first_accepted_at else now() end
     from unnest($1::text[], $2::text[], $3::smallint[], $4::date[], $5::text[], $6::smallint[],
                 $7::text[], $9::text[], $10::timestamptz[])
       as c (tenant_id, ref_id, n, day, status, attempt, failed_reason, message_id, first_started_at)
    where r.tenant_id = c.tenant_id and r.ref_id = c.ref_id and r.n = c.n and r.day = c.day
      -- Says before the join begins which partitions there are to open.
      and r.day = any($8::date[])`,
)

export interface StatusChange {
  readonly tenantId: string
  readonly refId: string
  readonly n: number
  readonly day: string
  readonly status: string
  readonly attempt: number
  readonly failedReason: string
  /** Left as it is when left out. */
  readonly messageId?: string
  /** Of a first attempt that is accepted now. */
  readonly firstStartedAt?: Date
}

/** In one order, so that reports of the same recipients do not wait for them in a circle. */
export async function setStatuses(tx: Queryable, changes: readonly StatusChange[]): Promise<void> {
  if (changes.length === 0) return
  const rows = [...changes].sort((a, b) => compare(a.refId, b.refId) || a.n - b.n)
  const stopped = insertStopped(
    tx,
    rows.filter(({ status }) => isStopped(status)),
  )
  const set = tx.query(SET_STATUS, [
    rows.map((r) => r.tenantId),
    rows.map((r) => r.refId),
    rows.map((r) => r.n),
    rows.map((r) => r.day),
    rows.map((r) => r.status),
    rows.map((r) => r.attempt),
    rows.map((r) => r.failedReason),
    [...new Set(rows.map((r) => r.day))],
    rows.map((r) => r.messageId ?? null),
    rows.map((r) => r.firstStartedAt ?? null),
  ])
  await Promise.all([stopped, set])
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}
