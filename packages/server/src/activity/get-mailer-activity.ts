/** getMailerActivity: what a mailer did in the last 24 hours, and what its mail waits for. */
import type { MailerActivity } from '@postrider/contract'
import { isDomainMailer, listErrors, observeLimits } from '../mailers/index.ts'
import type { Clock } from '../platform/clock.ts'
import { readCounters } from '../platform/counters/counter-store.ts'
import { type Db, readInOrder } from '../platform/db/index.ts'
import { ApiError } from '../platform/errors.ts'
import { measureMailerQueue } from '../sending/index.ts'

const STEP_MS = 600_000
const STEPS = 24 * 6
const REPLIES_MAX = 10

/** Throws `not_found`. */
export async function getMailerActivity(
  { db, clock }: { readonly db: Db; readonly clock: Pick<Clock, 'now'> },
  tenantId: string,
  mailerId: string,
): Promise<MailerActivity> {
  const limits = await observeLimits(db, { tenantId, mailerId })
  if (limits === undefined) throw new ApiError('not_found')
  // One after the other: the limit of reads at once counts on one connection for each.
  const nowMs = clock.now().getTime()
  const intervals = await readIntervals(db, { tenantId, mailerId, nowMs })
  const queue = await readInOrder(db, (tx) => measureMailerQueue(tx, { tenantId, mailerId }))
  const replies = await listErrors(db, tenantId, [mailerId], REPLIES_MAX)
  const { waiting, due, held, oldestDueAt } = queue
  const waitMs = Math.max(0, ...limits.rates.map((rate) => rate.waitMs))
  return {
    mailer_id: mailerId,
    intervals,
    queue: { waiting, due, held, oldest_due_at: oldestDueAt?.toISOString() ?? null },
    limits: {
      rates: limits.rates.map(({ waitMs: wait_ms, ...rate }) => ({ ...rate, wait_ms })),
      connections: limits.connections,
      waiting: waitMs === 0 ? 0 : due,
      wait_ms: waitMs,
    },
    last_replies: replies.map(({ at, failedReason, providerError, refId }) => ({
      at: at.toISOString(),
      failed_reason: failedReason,
      provider_error: providerError,
      ref_id: refId,
    })),
  }
}

async function readIntervals(
  db: Db,
  o: { readonly tenantId: string; readonly mailerId: string; readonly nowMs: number },
): Promise<MailerActivity['intervals']> {
  const lastMs = Math.floor(o.nowMs / STEP_MS) * STEP_MS
  const fromMs = lastMs - (STEPS - 1) * STEP_MS
  const counters = await readCounters(db, {
    tenantId: o.tenantId,
    subject: o.mailerId,
    from: new Date(fromMs),
    before: new Date(lastMs + STEP_MS),
    interval: 'ten_minutes',
  })
  const fieldOf = isDomainMailer(o.mailerId) ? BY_RELAY : BY_SERVER
  const intervals = Array.from({ length: STEPS }, (_, i) => {
    const at = new Date(fromMs + i * STEP_MS).toISOString()
    return { at, sent: 0, deferred: 0, failed: 0 }
  })
  for (const { name, at, n } of counters) {
    const field = fieldOf[name]
    const interval = intervals[Math.round((at.getTime() - fromMs) / STEP_MS)]
    if (field !== undefined && interval !== undefined) interval[field] += n
  }
  return intervals
}

type Field = 'sent' | 'deferred' | 'failed'
const FAILED: Readonly<Record<string, Field>> = {
  deferred: 'deferred',
  failed: 'failed',
  expired: 'failed',
}
const BY_SERVER: Readonly<Record<string, Field>> = { ...FAILED, delivered: 'sent' }
/** What becomes of it is reported later, and is no doing of the mailer's. */
const BY_RELAY: Readonly<Record<string, Field>> = { ...FAILED, sent: 'sent' }
