/**
 * getOverview: how a tenant stands, in one answer. Counts come from sums that are kept, the queue from a
 * bounded look, so it costs the same whatever the tenant has sent.
 */
import {
  type GetOverviewQuery,
  type Overview,
  statisticHoursMax,
  topGroupsMax,
} from '@postrider/contract'
import type { Clock } from '../platform/clock.ts'
import { type Db, readInOrder } from '../platform/db/index.ts'
import { measureTenantQueue } from '../sending/index.ts'
import { countGroups } from './count-groups.ts'
import { findAttention } from './find-attention.ts'
import { getStatistics, spanOf } from './get-statistics.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const FAILURES = ['failed', 'expired', 'bounced', 'deferred', 'blocked', 'rejected'] as const

export async function getOverview(
  deps: { readonly db: Db; readonly clock: Pick<Clock, 'now'> },
  tenantId: string,
  query: GetOverviewQuery,
): Promise<Overview> {
  const nowMs = deps.clock.now().getTime()
  const interval = intervalOf(query, nowMs)
  const { fromMs, beforeMs } = spanOf(query, { stepMs: HOUR_MS, lengthMs: DAY_MS, nowMs })
  const span = {
    start: new Date(fromMs).toISOString(),
    end: new Date(beforeMs - 1).toISOString(),
    interval,
  }
  const statistics = await getStatistics(deps, tenantId, span)
  const { start, end, totals: counts, rates } = statistics
  const of = {
    ...{ tenantId, interval, limit: topGroupsMax },
    ...{ from: new Date(start), before: new Date(end) },
  }
  // One after the other: the limit of reads at once counts on one connection for each.
  const queue = await readInOrder(deps.db, (tx) => measureTenantQueue(tx, tenantId))
  const reasons = await countGroups(deps.db, {
    ...of,
    groupBy: 'failed_reason',
    rankedBy: FAILURES,
  })
  const domains = await countGroups(deps.db, {
    ...of,
    groupBy: 'recipient_domain',
    rankedBy: ['accepted'],
  })
  const { waiting, due, held, scheduled, oldestDueMs } = queue
  const oldest_due_at = oldestDueMs === undefined ? null : toText(nowMs - oldestDueMs)
  return {
    ...{ start, end, counts, rates },
    queue: { waiting, due, held, scheduled, oldest_due_at },
    attention: await findAttention(deps.db, { tenantId, queue, nowMs }),
    top_failed_reasons: reasons.groups,
    top_recipient_domains: domains.groups,
  }
}

/** Hours, where they are kept of groups; whole days of longer ago, and of longer spans. */
function intervalOf(query: GetOverviewQuery, nowMs: number): 'hour' | 'day' {
  const { fromMs } = spanOf(query, { stepMs: HOUR_MS, lengthMs: DAY_MS, nowMs })
  return fromMs >= nowMs - statisticHoursMax * HOUR_MS ? 'hour' : 'day'
}

function toText(ms: number): string {
  return new Date(ms).toISOString()
}
