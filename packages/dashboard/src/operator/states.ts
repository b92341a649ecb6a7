/** How states of the operator's screens look, and what follows from numbers that stand beside each other. */
import type { ApiKey, HealthState, OperatedQueue, TenantState } from '@postrider/client'
import type { Tone } from '../ui/state-mark.tsx'

export const tenantTones: Readonly<Record<TenantState, Tone>> = {
  active: 'good',
  suspended: 'warn',
  deleting: 'bad',
}

export const healthTones: Readonly<Record<HealthState, Tone>> = {
  ok: 'good',
  warning: 'warn',
  failed: 'bad',
}

/** Failed ones first, then warnings; else in the order of the look. */
export function worstFirst<Check extends { readonly state: HealthState }>(
  checks: readonly Check[],
): Check[] {
  const rank = (state: HealthState) => ['failed', 'warning', 'ok'].indexOf(state)
  return checks.toSorted((a, b) => rank(a.state) - rank(b.state))
}

export function queueTone({ late, state }: Pick<OperatedQueue, 'late' | 'state'>): Tone {
  if (late) return 'bad'
  if (state === 'active') return 'good'
  return state === 'deactivated' || state === 'failing' || state === 'dormant' ? 'warn' : 'muted'
}

export type KeyState = 'valid' | 'expired' | 'revoked'

export function stateOfKey(key: Pick<ApiKey, 'expires_at' | 'revoked_at'>, now: Date): KeyState {
  if (key.revoked_at !== null) return 'revoked'
  return key.expires_at !== null && new Date(key.expires_at) <= now ? 'expired' : 'valid'
}

export const keyTones: Readonly<Record<KeyState, Tone>> = {
  valid: 'good',
  expired: 'muted',
  revoked: 'muted',
}

/** Of an entry of the audit log: null when the process ended before it answered. */
export function outcomeOf(status: number | null): 'done' | 'refused' | 'unfinished' {
  if (status === null) return 'unfinished'
  return status < 400 ? 'done' : 'refused'
}

/** What somebody typed for a quota; thousands may stand apart. Undefined: it is none. */
export function readQuota(text: string): number | null | undefined {
  const typed = text.trim()
  if (typed === '') return null
  if (!/^(?:\d+|\d{1,3}(?:[\s.,'’_]\d{3})+)$/.test(typed)) return undefined
  const value = Number(typed.replaceAll(/\D/g, ''))
  return Number.isSafeInteger(value) ? value : undefined
}
