/**
 * Looks for what goes wrong (docs/reference/alerts.md): of the tenants whose alerts somebody gets, or of all.
 *
 * Each look is bounded in rows, of all tenants and of each, and in time. What is open is read before what is new.
 * So one that finds more than it may read begins fewer alerts, and ends all that are over. One that fails ends
 * nothing. Sums and quotas move slowly, and are read once a minute.
 */
import {
  type AlertKind,
  bounceRateMax,
  bounceRateOfMin,
  complaintRateMax,
  complaintRateOfMin,
  quotaNearShare,
} from '@postrider/contract'
import { findInvalidDomains } from '../domains/index.ts'
import { findDeactivated, findHeldOf, findLate } from '../mailers/index.ts'
import { readTenantSums } from '../platform/counters/counter-store.ts'
import { type Db, readInOrder, type Tx } from '../platform/db/index.ts'
import { bucketCount } from '../platform/db/leases.ts'
import type { CaseLimits } from '../platform/limits/case-limits.ts'
import type { DiskGuard } from '../platform/process/disk-guard.ts'
import { discoverQueues, findBlamedOf } from '../sending/index.ts'
import { findUsedQuotas, type UsageCounts } from '../tenants/index.ts'
import { listFailing } from '../webhooks/index.ts'
import { type Condition, type ConditionKey, keyOf, operator, type Sight } from './alert.ts'

export interface LookDeps {
  readonly db: Db
  readonly disk: Pick<DiskGuard, 'isOpen'>
  readonly usageCounts: UsageCounts
  /** A look that fails says so here. */
  readonly onFailed: (kinds: readonly AlertKind[], error: unknown) => void
  /** A look finds more than it may read: of a tenant, or of all where there is none. */
  readonly onTooMany: (kind: AlertKind, tenantId: string | undefined) => void
  readonly rowsMax?: number
  readonly rowsPerTenantMax?: number
}

export interface LookScope {
  /** Null: all tenants. */
  readonly tenantIds: readonly string[] | null
  readonly open: readonly ConditionKey[]
  /** With what is read once a minute. */
  readonly isWithSlow: boolean
  readonly now: Date
}

/** Of one kind. Beyond it, what is open would end before it is over. */
const ROWS_MAX = 10_000
const ROWS_PER_TENANT_MAX = 100
const STATEMENT_TIMEOUT_MS = 5_000
const HOURS = 24
const OVER_SHARE = 0.9
const NEAR_SHARE = quotaNearShare * OVER_SHARE
/** Counting what tenants near a quota use, before they are looked at. */
const COUNTS_MS_MAX = 5_000
const everyBucket = Array.from({ length: bucketCount }, (_, bucket) => bucket)

type Look = readonly [readonly AlertKind[], (tx: Tx) => Promise<Sight[]>]

/** A look with its bounds. */
interface Looker extends LookScope {
  /** What is open already is over only well below its limit. */
  isOpen(kind: AlertKind, tenantId: string, subject: string): boolean
  limitsOf(...kinds: readonly AlertKind[]): CaseLimits
  /** The same, and says so where they are as many as may be read. */
  counted<Case extends { readonly tenantId: string }>(
    kind: AlertKind,
    found: readonly Case[],
  ): readonly Case[]
}

function lookerOf(deps: LookDeps, scope: LookScope): Looker {
  const { rowsMax: max = ROWS_MAX, rowsPerTenantMax: perTenantMax = ROWS_PER_TENANT_MAX } = deps
  const keys = new Set(scope.open.map(keyOf))
  return {
    ...scope,
    isOpen: (kind, tenantId, subject) => keys.has(keyOf({ kind, tenantId, subject })),
    limitsOf(...kinds) {
      const open = scope.open.filter(({ kind }) => kinds.includes(kind))
      return {
        ...{ tenantIds: scope.tenantIds, perTenantMax, max },
        open: {
          tenantIds: open.map(({ tenantId }) => tenantId),
          subjects: open.map(({ subject }) => subject),
        },
      }
    },
    counted(kind, found) {
      if (found.length >= max) deps.onTooMany(kind, undefined)
      for (const [tenantId, own] of Map.groupBy(found, (one) => one.tenantId))
        if (own.length >= perTenantMax) deps.onTooMany(kind, tenantId)
      return found
    },
  }
}

export async function look(deps: LookDeps, scope: LookScope): Promise<Sight[]> {
  const looker = lookerOf(deps, scope)
  const looks: Look[] = [
    [['mailer_deactivated', 'webhook_failing'], (tx) => lookAtStates(tx, looker)],
    [['mailer_failing', 'queue_late'], (tx) => lookAtQueues(tx, looker)],
  ]
  if (scope.isWithSlow) {
    const uncounted = await countNear(deps, looker)
    looks.push(
      [['bounce_rate', 'complaint_rate'], (tx) => lookAtRates(tx, looker)],
      [['quota_near', 'domain_invalid'], (tx) => lookAtTenants(tx, looker, uncounted)],
    )
  }
  const sights: Sight[] = [lookAtDisk(deps)]
  for (const [kinds, read] of looks)
    try {
      const seen = await readInOrder(deps.db, async (tx) => {
        await tx.query(`set local statement_timeout = ${STATEMENT_TIMEOUT_MS}`)
        return await read(tx)
      })
      sights.push(...seen)
    } catch (error) {
      deps.onFailed(kinds, error)
    }
  return sights
}

/** The service's own: no tenant is told. */
function lookAtDisk({ disk }: LookDeps): Sight {
  const details = { tenant_id: null, says: 'New email is refused with 503' }
  const condition = { tenantId: operator, kind: 'disk_full', subject: 'disk', details } as const
  return sightOf('disk_full', disk.isOpen() ? [] : [condition])
}

async function lookAtStates(tx: Tx, { limitsOf, counted }: Looker): Promise<Sight[]> {
  const deactivated = await findDeactivated(tx, limitsOf('mailer_deactivated'))
  const mailers = counted('mailer_deactivated', deactivated)
  const failing = await listFailing(tx, limitsOf('webhook_failing'))
  const webhooks = counted('webhook_failing', failing)
  return [
    sightOf(
      'mailer_deactivated',
      mailers.map(({ tenantId, mailerId, email, reason, evidence, since }) => ({
        ...{ tenantId, kind: 'mailer_deactivated', subject: mailerId },
        details: {
          ...{ tenant_id: tenantId, mailer_id: mailerId, email, failed_reason: reason },
          ...{ provider_error: evidence, since: since.toISOString() },
        },
      })),
    ),
    sightOf(
      'webhook_failing',
      webhooks.map(({ tenantId, webhookId, since }) => ({
        ...{ tenantId, kind: 'webhook_failing', subject: webhookId },
        details: {
          ...{ tenant_id: tenantId, webhook_id: webhookId },
          since: since?.toISOString() ?? null,
        },
      })),
    ),
  ]
}

async function lookAtQueues(tx: Tx, scope: Looker): Promise<Sight[]> {
  const among = scope.tenantIds === null ? undefined : new Set(scope.tenantIds)
  const found = (await discoverQueues(tx, everyBucket)).filter(
    ({ tenantId }) => among?.has(tenantId) ?? true,
  )
  const held = new Set(
    (await findHeldOf(tx, found)).map(({ tenantId, mailerId }) => `${tenantId} ${mailerId}`),
  )
  const looked = chooseQueues(
    scope,
    found.filter(({ tenantId, mailerId }) => !held.has(`${tenantId} ${mailerId}`)),
  )
  const ages = new Map<string, { tenantId: string; mailerId: string; dueForMs: number }>()
  for (const { tenantId, mailerId, waitMs } of looked) {
    const known = ages.get(mailerId)
    if (known === undefined || known.dueForMs < -waitMs)
      ages.set(mailerId, { tenantId, mailerId, dueForMs: -waitMs })
  }
  const late = await findLate(tx, [...ages.values()])
  const blamed = await findBlamedOf(tx, looked)
  return [
    sightOf(
      'mailer_failing',
      blamed.map(({ tenantId, mailerId, failedReason, providerError }) => ({
        ...{ tenantId, kind: 'mailer_failing', subject: mailerId },
        details: {
          ...{ tenant_id: tenantId, mailer_id: mailerId },
          ...{ failed_reason: failedReason, provider_error: providerError },
        },
      })),
    ),
    sightOf(
      'queue_late',
      late.map(({ tenantId, mailerId, host, dueForMs }) => ({
        ...{ tenantId, kind: 'queue_late', subject: mailerId },
        details: {
          ...{ tenant_id: tenantId, mailer_id: mailerId, host },
          due_since: new Date(toSecond(scope.now.getTime() - dueForMs)).toISOString(),
        },
      })),
    ),
  ]
}

/** Two clocks tell it: within a second it is the same at each look. */
function toSecond(ms: number): number {
  return Math.round(ms / 1_000) * 1_000
}

/** Of each tenant those of mailers with an open alert, then those that have waited for the longest. */
function chooseQueues<
  Queue extends { readonly tenantId: string; readonly mailerId: string; readonly waitMs: number },
>({ isOpen, limitsOf, counted }: Looker, queues: readonly Queue[]): readonly Queue[] {
  const { max, perTenantMax } = limitsOf('mailer_failing', 'queue_late')
  const sorted = queues
    .map((queue) => {
      const { tenantId, mailerId } = queue
      const isOfOpen =
        isOpen('mailer_failing', tenantId, mailerId) || isOpen('queue_late', tenantId, mailerId)
      return { queue, isOfOpen }
    })
    .sort((a, b) => Number(b.isOfOpen) - Number(a.isOfOpen) || a.queue.waitMs - b.queue.waitMs)
  const placed = [...Map.groupBy(sorted, ({ queue }) => queue.tenantId).values()].flatMap((own) =>
    own.slice(0, perTenantMax).map((one, place) => ({ ...one, place })),
  )
  const chosen = placed
    .sort((a, b) => Number(b.isOfOpen) - Number(a.isOfOpen) || a.place - b.place)
    .slice(0, max)
    .map(({ queue }) => queue)
  return counted('queue_late', chosen)
}

async function lookAtRates(tx: Tx, { tenantIds, isOpen, now }: Looker): Promise<Sight[]> {
  const from = new Date(now.getTime() - HOURS * 3_600_000)
  const names = ['delivered', 'failed', 'expired', 'bounced', 'complained']
  const sums = await readTenantSums(tx, { tenantIds, from, names })
  const bounces: Condition[] = []
  const complaints: Condition[] = []
  for (const [tenantId, counts] of sums) {
    const of = (name: string) => counts.get(name) ?? 0
    const judge = (
      kind: 'bounce_rate' | 'complaint_rate',
      o: { part: number; whole: number; wholeMin: number; max: number },
    ) => {
      const limit = isOpen(kind, tenantId, tenantId) ? o.max * OVER_SHARE : o.max
      if (o.whole < o.wholeMin || o.part < o.whole * limit) return []
      const rate = Math.round((o.part / o.whole) * 10_000) / 10_000
      const details = { tenant_id: tenantId, rate, limit: o.max, of: o.whole, hours: HOURS }
      return [{ tenantId, kind, subject: tenantId, details }]
    }
    const failed = of('failed') + of('bounced')
    const ended = failed + of('delivered') + of('expired')
    const bounced = { part: failed, whole: ended, wholeMin: bounceRateOfMin, max: bounceRateMax }
    bounces.push(...judge('bounce_rate', bounced))
    const complained = { part: of('complained'), whole: of('delivered') }
    const bounds = { wholeMin: complaintRateOfMin, max: complaintRateMax }
    complaints.push(...judge('complaint_rate', { ...complained, ...bounds }))
  }
  return [sightOf('bounce_rate', bounces), sightOf('complaint_rate', complaints)]
}

/**
 * Acceptance only adds to what it keeps of the queue and of stored emails, so that is counted anew for tenants that
 * seem near. Answers those for which there was no time.
 */
async function countNear(
  { db, usageCounts, onFailed }: LookDeps,
  { limitsOf }: Looker,
): Promise<ReadonlySet<string>> {
  const endMs = performance.now() + COUNTS_MS_MAX
  const uncounted = new Set<string>()
  try {
    const used = await findUsedQuotas(db, limitsOf('quota_near'), NEAR_SHARE)
    for (const { tenantId, quota } of used) if (quota !== 'emails_per_day') uncounted.add(tenantId)
    for (const tenantId of [...uncounted]) {
      if (performance.now() >= endMs) break
      await usageCounts.freshen(tenantId)
      uncounted.delete(tenantId)
    }
  } catch (error) {
    onFailed(['quota_near'], error)
  }
  return uncounted
}

/** A quota of a tenant that was not counted stays as it was. */
async function lookAtTenants(
  tx: Tx,
  { isOpen, limitsOf, counted }: Looker,
  uncounted: ReadonlySet<string>,
): Promise<Sight[]> {
  const used = counted('quota_near', await findUsedQuotas(tx, limitsOf('quota_near'), NEAR_SHARE))
  const near = used.filter(({ tenantId, quota, used: n, max }) => {
    if (isOpen('quota_near', tenantId, quota)) return true
    const isCounted = quota === 'emails_per_day' || !uncounted.has(tenantId)
    return isCounted && n >= max * quotaNearShare
  })
  const invalid = await findInvalidDomains(tx, limitsOf('domain_invalid'))
  const domains = counted('domain_invalid', invalid)
  return [
    sightOf(
      'quota_near',
      near.map(({ tenantId, quota, used: n, max }) => ({
        ...{ tenantId, kind: 'quota_near', subject: quota },
        details: { tenant_id: tenantId, quota, used: n, max },
      })),
    ),
    sightOf(
      'domain_invalid',
      domains.map(({ tenantId, domain, mailerId }) => ({
        ...{ tenantId, kind: 'domain_invalid', subject: domain },
        details: { tenant_id: tenantId, domain, mailer_id: mailerId },
      })),
    ),
  ]
}

function sightOf(kind: AlertKind, conditions: readonly Condition[]): Sight {
  return { kind, conditions }
}
