/** SQL of emails and of attempts as the record shows them. Every statement names the tenant. */
import { type Queryable, statement } from '../../platform/db/index.ts'
import type { EmailKey } from './recipient-store.ts'

export interface RecordedEmail {
  readonly refId: string
  readonly from: string
  readonly subject: string
  readonly mailerId: string
  readonly campaignId: string | null
  /** A recipient has data of its own. */
  readonly hasOwn: true | null
}

const EMAILS = statement(
  'sending.record_emails',
  `select e.ref_id as "refId", from_email as "from", subject, mailer_id as "mailerId",
          campaign_id as "campaignId", has_own as "hasOwn"
     from unnest($2::text[], $3::date[]) as k (ref_id, day)
    cross join lateral (
      select ref_id, from_email, subject, mailer_id, campaign_id, has_own from sending_email
       where tenant_id = $1 and ref_id = k.ref_id and day = k.day and day between $4 and $5
       limit 1) e`,
)

export async function readEmails(
  q: Queryable,
  tenantId: string,
  keys: readonly EmailKey[],
): Promise<Map<string, RecordedEmail>> {
  const days = new Map(keys.map(({ refId, day }) => [refId, day]))
  const sorted = [...days.values()].sort()
  const first = sorted[0]
  if (first === undefined) return new Map()
  const { rows } = await q.query<RecordedEmail>(EMAILS, [
    tenantId,
    [...days.keys()],
    [...days.values()],
    first,
    sorted.at(-1),
  ])
  return new Map(rows.map((row) => [row.refId, row]))
}

export interface WholeEmail extends RecordedEmail {
  readonly customArgs: Readonly<Record<string, unknown>> | null
  readonly traceparent: string
  readonly templateId: string | null
  readonly templateVersion: number | null
}

const EMAIL = statement(
  'sending.record_email',
  `select ref_id as "refId", from_email as "from", subject, mailer_id as "mailerId",
          campaign_id as "campaignId", custom_args as "customArgs", has_own as "hasOwn", traceparent,
          template_id as "templateId", template_version as "templateVersion"
     from sending_email where tenant_id = $1 and ref_id = $2 and day = $3`,
)

export async function readEmail(
  q: Queryable,
  tenantId: string,
  { refId, day }: EmailKey,
): Promise<WholeEmail | undefined> {
  const { rows } = await q.query<WholeEmail>(EMAIL, [tenantId, refId, day])
  return rows[0]
}

export interface RecordedAttempt {
  readonly n: number
  readonly mailerId: string
  readonly attempt: number
  readonly maxAttempts: number
  readonly startedAt: Date
  readonly finishedAt: Date
  readonly outcome: 'accepted' | 'deferred' | 'failed' | 'uncertain'
  /** Of what failed. */
  readonly category: string | null
  readonly failedReason: string
  readonly providerError: string
  readonly retryScheduled: boolean
  readonly nextAttemptAt: Date | null
}

const ATTEMPTS = statement(
  'sending.record_attempts',
  `select a.* from unnest($4::smallint[]) as k (n)
    cross join lateral (
      select n, mailer_id as "mailerId", attempt, max_attempts as "maxAttempts", started_at as "startedAt",
             finished_at as "finishedAt", outcome, category, failed_reason as "failedReason",
             provider_error as "providerError", retry_scheduled as "retryScheduled",
             next_attempt_at as "nextAttemptAt"
        from sending_attempts
       where tenant_id = $1 and ref_id = $2 and day = $3 and n = k.n
       order by attempt desc limit $5) a
    order by n, attempt`,
)

/** Of these recipients of one email, by number, oldest first: of each the newest `limit`. */
export async function readAttemptsOf(
  q: Queryable,
  tenantId: string,
  { refId, day }: EmailKey,
  ns: readonly number[],
  limit: number,
): Promise<RecordedAttempt[]> {
  const { rows } = await q.query<RecordedAttempt>(ATTEMPTS, [tenantId, refId, day, ns, limit])
  return rows
}

/** What comes next for a recipient. */
export interface RecordedWait {
  readonly attempt: number
  readonly maxAttempts: number
  readonly dueAt: Date
  readonly expiresAt: Date
  readonly mailerId: string
}

const waitsIn = (table: string, attempt: string) => `
  select n, ${attempt} as attempt, max_attempts as "maxAttempts", due_at as "dueAt",
         expires_at as "expiresAt", mailer_id as "mailerId"
    from ${table} where tenant_id = $1 and ref_id = $2`
const WAITS = statement(
  'sending.record_waits',
  `${waitsIn('sending_queue', 'attempt')} union all ${waitsIn('sending_scheduled', '1')}`,
)

/** By the numbers of the recipients. */
export async function readWaitsOf(
  q: Queryable,
  tenantId: string,
  refId: string,
): Promise<ReadonlyMap<number, RecordedWait>> {
  const { rows } = await q.query<RecordedWait & { readonly n: number }>(WAITS, [tenantId, refId])
  return new Map(rows.map(({ n, ...wait }) => [n, wait]))
}

const FIND_TENANT = statement(
  'sending.find_tenant_of',
  `select k.tenant_id as "tenantId" from unnest($1::text[]) as k (tenant_id)
    cross join lateral (
      select from sending_email e
       where e.tenant_id = k.tenant_id and e.ref_id = $2 and e.day = $3 limit 1) e
    limit 1`,
)

/** Which of the tenants sent it. Over all tenants: it is the operator who asks. */
export async function findTenantOf(
  q: Queryable,
  tenantIds: readonly string[],
  { refId, day }: { readonly refId: string; readonly day: string },
): Promise<string | undefined> {
  const { rows } = await q.query<{ tenantId: string }>(FIND_TENANT, [tenantIds, refId, day])
  return rows[0]?.tenantId
}
