/** How near a tenant is to its quotas, and which emails lead there. */
import type { QuotaName, Quotas, TenantUsage } from '@postrider/client'
import type { EmailsSearch, LogStatus } from '../emails/emails-search.ts'
import type { Tone } from '../ui/state-mark.tsx'

/** What is used within a second is kept by nobody. */
export type UsedQuota = Exclude<QuotaName, 'emails_per_second'>

const usedBy = {
  emails_per_day: 'emails_today',
  queued_max: 'queued',
  storage_bytes_max: 'storage_bytes',
} as const satisfies Readonly<Record<UsedQuota, keyof TenantUsage>>

/** In the order in which they are shown. */
export const usedQuotas = Object.keys(usedBy) as readonly UsedQuota[]

export interface UsageAndQuotas {
  readonly quotas: Quotas
  readonly usage: TenantUsage
}

/** From which share on a quota is near; the alert `quota_near` has the same. */
const nearShare = 0.8

export type Nearness = 'far' | 'near' | 'reached'
export const nearnessTones: Readonly<Record<Nearness, Tone>> = {
  far: 'good',
  near: 'warn',
  reached: 'bad',
}

export interface Used {
  readonly used: number
  /** Null: no quota. */
  readonly max: number | null
  readonly left: number
  /** Beyond 1 where more is used than the quota allows since it was changed. */
  readonly share: number
  readonly nearness: Nearness
}

export function usedOf(name: UsedQuota, { quotas, usage }: UsageAndQuotas): Used {
  const used = usage[usedBy[name]]
  const max = quotas[name]
  if (max === null) return { used, max, left: 0, share: 0, nearness: 'far' }
  return {
    ...{ used, max },
    left: Math.max(0, max - used),
    // Nothing fits a quota of nothing, and what is not reached is not 100 %.
    share: max === 0 ? 1 : Math.floor((used * 1_000) / max) / 1_000,
    nearness: used >= max ? 'reached' : used >= nearShare * max ? 'near' : 'far',
  }
}

/** Those that are near or reached. */
export function nearQuotas(of: UsageAndQuotas) {
  return usedQuotas.flatMap((name) => {
    const { nearness } = usedOf(name, of)
    return nearness === 'far' ? [] : [{ name, nearness }]
  })
}

export interface QuotaList {
  /** Undefined: whatever the status. */
  readonly status: LogStatus | undefined
  readonly search: EmailsSearch
}

const waiting = ['queued', 'deferred', 'held', 'scheduled'] as const

/** The lists of emails that count in it. The day of `now` is UTC's, as that of the quota. */
export function listsOf(name: UsedQuota, now: Date): readonly QuotaList[] {
  if (name === 'queued_max') return waiting.map((status) => ({ status, search: { status } }))
  const search = name === 'emails_per_day' ? { from: now.toISOString().slice(0, 10) } : {}
  return [{ status: undefined, search }]
}
