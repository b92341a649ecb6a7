/** The times that the overview shows. */
export const ranges = ['24h', '7d', '30d'] as const
export type Range = (typeof ranges)[number]

export interface OverviewSearch {
  /** The last 24 hours when left out. */
  readonly range?: Range
}

export function readOverviewSearch({ range }: Record<string, unknown>): OverviewSearch {
  const known = ranges.find((one) => one === range && one !== '24h')
  return known === undefined ? {} : { range: known }
}

const hours: Readonly<Record<Range, number>> = { '24h': 24, '7d': 168, '30d': 720 }

/** What to ask the service for. */
export function spanOf(range: Range, now: Date) {
  const start = new Date(now.getTime() - hours[range] * 3_600_000)
  return {
    start: start.toISOString(),
    interval: range === '24h' ? ('hour' as const) : ('day' as const),
  }
}
