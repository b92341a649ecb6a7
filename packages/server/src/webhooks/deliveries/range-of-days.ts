/** The first and the last of some days (`2026-01-02`); of none, one that nothing is kept under. */
export function rangeOfDays(days: readonly string[]): [first: string, last: string] {
  const sorted = days.toSorted()
  return [sorted[0] ?? NEVER, sorted.at(-1) ?? NEVER]
}

const NEVER = '0001-01-01'
