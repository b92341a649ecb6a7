/**
 * SQL that reads recipients newest first, a bounded piece at a time: what logs of emails are made of.
 *
 * The order is that of (ref_id, n), and a place in it is a place for good: nothing moves. Each piece
 * looks at no more rows than its limit and tells how far it came, so that the next one goes on from
 * there whether or not anything fitted. Every statement names the tenant.
 */
import type { RecipientStatus, RecipientType } from '@postrider/contract'
import { type Queryable, timeOfMicros } from '../../platform/db/index.ts'
import type { TimeSpan } from '../../platform/values/date-time.ts'

export interface RecipientKey {
  readonly refId: string
  readonly n: number
}

export interface RecordRange {
  readonly tenantId: string
  /** Of the reference ids below. */
  readonly days: { readonly from: string; readonly to: string }
  readonly refIdMin: string
  readonly below: RecipientKey
  /** Rows that are looked at. */
  readonly limit: number
}

export interface RecipientFilters {
  readonly refId: string | undefined
  /** As `domainFirst` makes it. */
  readonly addressKey: string | undefined
  readonly domain: string | undefined
  readonly type: RecipientType | undefined
  readonly campaignId: string | undefined
  readonly status: RecipientStatus | undefined
  readonly delivered: TimeSpan | undefined
  /** Only those who wait, failed or were stopped for a reason. */
  readonly withReason: boolean
  /** Waiting mail of these is held. */
  readonly inactiveMailers: readonly string[]
}

export interface RecordedRecipient extends RecipientKey {
  readonly day: string
  readonly email: string
  readonly type: RecipientType
  readonly status: RecipientStatus
  readonly failedReason: string
  readonly messageId: string
  readonly attempts: number
  readonly deliveredAt: Date | null
}

export interface Piece {
  /** Those that fit. */
  readonly recipients: readonly RecordedRecipient[]
  /** The last that was looked at; undefined: there is nothing further. */
  readonly reached: RecipientKey | undefined
}

/** Which index leads to the recipients that are looked at. */
export type WalkedBy = 'ref_id' | 'address' | 'domain' | 'copied'

type Parameter = (value: unknown) => string

const COLUMNS =
  'ref_id, n, day, email, address_key, type, status, failed_reason, message_id, attempts, delivered_at'

export async function walkRecipients(
  q: Queryable,
  by: WalkedBy,
  range: RecordRange,
  filters: RecipientFilters,
): Promise<Piece> {
  const values: unknown[] = []
  const $ = parameters(values)
  const where = [...rangeOf(range, $), ...keyOf(by, range.tenantId, filters, $)]
  const looked = `select ${COLUMNS} from sending_recipient where ${where.join(' and ')}
    order by ref_id desc, n desc limit ${$(range.limit)}`
  const rows = await readFitting(q, { looked, range, filters, values, $ })
  return pieceOf(rows, range.limit, undefined)
}

/** Emails, newest first, each with the day that keeps it. */
export interface EmailKey {
  readonly refId: string
  readonly day: string
}

/**
 * Recipients of these emails, which are in the order of the record. Where all of them were looked
 * at, the piece has reached `end`.
 *
 * What is looked at is cut off before it is sorted: a nested loop, which is the only plan that is
 * left to it, goes through the emails in the order of the list.
 */
export async function walkRecipientsOf(
  q: Queryable,
  emails: readonly EmailKey[],
  range: RecordRange,
  filters: RecipientFilters,
  end: RecipientKey | undefined,
): Promise<Piece> {
  if (emails.length === 0) return { recipients: [], reached: end }
  const values: unknown[] = []
  const $ = parameters(values)
  const refIds = $(emails.map(({ refId }) => refId))
  const days = $(emails.map(({ day }) => day))
  const limit = $(range.limit)
  const where = [...rangeOf(range, $), 'ref_id = e.ref_id', 'day = e.day']
  const looked = `select r.* from unnest(${refIds}::text[], ${days}::date[]) as e (ref_id, day)
    cross join lateral (
      select ${COLUMNS} from sending_recipient where ${where.join(' and ')}
       order by ref_id desc, n desc limit ${limit}) r limit ${limit}`
  const rows = await readFitting(q, { looked, range, filters, values, $ })
  return pieceOf(rows, range.limit, end)
}

/** Of these recipients those that fit. */
export async function readRecipients(
  q: Queryable,
  keys: readonly (RecipientKey & { readonly day: string })[],
  range: RecordRange,
  filters: RecipientFilters,
): Promise<RecordedRecipient[]> {
  if (keys.length === 0) return []
  const values: unknown[] = []
  const $ = parameters(values)
  const refIds = $(keys.map(({ refId }) => refId))
  const ns = $(keys.map(({ n }) => n))
  const days = $(keys.map(({ day }) => day))
  const where = [...rangeOf(range, $), 'ref_id = k.ref_id', 'n = k.n', 'day = k.day']
  const looked = `select r.*
     from unnest(${refIds}::text[], ${ns}::smallint[], ${days}::date[]) as k (ref_id, n, day)
    cross join lateral (
      select ${COLUMNS} from sending_recipient where ${where.join(' and ')} limit 1) r`
  const rows = await readFitting(q, { looked, range, filters, values, $ })
  return rows.filter(({ fits }) => fits).map(toRecipient)
}

interface FittingRow extends Omit<RecordedRecipient, 'fits'> {
  readonly fits: boolean
  /** Among those that were looked at. */
  readonly nth: string
}

/** What fits, and the last that was looked at where the limit was met. */
async function readFitting(
  q: Queryable,
  o: {
    readonly looked: string
    readonly range: RecordRange
    readonly filters: RecipientFilters
    readonly values: unknown[]
    readonly $: Parameter
  },
): Promise<FittingRow[]> {
  const { filters, range, $ } = o
  const tenant = $(range.tenantId)
  const campaign =
    filters.campaignId === undefined
      ? ''
      : `left join lateral (
           select campaign_id from sending_email
            where tenant_id = ${tenant} and ref_id = r.ref_id and day = r.day
              and day between ${$(range.days.from)} and ${$(range.days.to)} limit 1) e on true`
  const text = `
    select ref_id as "refId", n, day, email, type, status, failed_reason as "failedReason",
           message_id as "messageId", attempts, delivered_at as "deliveredAt", fits, nth
      from (
        select numbered.*, (${fittingOf(filters, $).join(' and ')}) as fits
          from (
            select r.ref_id, r.n, r.day, r.email, r.address_key, r.type, r.failed_reason, r.message_id,
                   r.attempts, r.delivered_at${campaign === '' ? '' : ', e.campaign_id'},
                   case when q.phase in ('sending', 'dot') and q.due_at > now() then 'sending'
                        when q.mailer_id = any(${$(filters.inactiveMailers)}) then 'held'
                        else r.status end as status,
                   row_number() over (order by r.ref_id desc, r.n desc) as nth
              from (${o.looked}) r ${campaign}
              left join lateral (
                select phase, due_at, mailer_id from sending_queue
                 where r.status in ('queued', 'deferred')
                   and tenant_id = ${tenant} and ref_id = r.ref_id and n = r.n
                 limit 1) q on true) numbered) found
     where fits or nth = ${$(range.limit)}
     order by ref_id desc, n desc`
  const { rows } = await q.query<FittingRow>(text, o.values)
  return rows
}

function rangeOf({ tenantId, days, refIdMin, below }: RecordRange, $: Parameter): string[] {
  return [
    `tenant_id = ${$(tenantId)}`,
    `day between ${$(days.from)} and ${$(days.to)}`,
    `ref_id >= ${$(refIdMin)}`,
    `(ref_id, n) < (${$(below.refId)}, ${$(below.n)}::smallint)`,
  ]
}

/** The condition that its index is entered by. */
function keyOf(by: WalkedBy, tenantId: string, filters: RecipientFilters, $: Parameter): string[] {
  const hashOf = (text: string) => `hashtextextended(${text}, 0)`
  if (by === 'address')
    return [
      `${hashOf(`tenant_id || ' ' || address_key`)} = ${hashOf(`${$(`${tenantId} ${filters.addressKey}`)}::text`)}`,
    ]
  if (by === 'domain')
    return [
      `${hashOf(`tenant_id || ' ' || split_part(address_key, '@', 1)`)} = ${hashOf(`${$(`${tenantId} ${filters.domain}`)}::text`)}`,
    ]
  if (by === 'copied') return [`type = ${$(filters.type)}`, `type <> 'to'`]
  return filters.refId === undefined ? [] : [`ref_id = ${$(filters.refId)}`]
}

function fittingOf(f: RecipientFilters, $: Parameter): string[] {
  const wanted = ['true']
  if (f.refId !== undefined) wanted.push(`ref_id = ${$(f.refId)}`)
  // A row that has no key is none of theirs.
  if (f.addressKey !== undefined) wanted.push(`address_key is not distinct from ${$(f.addressKey)}`)
  if (f.domain !== undefined)
    wanted.push(`split_part(coalesce(address_key, ''), '@', 1) = ${$(f.domain)}`)
  if (f.type !== undefined) wanted.push(`type = ${$(f.type)}`)
  if (f.status !== undefined) wanted.push(`status = ${$(f.status)}`)
  if (f.withReason) wanted.push(`failed_reason <> '' and status not in ('sent', 'delivered')`)
  if (f.campaignId !== undefined) wanted.push(`campaign_id is not distinct from ${$(f.campaignId)}`)
  if (f.delivered !== undefined)
    wanted.push(`coalesce(delivered_at >= ${timeOfMicros($(String(f.delivered.from)))}
      and delivered_at < ${timeOfMicros($(String(f.delivered.to)))}, false)`)
  return wanted
}

function pieceOf(rows: readonly FittingRow[], limit: number, end: RecipientKey | undefined): Piece {
  const last = rows.find(({ nth }) => Number(nth) === limit)
  return {
    recipients: rows.filter(({ fits }) => fits).map(toRecipient),
    reached: last === undefined ? end : { refId: last.refId, n: last.n },
  }
}

function toRecipient({ fits: _, nth: __, ...recipient }: FittingRow): RecordedRecipient {
  return recipient
}

function parameters(values: unknown[]): Parameter {
  return (value) => `$${values.push(value)}`
}
