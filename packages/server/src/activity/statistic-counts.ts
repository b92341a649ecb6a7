/** The counts of statistics, by their names, and what they amount to. */
import {
  type StatisticCounts,
  type StatisticName,
  type StatisticRates,
  statisticNames,
} from '@postrider/contract'

export function noCounts(): StatisticCounts {
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

export function isStatisticName(name: string): name is StatisticName {
  return statisticNames.some((one) => one === name)
}

/** How much is counted in all. */
export function sumOf(counts: StatisticCounts): number {
  return statisticNames.reduce((sum, name) => sum + counts[name], 0)
}

export function ratesOf(c: StatisticCounts): StatisticRates {
  const of = (part: number, whole: number) => (whole === 0 ? null : part / whole)
  return {
    delivery: of(c.delivered, c.delivered + c.failed + c.expired + c.bounced),
    opens: of(c.opens, c.delivered),
    clicks: of(c.clicks, c.delivered),
    unsubscribed: of(c.unsubscribed, c.delivered),
  }
}
