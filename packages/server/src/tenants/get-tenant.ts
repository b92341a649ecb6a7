/** A tenant with what it uses of its quotas (docs/reference/operator.md#usage). */
import type { Tenant, TenantUsage } from '@postrider/contract'
import { readCounters } from '../platform/counter-store.ts'
import type { Db, Queryable } from '../platform/db/index.ts'
import { ApiError } from '../platform/errors.ts'
import { toWireTenant } from './list-tenants.ts'
import { readSenders } from './sender-store.ts'
import { findTenant } from './state-store.ts'

export interface TenantDeps {
  readonly db: Db
  /** For how long emails are kept. */
  readonly retentionMs: number
  /** How many recipients of a tenant wait, counted up to `max`. */
  readonly countQueued: (q: Queryable, tenantId: string, max: number) => Promise<number>
}

/** By which acceptance counts what a tenant uses (platform/counter-store.ts). */
export const usageSubject = ''
export const usageNames = { emails: 'recipients', bytes: 'stored_bytes' } as const

const DAY_MS = 86_400_000
const QUEUED_MAX = 100_000

/** Throws `not_found`. */
export async function getTenant(deps: TenantDeps, tenantId: string): Promise<Tenant> {
  const tenant = await findTenant(deps.db, tenantId)
  if (tenant === undefined) throw new ApiError('not_found')
  return { ...toWireTenant(tenant), usage: await readUsage(deps, tenantId) }
}

async function readUsage(deps: TenantDeps, tenantId: string): Promise<TenantUsage> {
  const [kept, queued] = await Promise.all([
    readAccepted(deps.db, tenantId, deps.retentionMs),
    deps.countQueued(deps.db, tenantId, QUEUED_MAX),
  ])
  return { emails_today: kept.emailsToday, queued, storage_bytes: kept.bytes }
}

/** What was accepted today (UTC), and the bytes of what is kept: emails leave by whole days. */
async function readAccepted(
  q: Queryable,
  tenantId: string,
  retentionMs: number,
): Promise<{ readonly emailsToday: number; readonly bytes: number }> {
  const { now } = await readSenders(q, [])
  const counters = await readCounters(q, {
    ...{ tenantId, subject: usageSubject, interval: 'day' },
    from: dayOf(now.getTime() - retentionMs),
    before: dayOf(now.getTime() + DAY_MS),
  })
  const today = dayOf(now.getTime()).getTime()
  const sum = (name: string, fromMs: number) =>
    counters
      .filter((one) => one.name === name && one.at.getTime() >= fromMs)
      .reduce((total, { n }) => total + n, 0)
  return { emailsToday: sum(usageNames.emails, today), bytes: sum(usageNames.bytes, 0) }
}

function dayOf(ms: number): Date {
  return new Date(Math.floor(ms / DAY_MS) * DAY_MS)
}
