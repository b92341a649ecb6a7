/**
 * Which mailers have due mail that waits for something else than their limits
 * (docs/reference/running.md#late-queues: a queue is late when its oldest due mail is older than 60 s and
 * than twice its limit allows).
 */
import type { Queryable } from '../../platform/db/index.ts'
import type { Mailer } from '../mailer.ts'
import { observeMailers } from '../state/observe-store.ts'
import type { MailerKey } from '../state/state-store.ts'
import { explainsWait } from './decide-permission.ts'
import { effectiveDomainLimits, effectiveLimits } from './limits.ts'

export const LATE_AFTER_MS = 60_000

export interface WaitingMailer extends MailerKey {
  /** For how long its oldest due mail has been due. */
  readonly dueForMs: number
}

export interface LateMailer extends WaitingMailer {
  /** A mail server, or a relay provider. */
  readonly host: string
}

/** The longest first. A mailer that is gone is not late: its mail fails at the next attempt. */
export async function findLate(
  q: Queryable,
  waiting: readonly WaitingMailer[],
): Promise<LateMailer[]> {
  const old = waiting.filter(({ dueForMs }) => dueForMs > LATE_AFTER_MS)
  const ages = new Map(old.map(({ mailerId, dueForMs }) => [mailerId, dueForMs]))
  const observed = await observeMailers(q, old)
  return observed
    .flatMap(({ mailer, used, nowMs }) => {
      const { tenantId, mailerId } = mailer
      const dueForMs = ages.get(mailerId) ?? 0
      if (explainsWait(limitsOf(mailer), used, { dueForMs, nowMs })) return []
      return [{ tenantId, mailerId, dueForMs, host: serverOf(mailer) }]
    })
    .sort((a, b) => b.dueForMs - a.dueForMs)
}

export function limitsOf(mailer: Mailer) {
  return mailer.connectionType === 'relay' ? effectiveDomainLimits(mailer) : effectiveLimits(mailer)
}

export function serverOf(mailer: Mailer): string {
  return mailer.connectionType === 'relay' ? mailer.config.relay : mailer.config.host
}
