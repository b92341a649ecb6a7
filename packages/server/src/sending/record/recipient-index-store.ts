/**
 * SQL that finds recipients by other rows than their own: waiting, failed, stopped and late ones, and
 * emails. Newest first, and every statement names the tenant.
 */
import type { RecipientStatus } from '@postrider/contract'
import { type Queryable, type Statement, statement } from '../../platform/db/index.ts'
import { dayOfUlid } from '../../platform/ids.ts'
import type { EmailKey, RecipientKey, RecordRange } from './recipient-store.ts'
import { isStopped } from './stopped-store.ts'

export type RecipientIndex =
  | 'waiting'
  | 'scheduled'
  | 'failed'
  | 'late'
  /** Waiting, failed and stopped: all that may have a reason. */
  | 'reasoned'
  | { readonly stopped: string }

const BELOW = '(ref_id, n) < ($3, $4::smallint) and ref_id >= $2'
const NEWEST = 'order by ref_id desc, n desc limit $5'
const DAYS = 'day between $6 and $7'

const WAITING = statement(
  'sending.index_waiting',
  `select ref_id as "refId", n, attempt > 1 as "isDeferrable" from sending_queue where tenant_id = $1 and ${BELOW} ${NEWEST}`,
)
const SCHEDULED = statement(
  'sending.index_scheduled',
  `select ref_id as "refId", n from sending_scheduled where tenant_id = $1 and ${BELOW} ${NEWEST}`,
)
const stopped = (columns: string, status: string) => `select ${columns} from sending_stopped
    where tenant_id = $1 and ${BELOW} and ${DAYS} and status = ${status} ${NEWEST}`

/** By their attempts, or by what was reported later. */
const either = (attempts: string, reports: string, more = '') =>
  `select ref_id as "refId", n${more} from ((${attempts}) union all (${reports})) p
    ${NEWEST}`

const FAILED = statement(
  'sending.index_failed',
  either(
    `select ref_id, n, category is not distinct from 'expired' as "isExpired" from sending_attempt
      where tenant_id = $1 and ${BELOW} and ${DAYS}
        and not retry_scheduled and outcome <> 'accepted' ${NEWEST}`,
    stopped('ref_id, n, false', `'failed'`),
    ', "isExpired"',
  ),
)
const LATE = statement(
  'sending.index_late',
  either(
    `select ref_id, n from sending_attempt
      where tenant_id = $1 and ${BELOW} and ${DAYS}
        and outcome = 'accepted' and (finished_at at time zone 'UTC')::date > day ${NEWEST}`,
    stopped('ref_id, n', `'delivered'`),
  ),
)
const STOPPED = statement('sending.index_stopped', stopped('ref_id as "refId", n', '$8'))

const REASONED = statement(
  'sending.index_reasoned',
  `select ref_id as "refId", n, "isDeferrable" from (
     (select ref_id, n, attempt > 1 as "isDeferrable" from sending_queue
       where tenant_id = $1 and ${BELOW} ${NEWEST})
     union all
     (select ref_id, n, true from sending_attempt
       where tenant_id = $1 and ${BELOW} and ${DAYS}
         and not retry_scheduled and outcome <> 'accepted' ${NEWEST})
     ${['failed', 'bounced', 'blocked', 'rejected']
       .map((status) => `union all (${stopped('ref_id, n, true', `'${status}'`)})`)
       .join(' ')}) p
    ${NEWEST}`,
)

/** Which of them lead to all recipients of that status; undefined: none, they are most of all. */
export function indexOfStatus(status: RecipientStatus): RecipientIndex | undefined {
  if (isStopped(status)) return { stopped: status }
  switch (status) {
    case 'queued':
    case 'deferred':
    case 'sending':
    case 'held':
      return 'waiting'
    case 'scheduled':
      return 'scheduled'
    case 'failed':
    case 'expired':
      return 'failed'
    case 'sent':
    case 'delivered':
      return undefined
    default:
      return status satisfies never
  }
}

export interface IndexedRecipient extends RecipientKey {
  readonly day: string
  /** Of what waits: whether an attempt was made before. */
  readonly isDeferrable?: boolean
  /** Of what failed. */
  readonly isExpired?: boolean
}

/** Whether a recipient there may have the status, told without a look at it. */
export function mayHaveStatus(key: IndexedRecipient, status: RecipientStatus | undefined): boolean {
  if (status === 'deferred') return key.isDeferrable !== false
  if (status === 'expired') return key.isExpired !== false
  return status !== 'failed' || key.isExpired !== true
}

/** At most `range.limit`; a recipient with several attempts may stand in it more than once. */
export async function readRecipientIndex(
  q: Queryable,
  of: RecipientIndex,
  { tenantId, refIdMin, below, limit, days }: RecordRange,
): Promise<IndexedRecipient[]> {
  const values = [tenantId, refIdMin, below.refId, below.n, limit]
  const inDays = [...values, days.from, days.to]
  const read = async (s: Statement, all: readonly unknown[]) => {
    const { rows } = await q.query<Omit<IndexedRecipient, 'day'>>(s, all)
    return rows.map((key) => ({ ...key, day: dayOfUlid(key.refId) }))
  }
  switch (of) {
    case 'waiting':
      return await read(WAITING, values)
    case 'scheduled':
      return await read(SCHEDULED, values)
    case 'failed':
      return await read(FAILED, inDays)
    case 'late':
      return await read(LATE, inDays)
    case 'reasoned':
      return await read(REASONED, inDays)
    default:
      return await read(STOPPED, [...inDays, of.stopped])
  }
}

const emailsWhere = (
  more: string,
) => `select ref_id as "refId", day, subject, mailer_id as "mailerId" from sending_email
    where tenant_id = $1 and ref_id >= $2 and ref_id <= $3 and day between $4 and $5 ${more}
    order by ref_id desc limit $6`
const EMAILS = statement('sending.index_emails', emailsWhere(''))
const TEST = statement(
  'sending.index_test_mail',
  emailsWhere(`and starts_with(mailer_id, 'test_')`),
)
const CAMPAIGN = statement('sending.index_campaign', emailsWhere('and campaign_id = $7'))

interface IndexedEmail extends EmailKey {
  readonly subject: string
  readonly mailerId: string
}

/** Emails from that of `range.below` on, which may have been looked at in part. */
export async function readEmailIndex(
  q: Queryable,
  { tenantId, refIdMin, below, days, limit }: RecordRange,
  o: { readonly campaignId: string | undefined; readonly isTest: boolean | undefined },
): Promise<IndexedEmail[]> {
  const values = [tenantId, refIdMin, below.refId, days.from, days.to, limit]
  const { campaignId, isTest } = o
  const run = (s: Statement, all: readonly unknown[]) => q.query<IndexedEmail>(s, all)
  if (campaignId !== undefined) return (await run(CAMPAIGN, [...values, campaignId])).rows
  return (await run(isTest === true ? TEST : EMAILS, values)).rows
}

const CAMPAIGN_END = (order: 'asc' | 'desc') =>
  `(select ref_id from sending_email
     where tenant_id = $1 and campaign_id = $2 and day between $3 and $4
     order by ref_id ${order} limit 1)`
const CAMPAIGN_ENDS = statement(
  'sending.campaign_ends',
  `select ${CAMPAIGN_END('asc')} as first, ${CAMPAIGN_END('desc')} as last`,
)

/** Its first and its last email; undefined when it has none. */
export async function readCampaignEnds(
  q: Queryable,
  { tenantId, days }: Pick<RecordRange, 'tenantId' | 'days'>,
  campaignId: string,
): Promise<{ first: string; last: string } | undefined> {
  const { rows } = await q.query<{ first: string | null; last: string | null }>(CAMPAIGN_ENDS, [
    tenantId,
    campaignId,
    days.from,
    days.to,
  ])
  const { first = null, last = null } = rows[0] ?? {}
  return first === null || last === null ? undefined : { first, last }
}
