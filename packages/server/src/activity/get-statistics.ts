/** getStatistics: counts of what happened, by hour or day and mailer, and what they amount to. */
import {
  type FieldError,
  type GetStatisticsQuery,
  type StatisticCounts,
  type StatisticName,
  type StatisticRates,
  type Statistics,
  statisticDaysMax,
  statisticHoursMax,
  statisticNames,
} from '@postrider/contract'
import type { Clock } from '../platform/clock.ts'
import { readCounters } from '../platform/counter-store.ts'
import type { Queryable } from '../platform/db/index.ts'
import { validationError } from '../platform/errors.ts'
import { readSpan } from '../sending/index.ts'

const INTERVAL_MS = { hour: 3_600_000, day: 86_400_000 } as const
const INTERVALS_MAX = { hour: statisticHoursMax, day: statisticDaysMax } as const
const LAST_MS = Date.UTC(9999, 11, 31) - 1
const WEEK_MS = 7 * INTERVAL_MS.day

export async function getStatistics(
  { db, clock }: { readonly db: Queryable; readonly clock: Pick<Clock, 'now'> },
  tenantId: string,
  query: GetStatisticsQuery,
): Promise<Statistics> {
  const { interval = 'day', mailer_id: subject } = query
  const stepMs = INTERVAL_MS[interval]
  const { fromMs, beforeMs } = spanOf(query, stepMs, clock.now().getTime())
  if ((beforeMs - fromMs) / stepMs > INTERVALS_MAX[interval])
    throw validationError({
      path: '/start',
      message: `must not be more than ${INTERVALS_MAX[interval]} ${interval}s before end`,
    })
  const from = new Date(fromMs)
  const before = new Date(beforeMs)
  const counters = await readCounters(db, { tenantId, from, before, subject, interval })
  const totals = noCounts()
  const byTime = new Map<number, StatisticCounts>()
  for (let at = fromMs; at < beforeMs; at += stepMs) byTime.set(at, noCounts())
  const byMailer = new Map<string, StatisticCounts>()
  for (const { subject: mailerId, name, at, n } of counters) {
    if (!isName(name)) continue
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
  }
}

/** Whole intervals: those of both ends belong to it. */
function spanOf(
  { start, end }: GetStatisticsQuery,
  stepMs: number,
  nowMs: number,
): { readonly fromMs: number; readonly beforeMs: number } {
  const errors: FieldError[] = []
  const given = readSpan({ start }, { end }, '', errors)
  const lastMs = end === undefined ? nowMs : Number((given.to - 1n) / 1000n)
  const firstMs = start === undefined ? lastMs - WEEK_MS + stepMs : Number(given.from / 1000n)
  if (errors.length === 0 && firstMs > lastMs)
    errors.push({ path: '/start', message: 'must not be after end' })
  if (errors.length > 0) throw validationError(...errors)
  // So that the end of the last interval has four digits in its year.
  const floor = (ms: number) => Math.floor(Math.min(Math.max(ms, 0), LAST_MS) / stepMs) * stepMs
  return { fromMs: floor(firstMs), beforeMs: floor(lastMs) + stepMs }
}

function noCounts(): StatisticCounts {
  return {
    accepted: 0,
    suppressed: 0,
    sent: 0,
    delivered: 0,
    deferred: 0,
    failed: 0,
    expired: 0,
    blocked: 0,
    rejected: 0,
    bounced: 0,
    opens: 0,
    clicks: 0,
    unique_opens: 0,
    unique_clicks: 0,
    unsubscribed: 0,
    complained: 0,
  }
}

function isName(name: string): name is StatisticName {
  return statisticNames.some((one) => one === name)
}

function ratesOf(c: StatisticCounts): StatisticRates {
  const of = (part: number, whole: number) => (whole === 0 ? null : part / whole)
  return {
    delivery: of(c.delivered, c.delivered + c.failed + c.expired + c.bounced),
    opens: of(c.opens, c.delivered),
    clicks: of(c.clicks, c.delivered),
    unsubscribed: of(c.unsubscribed, c.delivered),
  }
}
