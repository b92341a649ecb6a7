/**
 * SQL of what is yet to be reported. The worker serves all tenants, in turns: its statements say so. A
 * message is taken with a fence, for a lease by the database's clock; who has lost it records nothing.
 */
import { arrayText, type Queryable, statement, type Tx } from '../../platform/db/index.ts'
import { ulidAtTime } from '../../platform/ids.ts'

export interface MessageKey {
  readonly tenantId: string
  readonly inboundId: string
}

export interface DueMessage extends MessageKey {
  readonly bytes: number
  /** It was taken before without an end: it may be what ended the process that had it. */
  readonly isSuspect: boolean
}

export interface FencedMessage extends MessageKey {
  readonly fence: string
}

export interface ClaimedMessage extends DueMessage, FencedMessage {
  /** How often it was taken, this time included. */
  readonly tries: number
}

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

const IS_DUE = 'due_at <= now() and (busy_until is null or busy_until <= now())'

// Over all tenants, in turns: of each the oldest, tenant by tenant through the index. Those of whom
// everything is taken or put off are passed over: else a few of them would hide all that come after.
const FIND_DUE = statement(
  'inbound.find_due',
  `with recursive tenant as (
     (select tenant_id from inbound_queue where ${IS_DUE} and tenant_id > $1
       order by tenant_id limit 1)
     union all
     select next.tenant_id
       from tenant cross join lateral (
         select tenant_id from inbound_queue where ${IS_DUE} and tenant_id > tenant.tenant_id
          order by tenant_id limit 1) next
   )
   select tenant_id as "tenantId", inbound_id as "inboundId", bytes, tries > 0 as "isSuspect"
     from (select tenant_id from tenant limit $2) t
    cross join lateral (
      select inbound_id, bytes, tries from inbound_queue
       where tenant_id = t.tenant_id and ${IS_DUE}
       order by inbound_id limit $3) q`,
)

/** By tenant, after one of them. After `planByIndex`. */
export async function findDue(
  tx: Tx,
  o: { readonly after: string; readonly tenantsMax: number; readonly ofEachMax: number },
): Promise<DueMessage[]> {
  return (await tx.query<DueMessage>(FIND_DUE, [o.after, o.tenantsMax, o.ofEachMax])).rows
}

const KEYS = 'unnest($1::text[], $2::text[]) as k (tenant_id, inbound_id)'
const OF_KEYS = 'q.tenant_id = k.tenant_id and q.inbound_id = k.inbound_id'

/** Counted no further: one that can never be recorded is not to end in a number that none can hold. */
const TRIES_MAX = 1_000

const CLAIM = statement(
  'inbound.claim',
  `update inbound_queue q
      set fence = q.fence + 1, tries = least(q.tries, $4) + 1,
          busy_until = now() + $3::float8 * interval '1 ms'
     from (select q.tenant_id, q.inbound_id from ${KEYS}
             join inbound_queue q on ${OF_KEYS}
            where ${IS_DUE} order by q.tenant_id, q.inbound_id for update of q skip locked) k
    where ${OF_KEYS}
   returning q.tenant_id as "tenantId", q.inbound_id as "inboundId", q.bytes, q.fence, q.tries,
             q.tries > 1 as "isSuspect"`,
)

/** Those of them that nobody else has taken meanwhile. After `planByIndex`. */
export async function claimDue(
  tx: Tx,
  due: readonly MessageKey[],
  leaseMs: number,
): Promise<ClaimedMessage[]> {
  return (await tx.query<ClaimedMessage>(CLAIM, [...keysOf(due), leaseMs, TRIES_MAX])).rows
}

const FENCED = `unnest($1::text[], $2::text[], $3::bigint[]) as k (tenant_id, inbound_id, fence)`
const OF_FENCED = `${OF_KEYS} and q.fence = k.fence`

const RENEW = statement(
  'inbound.renew',
  `update inbound_queue q set busy_until = now() + $4::float8 * interval '1 ms'
     from (select q.tenant_id, q.inbound_id, q.fence from ${FENCED}
             join inbound_queue q on ${OF_FENCED}
            order by q.tenant_id, q.inbound_id for update of q) k
    where ${OF_FENCED}`,
)

export async function renewClaims(
  tx: Tx,
  claims: readonly ClaimedMessage[],
  leaseMs: number,
): Promise<void> {
  if (claims.length > 0) await tx.query(RENEW, [...fencesOf(claims), leaseMs])
}

const GIVE_BACK = statement(
  'inbound.give_back',
  `update inbound_queue q
      set busy_until = null, tries = q.tries - $4, due_at = now() + $5::float8 * interval '1 ms'
     from (select q.tenant_id, q.inbound_id, q.fence from ${FENCED}
             join inbound_queue q on ${OF_FENCED}
            order by q.tenant_id, q.inbound_id for update of q) k
    where ${OF_FENCED}`,
)

/** Gives it back to the queue, after a while. */
export async function giveBack(
  tx: Tx,
  claims: readonly ClaimedMessage[],
  o: {
    /** It was not taken for what is in it. */
    readonly isUntried: boolean
    readonly waitMs: number
  },
): Promise<void> {
  if (claims.length > 0)
    await tx.query(GIVE_BACK, [...fencesOf(claims), o.isUntried ? 1 : 0, o.waitMs])
}

const HOLD = statement(
  'inbound.hold_claims',
  `select q.tenant_id as "tenantId", q.inbound_id as "inboundId", q.fence from ${FENCED}
     join inbound_queue q on ${OF_FENCED}
    order by q.tenant_id, q.inbound_id for update of q`,
)

/** Those that are still the caller's, to the end of the transaction. */
export async function holdClaims(
  tx: Tx,
  claims: readonly FencedMessage[],
): Promise<readonly FencedMessage[]> {
  return (await tx.query<FencedMessage>(HOLD, fencesOf(claims))).rows
}

const DEQUEUE = statement(
  'inbound.dequeue',
  `delete from inbound_queue q using ${KEYS} where ${OF_KEYS}`,
)

/** Of those that are held. */
export async function dequeue(tx: Tx, keys: readonly MessageKey[]): Promise<void> {
  if (keys.length > 0) await tx.query(DEQUEUE, keysOf(keys))
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

function keysOf(keys: readonly MessageKey[]): string[] {
  return [arrayText(keys.map((k) => k.tenantId)), arrayText(keys.map((k) => k.inboundId))]
}

function fencesOf(claims: readonly FencedMessage[]): string[] {
  return [...keysOf(claims), arrayText(claims.map(({ fence }) => fence))]
}
