/**
 * Counts by group: by recipient domain, campaign or reason of failure. They come from sums that are kept, so
 * a look costs the same whether a thousand mails were sent or a billion.
 */
import {
  type CountedGroup,
  type StatisticCounts,
  type StatisticGroup,
  type StatisticName,
  statisticGroupsMax,
} from '@postrider/contract'
import { readGroups } from '../platform/counters/counter-store.ts'
import type { Queryable } from '../platform/db/index.ts'
import { isStatisticName, noCounts, sumOf } from './statistic-counts.ts'

export interface CountedGroups {
  /** Those of which most is counted first. */
  readonly groups: CountedGroup[]
  /** All others together. */
  readonly other: StatisticCounts
}

export async function countGroups(
  q: Queryable,
  o: {
    readonly tenantId: string
    readonly groupBy: Exclude<StatisticGroup, 'mailer_id'>
    readonly from: Date
    readonly before: Date
    readonly interval: 'hour' | 'day'
    readonly limit?: number
    /** By which counts the first are found; by all when left out. */
    readonly rankedBy?: readonly StatisticName[]
  },
): Promise<CountedGroups> {
  const { groupBy, limit = statisticGroupsMax, ...of } = o
  const counters = await readGroups(q, { ...of, groupedBy: groupBy, limit })
  const found = new Map<string, StatisticCounts>()
  for (const { key, name, n } of counters) {
    if (!isStatisticName(name)) continue
    const counts = found.get(key) ?? noCounts()
    found.set(key, counts)
    counts[name] += n
  }
  const other = found.get('') ?? noCounts()
  found.delete('')
  return { groups: inOrder(groupBy, found), other }
}

/** The mailers of an answer as its groups. */
export function groupsOfMailers(mailers: ReadonlyMap<string, StatisticCounts>): CountedGroups {
  const all = inOrder('mailer_id', mailers)
  const other = noCounts()
  for (const { totals } of all.slice(statisticGroupsMax))
    for (const [name, n] of Object.entries(totals)) if (isStatisticName(name)) other[name] += n
  return { groups: all.slice(0, statisticGroupsMax), other }
}

function inOrder(
  groupBy: StatisticGroup,
  counts: ReadonlyMap<string, StatisticCounts>,
): CountedGroup[] {
  return [...counts]
    .sort(([a, x], [b, y]) => sumOf(y) - sumOf(x) || (a < b ? -1 : 1))
    .map(([key, totals]) => ({ [groupBy]: key, totals }))
}
