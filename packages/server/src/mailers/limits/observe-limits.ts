/** The limits that hold for a mailer, and how far they are used up. */
import type { Queryable } from '../../platform/db/index.ts'
import { observeMailers } from '../state/observe-store.ts'
import type { MailerKey } from '../state/state-store.ts'
import { type UsedLimit, usedOf } from './decide-permission.ts'
import { limitsOf } from './find-late.ts'

export interface ObservedLimits {
  readonly rates: readonly UsedLimit[]
  /** At once. */
  readonly connections: number
}

/** Undefined when there is no such mailer. */
export async function observeLimits(
  q: Queryable,
  key: MailerKey,
): Promise<ObservedLimits | undefined> {
  const [observed] = await observeMailers(q, [key])
  if (observed === undefined) return undefined
  const { mailer, used, nowMs } = observed
  const limits = limitsOf(mailer)
  return { rates: usedOf(limits, used, nowMs), connections: limits.connections }
}
