/** Changes a tenant: its name, whether it may send, its quotas (docs/reference/operator.md#suspension). */
import { setTimeout } from 'node:timers/promises'
import {
  type AuditedChange,
  type Quotas,
  quotaNames,
  type Tenant,
  type UpdateTenantBody,
} from '@postrider/contract'
import type { Db } from '../platform/db/index.ts'
import { ApiError } from '../platform/errors.ts'
import { checkName } from './check-name.ts'
import { getTenant } from './get-tenant.ts'
import { startUsage, usageReaders } from './quotas/quota-store.ts'
import { countUsage, recountUsage, type UsageDeps } from './quotas/recount-usage.ts'
import { readSenders } from './quotas/sender-store.ts'
import { lockTenant, storeTenant } from './state-store.ts'

/** A commit takes milliseconds. */
const READERS_LOOK_MS = 20
const READERS_WAIT_MAX_MS = 5_000

/**
 * Throws `not_found`; `conflict` for a tenant that is being deleted.
 *
 * @param note gets what has changed as soon as it is committed
 */
export async function updateTenant(
  deps: UsageDeps,
  tenantId: string,
  change: UpdateTenantBody,
  note: (changes: readonly AuditedChange[]) => void = () => undefined,
): Promise<Tenant> {
  if (change.name !== undefined) checkName(change.name)
  const { changes, isFirst } = await deps.db.transaction(async (tx) => {
    const before = await lockTenant(tx, tenantId)
    if (before === undefined) throw new ApiError('not_found')
    if (before.state === 'deleting')
      throw new ApiError('conflict', { message: 'The tenant is being deleted' })
    const quotas = mergeQuotas(before.quotas, change.quotas)
    const after = {
      name: change.name ?? before.name,
      state: change.state ?? before.state,
      quotas,
    }
    await storeTenant(tx, tenantId, after)
    const changes = changesOf(before, after)
    if (!hasAny(quotas) || hasAny(before.quotas)) return { changes, isFirst: false }
    const { now } = await readSenders(tx, [])
    const queuedMax = (quotas.queued_max ?? 0) + 1
    const counted = await countUsage(tx, deps, { tenantId, now, queuedMax })
    await startUsage(tx, tenantId, { ...counted, now })
    return { changes, isFirst: true }
  })
  note(changes)
  if (isFirst) await outlastReaders(deps.db)
  // After the commit, from which on acceptance adds to the usage: what was accepted just before it.
  if (change.quotas !== undefined) await recountUsage(deps, tenantId)
  return getTenant(deps, tenantId)
}

type Settings = Pick<Tenant, 'name' | 'state' | 'quotas'>

function changesOf(before: Settings, after: Settings): AuditedChange[] {
  const settings = ({ name, state, quotas }: Settings): [string, string | number | null][] => [
    ['/name', name],
    ['/state', state],
    ...quotaNames.map((quota): [string, number | null] => [`/quotas/${quota}`, quotas[quota]]),
  ]
  const then = new Map(settings(before))
  return settings(after).flatMap(([path, value]) => {
    const old = then.get(path) ?? null
    return old === value ? [] : [{ path, before: old, after: value }]
  })
}

/** Emails whose transaction began without a quota add nothing to the usage: they are counted when it has ended. */
async function outlastReaders(db: Db): Promise<void> {
  const endMs = performance.now() + READERS_WAIT_MAX_MS
  let readers = await usageReaders(db)
  while (readers.length > 0 && performance.now() < endMs) {
    await setTimeout(READERS_LOOK_MS)
    readers = await usageReaders(db, readers)
  }
}

/** What is left out stays. */
function mergeQuotas(before: Quotas, change: UpdateTenantBody['quotas']): Quotas {
  if (change === undefined) return before
  const quotaOf = (name: keyof Quotas) => {
    const value = change === null ? null : change[name]
    return value === undefined ? before[name] : value
  }
  return {
    emails_per_second: quotaOf('emails_per_second'),
    emails_per_day: quotaOf('emails_per_day'),
    queued_max: quotaOf('queued_max'),
    storage_bytes_max: quotaOf('storage_bytes_max'),
  }
}

function hasAny(quotas: Quotas): boolean {
  return quotaNames.some((name) => quotas[name] !== null)
}
