/**
 * Jobs of a queue of low volume: rows of one table that are due at a time, and leave when they are done. Times
 * are the database's.
 *
 * - Find: the capability decides whose turn it is, and which of the due rows it wants.
 * - Claim: the rows that nobody else has taken meanwhile are the caller's for a lease. A claim counts as a
 *   try at once, and the fence of the row grows.
 * - Fence: every later statement names it. Who has lost a claim changes nothing.
 * - Finish: `end` deletes the row. A transaction that records more calls `hold` first, which locks the rows
 *   that are still the caller's. `putOff` makes a row due again later.
 * - Poison: a row that ends its process again and again has used up its tries at its next claim. The capability
 *   says how many are enough, and what is done without trying.
 *
 * Work that needs nothing but the database has no use for a claim: it locks due rows and deletes them in the one
 * transaction that applies them (`feedback/apply`). Of this file it uses `findByTenant` and `dropOld`.
 */
import { arrayText } from '../db/array-text.ts'
import { givenRows, type Queryable, type Statement, statement, type Tx } from '../db/statement.ts'

export interface JobTable<Key> {
  /** The statements' names begin with it. */
  readonly name: string
  readonly table: string
  /** The primary key: columns of text, each named by its property (`tenant_id` by `tenantId`). */
  readonly key: readonly (keyof Key & string)[]
  /** Until when a claim lasts: in a column of its own, or a row under work is due again at its end. */
  readonly claimedUntil: 'busy_until' | 'due_at'
  /** Columns that a claim answers beside the key. */
  readonly columns: readonly string[]
}

export type Fenced<Key> = Key & { readonly fence: string }

export type Claimed<Key> = Fenced<Key> & {
  /** How often it was claimed, this time included. */
  readonly tries: number
}

export interface PutOff {
  readonly waitMs: number
  /** Whether the claim counts as a try. */
  readonly isTry: boolean
}

export interface Jobs<Key, Job extends Claimed<Key>> {
  /** SQL: the row is due, and nobody has claimed it. */
  readonly isDue: string
  /** Those of them that are still due. */
  claim(tx: Tx, keys: readonly Key[], leaseMs: number): Promise<Job[]>
  /** The claims last so long from now. */
  renew(tx: Tx, jobs: readonly Fenced<Key>[], leaseMs: number): Promise<void>
  /** Those that are still the caller's, locked to the end of the transaction. */
  hold(tx: Tx, jobs: readonly Fenced<Key>[]): Promise<Fenced<Key>[]>
  /** They are due after a wait, and the claims are over. */
  putOff(tx: Tx, jobs: readonly (Fenced<Key> & PutOff)[]): Promise<void>
  /** Deletes them. Answers how many were still the caller's. */
  end(q: Queryable, jobs: readonly Fenced<Key>[]): Promise<number>
}

/** Counted no further: a row that can never be finished must not reach a number that the column cannot hold. */
const TRIES_MAX = 1_000

const MS = "float8 * interval '1 ms'"

export function createJobs<Key extends object, Job extends Claimed<Key>>(
  o: JobTable<Key>,
): Jobs<Key, Job> {
  const { name, table, claimedUntil } = o
  const columns = o.key.map(columnOf)
  const ofQ = columns.map((column) => `q.${column}`).join(', ')
  const isSame = columns.map((column) => `q.${column} = k.${column}`).join(' and ')
  const isHeld = `${isSame} and q.fence = k.fence`
  const answered = o.key.map((property, i) => `q.${columns[i]} as "${property}"`).join(', ')
  const isFree = `(busy_until is null or busy_until <= now())`
  const isDue = `due_at <= now()${claimedUntil === 'due_at' ? '' : ` and ${isFree}`}`

  /** Parameters: the key's columns, then these, an array each. */
  function given(...others: readonly (readonly [column: string, type: string])[]): string {
    const all = [...columns.map((column) => [column, 'text'] as const), ...others]
    const types = all.map(([, type]) => type)
    return `${givenRows(...types)} as k (${all.map(([column]) => column).join(', ')})`
  }
  /** The parameter that comes after so many others. */
  const after = (others: number) => `$${columns.length + others + 1}`
  const fence = ['fence', 'bigint'] as const
  // All lock in one order, so that two of them never wait for each other.
  const locked = (of: string, condition: string, more = '') =>
    `select ${ofQ}, q.fence${more} from ${of} join ${table} q on ${condition} order by ${ofQ} for update of q`

  const CLAIM = statement(
    `${name}.claim`,
    `update ${table} q
        set fence = q.fence + 1, tries = least(q.tries, ${TRIES_MAX}) + 1,
            ${claimedUntil} = now() + ${after(0)}::${MS}
       from (${locked(given(), `${isSame} and ${isDue}`)} skip locked) k
      where ${isSame}
     returning ${[answered, 'q.fence', 'q.tries', ...o.columns.map(answeredAs)].join(', ')}`,
  )
  const RENEW = statement(
    `${name}.renew`,
    `update ${table} q set ${claimedUntil} = now() + ${after(1)}::${MS}
       from (${locked(given(fence), isHeld)}) k where ${isHeld}`,
  )
  const HOLD = statement(
    `${name}.hold`,
    `select ${answered}, q.fence from ${given(fence)} join ${table} q on ${isHeld}
      order by ${ofQ} for update of q`,
  )
  const PUT_OFF = statement(
    `${name}.put_off`,
    `update ${table} q
        set fence = q.fence + 1, tries = q.tries - case when k.is_try then 0 else 1 end,
            ${claimedUntil === 'due_at' ? '' : 'busy_until = null, '}due_at = now() + k.wait_ms * interval '1 ms'
       from (${locked(given(fence, ['wait_ms', 'float8'], ['is_try', 'boolean']), isHeld, ', k.wait_ms, k.is_try')}) k
      where ${isHeld}`,
  )
  const END = statement(
    `${name}.end`,
    `delete from ${table} q using ${given(fence)} where ${isHeld}`,
  )

  const keysOf = (keys: readonly Key[]) =>
    o.key.map((property) => arrayText(keys.map((key) => String(key[property]))))
  const fencesOf = (jobs: readonly Fenced<Key>[]) => [
    ...keysOf(jobs),
    arrayText(jobs.map((job) => job.fence)),
  ]

  return {
    isDue,
    async claim(tx, keys, leaseMs) {
      if (keys.length === 0) return []
      return (await tx.query<Job>(CLAIM, [...keysOf(keys), leaseMs])).rows
    },
    async renew(tx, jobs, leaseMs) {
      if (jobs.length > 0) await tx.query(RENEW, [...fencesOf(jobs), leaseMs])
    },
    async hold(tx, jobs) {
      return jobs.length === 0 ? [] : (await tx.query<Fenced<Key>>(HOLD, fencesOf(jobs))).rows
    },
    async putOff(tx, jobs) {
      if (jobs.length === 0) return
      const [waits, tries] = [jobs.map((job) => job.waitMs), jobs.map((job) => job.isTry)]
      await tx.query(PUT_OFF, [...fencesOf(jobs), arrayText(waits), arrayText(tries)])
    },
    async end(q, jobs) {
      return jobs.length === 0 ? 0 : (await q.query(END, fencesOf(jobs))).rowCount
    },
  }
}

/**
 * Finds due rows of tenants in turn: of each tenant after $1, $2 tenants at most, the first $3 by `orderBy`. It
 * goes from tenant to tenant through an index. A tenant with nothing due is passed over, so that a few such
 * tenants do not hide all that come after them.
 */
export function findByTenant(o: {
  readonly name: string
  readonly table: string
  readonly isDue: string
  readonly orderBy: string
  readonly columns: readonly string[]
}): Statement {
  const { table, isDue, orderBy, columns } = o
  return statement(
    o.name,
    `with recursive tenant as (
       (select tenant_id from ${table} where ${isDue} and tenant_id > $1 order by tenant_id limit 1)
       union all
       select next.tenant_id
         from tenant cross join lateral (
           select tenant_id from ${table} where ${isDue} and tenant_id > tenant.tenant_id
            order by tenant_id limit 1) next
     )
     select t.tenant_id as "tenantId", ${columns.map(answeredAs).join(', ')}
       from (select tenant_id from tenant limit $2) t
      cross join lateral (
        select ${columns.join(', ')} from ${table} where tenant_id = t.tenant_id and ${isDue}
         order by ${orderBy} limit $3) q`,
  )
}

/** Deletes rows whose `since` is longer ago than $1 ms, $2 at most. A row that is locked stays until the next call. */
export function dropOld(o: {
  readonly name: string
  readonly table: string
  readonly key: readonly string[]
  readonly since: string
}): (q: Queryable, ageMs: number, limit: number) => Promise<number> {
  const { table, since } = o
  const key = o.key.join(', ')
  const DROP = statement(
    o.name,
    `delete from ${table} q
      using (select ${key} from ${table} where ${since} < now() - $1::${MS}
              order by ${since} limit $2 for update skip locked) old
      where ${o.key.map((column) => `q.${column} = old.${column}`).join(' and ')}`,
  )
  return async (q, ageMs, limit) => (await q.query(DROP, [ageMs, limit])).rowCount
}

function answeredAs(column: string): string {
  const property = column.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())
  return `q.${column} as "${property}"`
}

function columnOf(property: string): string {
  return property.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}
