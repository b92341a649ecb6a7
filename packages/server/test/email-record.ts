/** A record of emails as months of use leave it, in all its tables, and what it holds in plain words. */
import type { RecipientFact, RecipientStatus, RecipientType } from '@postrider/contract'
import { addressKeyOf, parseAddress } from '@postrider/mail'
import { type Db, insertRows } from '../src/platform/db/index.ts'
import { createIdSource } from '../src/platform/ids.ts'
import { dayAt } from '../src/platform/values/date-time.ts'
import { partitionedTables } from '../src/retention-days.ts'
import { domainFirst } from '../src/sending/index.ts'
import type { TestDatabase } from './database.ts'
import { addMailer, createSendingDatabase } from './sending.ts'

export interface KnownLog {
  readonly refId: string
  readonly n: number
  readonly email: string
  readonly type: RecipientType
  readonly status: RecipientStatus
  readonly reason: string
  readonly subject: string
  readonly campaignId: string | null
  readonly deliveredAt: Date | null
  /** Facts beside the status. */
  readonly facts: readonly RecipientFact[]
}

const MAILERS = { active: 'smtp_active', inactive: 'smtp_inactive' } as const

/** With partitions for so many past days, and both mailers. */
export async function createRecordDatabase(daysBehind: number): Promise<TestDatabase> {
  const database = await createSendingDatabase()
  const { db } = database
  for (const table of partitionedTables)
    await db.query('select platform_ensure_day_partitions($1, $2)', [table, daysBehind])
  for (const mailerId of Object.values(MAILERS)) await addMailer(db, { mailerId })
  await db.query(`update mailers_mailer set state = 'disabled' where mailer_id = $1`, [
    MAILERS.inactive,
  ])
  return database
}

export interface RecordedEmailSeed {
  readonly atMs: number
  readonly subject: string
  readonly campaignId: string | null
  readonly recipients: readonly {
    readonly email: string
    readonly type: RecipientType
    readonly status: RecipientStatus
    readonly reason?: string
    /** After the acceptance. */
    readonly deliveredAfterMs: number | null
    /** Attempts of an earlier series, which failed for good before a rescue. */
    readonly rescuedAfter: number
    /** A relay provider has taken it, and reported what became of it. */
    readonly isRelayed?: boolean
    readonly hasComplained?: boolean
    readonly unsubscribedAt?: readonly ('tracker' | 'provider')[]
  }[]
}

const PHASES: Partial<Record<RecipientStatus, string>> = { sending: 'dot' }
const WAITING: readonly RecipientStatus[] = ['queued', 'deferred', 'sending', 'held']
const STOPPED: readonly RecipientStatus[] = ['blocked', 'suppressed', 'rejected', 'bounced']

export async function seedRecord(
  db: Db,
  tenantId: string,
  emails: readonly RecordedEmailSeed[],
): Promise<KnownLog[]> {
  let nowMs = 0
  const ids = createIdSource(() => nowMs)
  const rows: { [table: string]: unknown[][] } = {
    sending_email: [],
    sending_recipient: [],
    sending_queue: [],
    sending_scheduled: [],
    sending_attempt: [],
    sending_stopped: [],
    tracking_recipient: [],
    feedback_recipient: [],
  }
  const add = (table: string, ...row: unknown[]) => rows[`sending_${table}`]?.push(row)
  const known: KnownLog[] = []
  for (const { atMs, subject, campaignId, recipients } of emails) {
    nowMs = atMs
    const refId = ids.ulid()
    const day = dayAt(atMs)
    const at = new Date(atMs)
    const expiry = new Date(atMs + 3 * 86_400_000)
    const later = new Date(Date.now() + 3_600_000)
    add('email', tenantId, refId, day, MAILERS.active, 'news@example.com', subject, campaignId)
    rows.sending_email?.at(-1)?.push(5, expiry, 'trace', at)
    for (const [n, r] of recipients.entries()) {
      const { status, reason = '', email, type, deliveredAfterMs } = r
      const stored = status === 'held' || status === 'sending' ? 'queued' : status
      const key = keyOf(email)
      const deliveredAt = deliveredAfterMs === null ? null : new Date(atMs + deliveredAfterMs)
      const own = [tenantId, refId, n]
      add('recipient', ...own, day, email, key, type, stored, `<${refId}.${n}@x>`, at, deliveredAt)
      rows.sending_recipient?.at(-1)?.push(reason)
      const { isRelayed = false, hasComplained = false, unsubscribedAt = [] } = r
      const facts = [
        ...(hasComplained ? (['spam'] as const) : []),
        ...(unsubscribedAt.length > 0 ? (['unsubscribed'] as const) : []),
      ]
      const what = { email, type, status, reason }
      known.push({ refId, n, ...what, subject, campaignId, deliveredAt, facts })
      const timeOf = (is: boolean) => (is ? at : null)
      if (unsubscribedAt.includes('tracker')) rows.tracking_recipient?.push([...own, day, at])
      if (hasComplained || unsubscribedAt.includes('provider'))
        rows.feedback_recipient?.push([
          ...own,
          day,
          timeOf(hasComplained),
          timeOf(unsubscribedAt.includes('provider')),
        ])
      const mailerId = status === 'held' ? MAILERS.inactive : MAILERS.active
      const place = [...own, mailerId, 1, later, 5, expiry, 100]
      const attempt = status === 'deferred' ? 2 : 1
      if (WAITING.includes(status)) add('queue', ...place, PHASES[status] ?? 'waiting', attempt)
      if (status === 'scheduled') add('scheduled', ...place)
      if (STOPPED.includes(status)) add('stopped', tenantId, status, refId, n, day)
      const category = status === 'expired' ? 'expired' : null
      const attempted = (nth: number, outcome: string, when: Date) =>
        add('attempt', ...own, nth, day, mailerId, 5, at, when, outcome, false, category)
      for (let i = 1; i <= r.rescuedAfter; i++) attempted(i, 'failed', at)
      const last = r.rescuedAfter + 1
      if (isRelayed) {
        attempted(last, 'accepted', at)
        if (status === 'failed') add('stopped', tenantId, status, refId, n, day)
        if (deliveredAt !== null && dayAt(deliveredAt.getTime()) > day)
          add('stopped', tenantId, 'delivered', refId, n, day)
      } else if (status === 'failed' || status === 'expired') attempted(last, 'failed', at)
      else if (deliveredAt !== null) attempted(last, 'accepted', deliveredAt)
    }
  }
  const columns: Record<string, string> = {
    sending_email:
      'tenant_id, ref_id, day, mailer_id, from_email, subject, campaign_id, max_attempts, expires_at, traceparent, created_at',
    sending_recipient:
      'tenant_id, ref_id, n, day, email, address_key, type, status, message_id, created_at, delivered_at, failed_reason',
    sending_queue:
      'tenant_id, ref_id, n, mailer_id, bucket, due_at, max_attempts, expires_at, content_bytes, phase, attempt',
    sending_scheduled:
      'tenant_id, ref_id, n, mailer_id, bucket, due_at, max_attempts, expires_at, content_bytes',
    sending_attempt:
      'tenant_id, ref_id, n, attempt, day, mailer_id, max_attempts, started_at, finished_at, outcome, retry_scheduled, category',
    sending_stopped: 'tenant_id, status, ref_id, n, day',
    tracking_recipient: 'tenant_id, ref_id, n, day, unsubscribed_at',
    feedback_recipient: 'tenant_id, ref_id, n, day, complained_at, unsubscribed_at',
  }
  await db.transaction(async (tx) => {
    for (const [table, of] of Object.entries(rows))
      await insertRows(tx, {
        name: `seed_${table}`,
        into: table,
        columns: columns[table]?.split(', ') ?? [],
        rows: of,
      })
  })
  // As lists show it.
  return known.sort((a, b) => (a.refId === b.refId ? b.n - a.n : a.refId < b.refId ? 1 : -1))
}

function keyOf(email: string): string {
  const parsed = parseAddress(email)
  if (!parsed.ok) throw new Error(parsed.problem)
  return domainFirst(addressKeyOf(parsed.address.address))
}
