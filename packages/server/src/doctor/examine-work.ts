/**
 * What `postrider doctor` finds in a database that is up to date: roles that nobody has, webhooks that
 * fail or do not keep up, callbacks that are not applied, days that should be there, and days that should have gone.
 */
import { configPrefix, type Role } from '../config.ts'
import { measureInbox } from '../feedback/index.ts'
import { type DaySpan, type Queryable, readDaySpans } from '../platform/db/index.ts'
import { bucketCount } from '../platform/db/leases.ts'
import { describeDuration } from '../platform/values/duration.ts'
import { partitionedTables, tablesOfContent, tablesOfRetention } from '../retention-days.ts'
import {
  countGivenUp,
  countOpen,
  countPending,
  findLongestFailing,
  observeStreams,
  type StreamFigures,
} from '../webhooks/index.ts'

export interface Finding {
  readonly check: string
  readonly state: 'ok' | 'warning' | 'failed'
  readonly detail: string
}

const DAY_MS = 86_400_000
/** Receivers come and go; what has failed for less is not worth a look. */
const FAILING_MS_MAX = 3_600_000
/** A dispatcher that keeps up takes events within the second. */
const PENDING_S_MAX = 5 * 60
const COUNT_MAX = 10_000
/** The service makes two weeks ahead. */
const DAYS_AHEAD_MIN = 7

const everyBucket = Array.from({ length: bucketCount }, (_, bucket) => bucket)

interface Kept {
  readonly retentionMs: number
  readonly contentRetentionMs: number
}

export async function examineWork(o: Kept & { readonly db: Queryable }): Promise<Finding[]> {
  const figures = await observeStreams(o.db, everyBucket)
  const pending = await countPending(o.db, everyBucket, COUNT_MAX)
  return [
    ...(await checkRoles(o.db, pending > 0)),
    await checkFailing(o.db, figures),
    await checkParked(o.db),
    await checkGivenUp(o.db),
    checkBacklog(pending, figures),
    await checkCallbacks(o.db),
    ...(await checkDays(o.db, o)),
  ]
}

/** By the leases: whichever process it is, and wherever it runs. */
async function checkRoles(q: Queryable, eventsWait: boolean): Promise<Finding[]> {
  const { rows } = await q.query<{ role: string }>(
    'select distinct role from platform_member where expires_at > clock_timestamp()',
  )
  const queued = await q.query('select from sending_queue limit 1')
  const mailboxes = await q.query(
    `select from mailers_mailer
      where state = 'active' and config_type in ('imap', 'oauth_imap', 'smtp_imap') limit 1`,
  )
  const isRunning = (role: string) => rows.some((row) => row.role === role)
  return [
    checkRole('sender', isRunning('sender'), queued.rows.length > 0 ? 'emails wait' : undefined),
    checkRole('dispatcher', isRunning('dispatcher'), eventsWait ? 'events wait' : undefined),
    checkRole(
      'mailbox',
      isRunning('mailbox'),
      mailboxes.rows.length > 0 ? 'mailboxes are to be read' : undefined,
    ),
  ]
}

function checkRole(check: Role, isRunning: boolean, waiting: string | undefined): Finding {
  if (isRunning) return { check, state: 'ok', detail: 'at work' }
  if (waiting === undefined) return { check, state: 'ok', detail: 'none runs, and nothing waits' }
  const detail = `${waiting}, and no process with the role ${check} runs on this database`
  return { check, state: 'warning', detail }
}

async function checkFailing(q: Queryable, figures: readonly StreamFigures[]): Promise<Finding> {
  const check = 'webhooks'
  const pausedCount = figures.find(({ state }) => state === 'paused')?.streams ?? 0
  const paused = pausedCount === 0 ? '' : `, ${pausedCount} paused`
  const longest = await findLongestFailing(q)
  if (longest === undefined) return { check, state: 'ok', detail: `none fails${paused}` }
  const { failing, webhookId, tenantId, failingMs } = longest
  const since = `${webhookId} of ${tenantId} for ${describeDuration(Math.max(0, failingMs))}`
  return {
    check,
    state: failingMs > FAILING_MS_MAX ? 'warning' : 'ok',
    detail: `${failing} fail, the longest ${since}${paused}: see postrider webhook list --failing`,
  }
}

async function checkParked(q: Queryable): Promise<Finding> {
  const check = 'parked events'
  const parked = (await countOpen(q, everyBucket, COUNT_MAX)).get('parked') ?? 0
  if (parked === 0) return { check, state: 'ok', detail: 'none' }
  const detail = `${atLeast(parked)} refused one by one by their receivers, tried until ${configPrefix}WEBHOOK_RETRY_FOR`
  return { check, state: 'warning', detail }
}

async function checkGivenUp(q: Queryable): Promise<Finding> {
  const check = 'given-up events'
  const givenUp = await countGivenUp(q, COUNT_MAX)
  if (givenUp === 0) return { check, state: 'ok', detail: 'none of the last day' }
  const detail = `${atLeast(givenUp)} in the last day, and not delivered since: postrider webhook replay --undelivered sends them again`
  return { check, state: 'warning', detail }
}

function checkBacklog(pending: number, figures: readonly StreamFigures[]): Finding {
  const check = 'webhook backlog'
  const oldestS = figures.find(({ state }) => state === 'active')?.oldestS ?? 0
  const waiting = `${atLeast(pending)} events wait`
  if (oldestS <= PENDING_S_MAX) return { check, state: 'ok', detail: waiting }
  const age = describeDuration(oldestS * 1000)
  const detail = `${waiting}, the oldest for ${age} although its webhook does not fail (more than ${describeDuration(PENDING_S_MAX * 1000)}): is a dispatcher running, and fast enough?`
  return { check, state: 'warning', detail }
}

async function checkCallbacks(q: Queryable): Promise<Finding> {
  const check = 'callbacks'
  const { rows, ageS, refused } = await measureInbox(q)
  if (ageS > PENDING_S_MAX) {
    const age = describeDuration(ageS * 1000)
    const detail = `${rows} of relay providers wait to be applied, the oldest for ${age}: is a process with the role tracker running?`
    return { check, state: 'warning', detail }
  }
  if (refused === 0) return { check, state: 'ok', detail: `${rows} wait to be applied` }
  const detail = `${refused} are kept aside, because something in them could not be applied: see docs/operations/troubleshoot.md`
  return { check, state: 'warning', detail }
}

function atLeast(count: number): string {
  return count < COUNT_MAX ? String(count) : `${COUNT_MAX}+`
}

async function checkDays(
  q: Queryable,
  { retentionMs, contentRetentionMs }: Kept,
): Promise<Finding[]> {
  const spans = await readDaySpans(q, partitionedTables)
  const { rows } = await q.query<{ now: Date }>('select clock_timestamp() as now')
  const nowMs = rows[0]?.now.getTime() ?? Date.now()
  const oldestOf = (tables: readonly string[]) =>
    spans
      .filter(({ table }) => tables.includes(table))
      .flatMap((span) => span.oldest ?? [])
      .sort()[0] ?? ''
  const content = checkRetention(oldestOf(tablesOfContent), nowMs, contentRetentionMs)
  return [
    checkDaysAhead(spans, nowMs),
    checkRetention(oldestOf(tablesOfRetention), nowMs, retentionMs),
    ...(contentRetentionMs < retentionMs ? [{ ...content, check: 'content retention' }] : []),
  ]
}

function checkDaysAhead(spans: readonly DaySpan[], nowMs: number): Finding {
  const check = 'day partitions'
  const [shortest] = spans.toSorted((a, b) => ((a.newest ?? '') < (b.newest ?? '') ? -1 : 1))
  if (shortest === undefined || spans.every(({ newest }) => newest === null))
    return { check, state: 'ok', detail: 'made by the next start' }
  const { table, newest } = shortest
  if (newest !== null && Date.parse(newest) > nowMs + DAYS_AHEAD_MIN * DAY_MS)
    return { check, state: 'ok', detail: `until ${newest}` }
  const until = newest === null ? 'has none' : `only until ${newest}`
  const detail = `${table} ${until}: a running service makes them each minute, see its log for day_partitions.failed`
  return { check, state: 'warning', detail }
}

function checkRetention(oldest: string, nowMs: number, retentionMs: number): Finding {
  const check = 'retention'
  const kept = describeDuration(retentionMs)
  if (oldest === '') return { check, state: 'ok', detail: `${kept}, nothing there yet` }
  // A day is over before it can be old, and the janitor has a day to see it.
  const overdueMs = nowMs - retentionMs - Date.parse(oldest) - 2 * DAY_MS
  if (overdueMs <= 0) return { check, state: 'ok', detail: `${kept}, oldest day ${oldest}` }
  const detail = `${kept}, but the oldest day is ${oldest}: no janitor runs, something reads it for long, or mail or a paused webhook of that day is unfinished`
  return { check, state: 'warning', detail }
}
