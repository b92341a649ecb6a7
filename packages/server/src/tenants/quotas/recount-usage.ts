/**
 * Counts anew what a tenant uses of its quotas (docs/reference/operator.md#quotas). Acceptance only adds; mail that
 * leaves the queue, and emails that retention drops, are noticed here. It is done when a quota seems to be reached.
 */
import { testEmailsPerDayMax } from '@postrider/contract'
import { createBoundedMap } from '@postrider/runtime/bounded-map'
import { type CounterSum, readCounterSums } from '../../platform/counters/counter-store.ts'
import { type Db, type Queryable, statement, type Tx } from '../../platform/db/index.ts'
import { type CountedUsage, correctUsage, readKeptUsage } from './quota-store.ts'

export interface UsageDeps {
  readonly db: Db
  /** For how long emails are kept. */
  readonly retentionMs: number
  /** For how long their content is kept. */
  readonly contentRetentionMs: number
  /** How many recipients of each tenant wait, counted up to `max`. */
  readonly countQueued: (
    q: Queryable,
    tenantIds: readonly string[],
    max: number,
  ) => Promise<ReadonlyMap<string, number>>
}

export interface UsageCounts {
  /** False, when it was counted a moment ago: it is as it is. */
  freshen(tenantId: string): Promise<boolean>
}

/** By which acceptance counts what a tenant uses (platform/counters/counter-store.ts). */
export const usageSubject = ''
export const usageNames = {
  emails: 'recipients',
  bytes: 'stored_bytes',
  tests: 'test_recipients',
} as const

const DAY_MS = 86_400_000
const REST_MS = 1_000
/** A count that took long is followed by a longer rest: a twentieth of one connection's time at most. */
const REST_FACTOR = 20
const TENANTS_MAX = 10_000

export function createUsageCounts(
  deps: UsageDeps & { readonly monotonicMs?: () => number },
): UsageCounts {
  const monotonicMs = deps.monotonicMs ?? (() => performance.now())
  const running = new Map<string, Promise<void>>()
  const restsUntil = createBoundedMap<string, number>(TENANTS_MAX)

  async function recount(tenantId: string): Promise<void> {
    const startedMs = monotonicMs()
    try {
      await recountUsage(deps, tenantId)
    } finally {
      const tookMs = monotonicMs() - startedMs
      restsUntil.set(tenantId, startedMs + Math.max(REST_MS, tookMs * REST_FACTOR))
      running.delete(tenantId)
    }
  }

  return {
    async freshen(tenantId) {
      const under = running.get(tenantId)
      if (under !== undefined) await under
      else if ((restsUntil.get(tenantId) ?? 0) > monotonicMs()) return false
      else {
        const counting = recount(tenantId)
        running.set(tenantId, counting)
        await counting
      }
      return true
    },
  }
}

/** Nothing for a tenant without quotas. */
export async function recountUsage(deps: UsageDeps, tenantId: string): Promise<void> {
  const kept = await readKeptUsage(deps.db, tenantId)
  if (kept === undefined) return
  const queuedMax = Math.max(kept.queued, kept.queuedMax ?? 0) + 1
  const counted = await countUsage(deps.db, deps, { tenantId, now: kept.now, queuedMax })
  await correctUsage(deps.db, tenantId, kept, counted)
}

/** Of each recipient beside the content: what acceptance counts, and what is left without the content. */
export const RECIPIENT_BYTES = 1024

/**
 * What was accepted today (UTC), what waits, and the bytes of what is kept: emails leave by whole days, and so does
 * their content.
 */
export async function countUsages(
  q: Queryable,
  deps: Omit<UsageDeps, 'db'>,
  o: { readonly tenantIds: readonly string[]; readonly now: Date; readonly queuedMax: number },
): Promise<ReadonlyMap<string, CountedUsage>> {
  const nowMs = o.now.getTime()
  const { tenantIds } = o
  const ofTenants = { tenantIds, subject: usageSubject, since: dayOf(nowMs) }
  const oldest = dayOf(nowMs - deps.retentionMs)
  const withContent = dayOf(nowMs - deps.contentRetentionMs)
  const [sums, older, queued] = await Promise.all([
    readCounterSums(q, { ...ofTenants, from: withContent, before: dayOf(nowMs + DAY_MS) }),
    withContent > oldest
      ? readCounterSums(q, { ...ofTenants, from: oldest, before: withContent })
      : [],
    deps.countQueued(q, tenantIds, o.queuedMax),
  ])
  const sumIn = (all: readonly CounterSum[], tenantId: string, name: string) =>
    all.find((one) => one.tenantId === tenantId && one.name === name)
  return new Map(
    tenantIds.map((tenantId) => [
      tenantId,
      {
        emailsToday: sumIn(sums, tenantId, usageNames.emails)?.nSince ?? 0,
        queued: queued.get(tenantId) ?? 0,
        storageBytes:
          (sumIn(sums, tenantId, usageNames.bytes)?.n ?? 0) +
          (sumIn(older, tenantId, usageNames.emails)?.n ?? 0) * RECIPIENT_BYTES,
      },
    ]),
  )
}

/** How many recipients of test mail each of the tenants may still have today (UTC). */
export async function readTestsLeft(
  q: Queryable,
  tenantIds: readonly string[],
  now: Date,
): Promise<ReadonlyMap<string, number>> {
  if (tenantIds.length === 0) return new Map()
  const today = dayOf(now.getTime())
  const sums = await readCounterSums(q, {
    ...{ tenantIds, subject: usageSubject, from: today, since: today },
    before: dayOf(now.getTime() + DAY_MS),
  })
  const used = new Map(
    sums.flatMap(({ tenantId, name, n }) => (name === usageNames.tests ? [[tenantId, n]] : [])),
  )
  return new Map(tenantIds.map((id) => [id, testEmailsPerDayMax - (used.get(id) ?? 0)]))
}

export async function countUsage(
  q: Queryable,
  deps: Omit<UsageDeps, 'db'>,
  { tenantId, ...o }: { readonly tenantId: string; readonly now: Date; readonly queuedMax: number },
): Promise<CountedUsage> {
  const counted = await countUsages(q, deps, { ...o, tenantIds: [tenantId] })
  return counted.get(tenantId) ?? { emailsToday: 0, queued: 0, storageBytes: 0 }
}

function dayOf(ms: number): Date {
  return new Date(Math.floor(ms / DAY_MS) * DAY_MS)
}

// In one order everywhere: two transactions wait for each other in one direction only.
const LOCK_TESTS = statement(
  'tenants.lock_tests',
  `select pg_advisory_xact_lock(hashtextextended('tenants.tests ' || t.id, 0))
     from (select unnest($1::text[]) as id order by 1) t`,
)

/**
 * Whether the test mail of the day still fits, with what others have committed meanwhile. Asked at the end of a
 * transaction: others are answered when it is over.
 */
export async function doTestsFit(
  tx: Tx,
  tenantIds: readonly string[],
  now: Date,
): Promise<boolean> {
  if (tenantIds.length === 0) return true
  await tx.query(LOCK_TESTS, [tenantIds])
  const left = await readTestsLeft(tx, tenantIds, now)
  return [...left.values()].every((emails) => emails >= 0)
}
