/** getStatistics: counts of what happened, by hour or day, by mailer and by group. */
import {
  type FieldError,
  type GetStatisticsQuery,
  groupHoursDays,
  type StatisticCounts,
  type Statistics,
  statisticDaysMax,
  statisticHoursMax,
} from '@postrider/contract'
import type { Clock } from '../platform/clock.ts'
import { readCounters } from '../platform/counters/counter-store.ts'
import type { Queryable } from '../platform/db/index.ts'
import { validationError } from '../platform/errors.ts'
import { readSpan } from '../platform/http/read-span.ts'
import { countGroups, groupsOfMailers } from './count-groups.ts'
import { isStatisticName, noCounts, ratesOf } from './statistic-counts.ts'

const INTERVAL_MS = { hour: 3_600_000, day: 86_400_000 } as const
const INTERVALS_MAX = { hour: statisticHoursMax, day: statisticDaysMax } as const
const LAST_MS = Date.UTC(9999, 11, 31) - 1
const WEEK_MS = 7 * INTERVAL_MS.day

export async function getStatistics(
  { db, clock }: { readonly db: Queryable; readonly clock: Pick<Clock, 'now'> },
  tenantId: string,
  query: GetStatisticsQuery,
): Promise<Statistics> {
  const { interval = 'day', mailer_id: subject, group_by: groupBy } = query
  const stepMs = INTERVAL_MS[interval]
  const nowMs = clock.now().getTime()
  const { fromMs, beforeMs } = spanOf(query, { stepMs, lengthMs: WEEK_MS, nowMs })
  if ((beforeMs - fromMs) / stepMs > INTERVALS_MAX[interval])
    throw validationError({
      path: '/start',
      message: `must not be more than ${INTERVALS_MAX[interval]} ${interval}s before end`,
    })
  refuseGroups(query, fromMs, nowMs)
  const from = new Date(fromMs)
  const before = new Date(beforeMs)
  const isCountedApart = groupBy !== undefined && groupBy !== 'mailer_id'
  const counters = await readCounters(db, { tenantId, from, before, subject, interval })
  const counted = isCountedApart
    ? await countGroups(db, { tenantId, groupBy, from, before, interval })
    : undefined
  const totals = noCounts()
  const byTime = new Map<number, StatisticCounts>()
  for (let at = fromMs; at < beforeMs; at += stepMs) byTime.set(at, noCounts())
  const byMailer = new Map<string, StatisticCounts>()
  for (const { subject: mailerId, name, at, n } of counters) {
    if (!isStatisticName(name)) continue
    const ofMailer = byMailer.get(mailerId) ?? noCounts()
    byMailer.set(mailerId, ofMailer)
    const ofTime = byTime.get(at.getTime())
    for (const counts of [totals, ofMailer, ofTime]) if (counts !== undefined) counts[name] += n
  }
  return {
    start: from.toISOString(),
    end: before.toISOString(),
    interval,
    totals,
    rates: ratesOf(totals),
    intervals: [...byTime].map(([at, counts]) => ({ at: new Date(at).toISOString(), ...counts })),
    mailers: [...byMailer]
      .map(([mailer_id, counts]) => ({ mailer_id, ...counts }))
      .sort((a, b) => (a.mailer_id < b.mailer_id ? -1 : 1)),
    ...(groupBy === 'mailer_id' ? groupsOfMailers(byMailer) : counted),
  }
}

/** Sums of groups are a tenant's, and their hours are not kept for as long as their days. */
function refuseGroups(query: GetStatisticsQuery, fromMs: number, nowMs: number): void {
  const { group_by: groupBy, interval, mailer_id: mailerId } = query
  if (groupBy === undefined || groupBy === 'mailer_id') return
  if (mailerId !== undefined)
    throw validationError({
      path: '/mailer_id',
      message: `must be left out with group_by=${groupBy}: groups are counted over all mailers`,
    })
  if (interval === 'hour' && fromMs < nowMs - groupHoursDays * INTERVAL_MS.day - INTERVAL_MS.hour)
    throw validationError({
      path: '/start',
      message: `must be within the last ${groupHoursDays} days with group_by and interval=hour: use interval=day`,
    })
}

/** Whole intervals: those of both ends belong to it. */
export function spanOf(
  { start, end }: Pick<GetStatisticsQuery, 'start' | 'end'>,
  o: {
    readonly stepMs: number
    /** How long the span is when its start is left out. */
    readonly lengthMs: number
    readonly nowMs: number
  },
): { readonly fromMs: number; readonly beforeMs: number } {
  const { stepMs, lengthMs, nowMs } = o
  const errors: FieldError[] = []
  const given = readSpan({ start }, { end }, '', errors)
  const lastMs = end === undefined ? nowMs : Number((given.to - 1n) / 1000n)
  const firstMs = start === undefined ? lastMs - lengthMs + stepMs : Number(given.from / 1000n)
  if (errors.length === 0 && firstMs > lastMs)
    errors.push({ path: '/start', message: 'must not be after end' })
  if (errors.length > 0) throw validationError(...errors)
  // So that the end of the last interval has four digits in its year.
  const floor = (ms: number) => Math.floor(Math.min(Math.max(ms, 0), LAST_MS) / stepMs) * stepMs
  return { fromMs: floor(firstMs), beforeMs: floor(lastMs) + stepMs }
}
