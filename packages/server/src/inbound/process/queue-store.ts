/**
 * SQL of what is yet to be reported. The worker serves all tenants, in turns: its statements say so. A
 * message is claimed as any job is (`platform/work/jobs.ts`); who has lost it records nothing.
 */
import { type Queryable, statement, type Tx } from '../../platform/db/index.ts'
import { ulidAtTime } from '../../platform/ids.ts'
import { type Claimed, createJobs, type Fenced, findByTenant } from '../../platform/work/jobs.ts'

export interface MessageKey {
  readonly tenantId: string
  readonly inboundId: string
}

export interface DueMessage extends MessageKey {
  readonly bytes: number
  /** It was taken before without an end: it may be what ended the process that had it. */
  readonly isSuspect: boolean
}

export type FencedMessage = Fenced<MessageKey>

export type ClaimedMessage = DueMessage & Claimed<MessageKey>

const IS_DAY_QUEUED = statement(
  'inbound.is_day_queued',
  'select 1 from inbound_queue where inbound_id >= $1 and inbound_id < $2 limit 1',
)

/**
 * Whether a message of that day is yet to be reported. Over all tenants: a day leaves for all of them
 * at once.
 */
export async function isInboundDayQueued(q: Queryable, day: string): Promise<boolean> {
  const fromMs = Date.parse(day)
  const ids = [fromMs, fromMs + 86_400_000].map((ms) => `in_${ulidAtTime(ms)}`)
  return (await q.query(IS_DAY_QUEUED, ids)).rowCount > 0
}

const { isDue, ...jobs } = createJobs<MessageKey, Claimed<MessageKey> & { readonly bytes: number }>(
  {
    ...{ name: 'inbound', table: 'inbound_queue', claimedUntil: 'busy_until' },
    key: ['tenantId', 'inboundId'],
    columns: ['bytes'],
  },
)

/** Under the fences of their claims. After `planByIndex`. */
export const {
  renew: renewClaims,
  putOff: putOffMessages,
  hold: holdClaims,
  end: endMessages,
} = jobs

const FIND_DUE = findByTenant({
  ...{ name: 'inbound.find_due', table: 'inbound_queue', isDue, orderBy: 'inbound_id' },
  columns: ['inbound_id', 'bytes', 'tries'],
})

/** Over all tenants, in turns: of each the oldest, after one of them. After `planByIndex`. */
export async function findDue(
  tx: Tx,
  o: { readonly after: string; readonly tenantsMax: number; readonly ofEachMax: number },
): Promise<DueMessage[]> {
  type Row = MessageKey & { readonly bytes: number; readonly tries: number }
  const { rows } = await tx.query<Row>(FIND_DUE, [o.after, o.tenantsMax, o.ofEachMax])
  return rows.map((row) => ({ ...row, isSuspect: row.tries > 0 }))
}

/** Those of them that nobody else has taken meanwhile. After `planByIndex`. */
export async function claimDue(
  tx: Tx,
  due: readonly MessageKey[],
  leaseMs: number,
): Promise<ClaimedMessage[]> {
  const claimed = await jobs.claim(tx, due, leaseMs)
  return claimed.map((one) => ({ ...one, isSuspect: one.tries > 1 }))
}

export interface QueueFigures {
  readonly rows: number
  readonly bytes: number
  /** Of the oldest; 0 where there is none. */
  readonly ageS: number
}

// Over all tenants: what an operator watches. Of what waits for an email's attempt to end nothing is late.
const MEASURE = statement(
  'inbound.measure_queue',
  `select count(*)::int as rows, coalesce(sum(bytes), 0)::float8 as bytes,
          coalesce(extract(epoch from now() - min(due_at)), 0)::float8 as "ageS"
     from inbound_queue where due_at <= now()`,
)

export async function measureQueue(q: Queryable): Promise<QueueFigures> {
  const { rows } = await q.query<QueueFigures>(MEASURE)
  return rows[0] ?? { rows: 0, bytes: 0, ageS: 0 }
}
