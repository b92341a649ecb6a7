/**
 * Looks for what goes wrong (docs/reference/alerts.md): of the tenants whose alerts somebody gets, or of all.
 *
 * Each look is bounded in rows and time. One that fails, or that finds more than it may read, ends nothing:
 * what it has not seen may go on. Sums and quotas move slowly, and are read once a minute.
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
import type { DiskGuard } from '../platform/process/disk-guard.ts'
import { discoverQueues, findBlamedOf } from '../sending/index.ts'
import { findUsedQuotas } from '../tenants/index.ts'
import { listFailing } from '../webhooks/index.ts'
import { type Condition, operator, type Sight } from './alert.ts'

export interface LookDeps {
  readonly db: Db
  readonly disk: Pick<DiskGuard, 'isOpen'>
  /** A look that fails says so here. */
  readonly onFailed: (kinds: readonly AlertKind[], error: unknown) => void
  readonly rowsMax?: number
}

export interface LookScope {
  /** Null: all tenants. */
  readonly tenantIds: readonly string[] | null
  /** What is open already is over only well below its limit. */
  readonly isOpen: (kind: AlertKind, tenantId: string, subject: string) => boolean
  /** With what is read once a minute. */
  readonly isWithSlow: boolean
  readonly now: Date
}

/** Of one kind. */
const ROWS_MAX = 1_000
const STATEMENT_TIMEOUT_MS = 5_000
const HOURS = 24
const OVER_SHARE = 0.9
const everyBucket = Array.from({ length: bucketCount }, (_, bucket) => bucket)

type Look = readonly [readonly AlertKind[], (tx: Tx) => Promise<Sight[]>]

export async function look(deps: LookDeps, scope: LookScope): Promise<Sight[]> {
  const { rowsMax = ROWS_MAX } = deps
  const looks: Look[] = [
    [['mailer_deactivated', 'webhook_failing'], (tx) => lookAtStates(tx, scope, rowsMax)],
    [['mailer_failing', 'queue_late'], (tx) => lookAtQueues(tx, scope, rowsMax)],
  ]
  if (scope.isWithSlow)
    looks.push(
      [['bounce_rate', 'complaint_rate'], (tx) => lookAtRates(tx, scope)],
      [['quota_near', 'domain_invalid'], (tx) => lookAtTenants(tx, scope, rowsMax)],
    )
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

async function lookAtStates(tx: Tx, { tenantIds }: LookScope, rowsMax: number): Promise<Sight[]> {
  const mailers = await findDeactivated(tx, tenantIds, rowsMax)
  const webhooks = await listFailing(tx, tenantIds, rowsMax)
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
      mailers.length < rowsMax,
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
      webhooks.length < rowsMax,
    ),
  ]
}

async function lookAtQueues(tx: Tx, scope: LookScope, rowsMax: number): Promise<Sight[]> {
  const among = scope.tenantIds === null ? undefined : new Set(scope.tenantIds)
  const found = (await discoverQueues(tx, everyBucket)).filter(
    ({ tenantId }) => among?.has(tenantId) ?? true,
  )
  const held = new Set(
    (await findHeldOf(tx, found)).map(({ tenantId, mailerId }) => `${tenantId} ${mailerId}`),
  )
  const queues = found
    .filter(({ tenantId, mailerId }) => !held.has(`${tenantId} ${mailerId}`))
    .sort((a, b) => a.waitMs - b.waitMs)
  const looked = queues.slice(0, rowsMax)
  const isWhole = looked.length === queues.length
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
      isWhole,
    ),
    sightOf(
      'queue_late',
      late.map(({ tenantId, mailerId, host, dueForMs }) => ({
        ...{ tenantId, kind: 'queue_late', subject: mailerId },
        details: {
          ...{ tenant_id: tenantId, mailer_id: mailerId, host },
          due_since: new Date(scope.now.getTime() - dueForMs).toISOString(),
        },
      })),
      isWhole,
    ),
  ]
}

async function lookAtRates(tx: Tx, { tenantIds, isOpen, now }: LookScope): Promise<Sight[]> {
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

async function lookAtTenants(tx: Tx, scope: LookScope, rowsMax: number): Promise<Sight[]> {
  const { tenantIds, isOpen } = scope
  const share = quotaNearShare * OVER_SHARE
  const used = await findUsedQuotas(tx, { tenantIds, share, limit: rowsMax })
  const near = used.filter(
    ({ tenantId, quota, used: n, max }) =>
      n >= max * quotaNearShare || isOpen('quota_near', tenantId, quota),
  )
  const domains = await findInvalidDomains(tx, tenantIds, rowsMax)
  return [
    sightOf(
      'quota_near',
      near.map(({ tenantId, quota, used: n, max }) => ({
        ...{ tenantId, kind: 'quota_near', subject: quota },
        details: { tenant_id: tenantId, quota, used: n, max },
      })),
      used.length < rowsMax,
    ),
    sightOf(
      'domain_invalid',
      domains.map(({ tenantId, domain, mailerId }) => ({
        ...{ tenantId, kind: 'domain_invalid', subject: domain },
        details: { tenant_id: tenantId, domain, mailer_id: mailerId },
      })),
      domains.length < rowsMax,
    ),
  ]
}

function sightOf(kind: AlertKind, conditions: readonly Condition[], isWhole = true): Sight {
  return { kind, conditions, isWhole }
}
