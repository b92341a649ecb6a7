/**
 * What a snapshot of PostgreSQL sees, by its text: `xmin:xmax:` and the transactions between the two that
 * were under way.
 */
export interface Snapshot {
  readonly text: string
  /** No transaction from this one on had begun to write. */
  readonly xmax: bigint
  readonly underWay: readonly bigint[]
}

export function parseSnapshot(text: string): Snapshot {
  const [xmin, xmax, underWay] = text.split(':')
  if (xmin === undefined || xmax === undefined) throw new Error('not a snapshot')
  const ids = underWay === undefined || underWay === '' ? [] : underWay.split(',')
  return { text, xmax: BigInt(xmax), underWay: ids.map(BigInt) }
}

export function sees({ xmax, underWay }: Snapshot, xact: bigint): boolean {
  return xact < xmax && !underWay.includes(xact)
}

/** From the first to the last, both of it. */
export interface XactRange {
  readonly first: bigint
  readonly last: bigint
}

/** To look over so many transactions costs less than another look. */
const NEAR = 1_000n

/**
 * Where the transactions lie that the later snapshot sees and the earlier one does not: those that have
 * begun since, and those that were under way and have ended. A range may have others, too. One that was
 * open for long is a range of its own: nothing between it and the others is looked at again.
 */
export function rangesBetween(
  earlier: Snapshot | undefined,
  later: Snapshot,
  first = 0n,
): XactRange[] {
  const ended = (earlier?.underWay ?? []).filter((xact) => sees(later, xact))
  const points = ended.map((xact) => ({ first: xact, last: xact }))
  const begun = earlier?.xmax ?? 0n
  if (begun < later.xmax) points.push({ first: begun, last: later.xmax - 1n })
  const ranges: XactRange[] = []
  for (const range of points.sort((a, b) => (a.first < b.first ? -1 : 1))) {
    const before = ranges.at(-1)
    if (before !== undefined && range.first - before.last < NEAR)
      ranges[ranges.length - 1] = { first: before.first, last: max(before.last, range.last) }
    else ranges.push(range)
  }
  return ranges
    .filter(({ last }) => last >= first)
    .map((range) => ({ ...range, first: max(range.first, first) }))
}

function max(a: bigint, b: bigint): bigint {
  return a > b ? a : b
}
