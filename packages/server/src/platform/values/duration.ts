/** Durations as configuration, requests and operators write them: `250ms`, `5s`, `10m`, `2h`, `3d`. */
const UNIT_MS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
}

/** In milliseconds; undefined when the text is no duration. */
export function parseDuration(text: string): number | undefined {
  const match = /^([0-9]{1,9})(ms|s|m|h|d)$/.exec(text)
  const unit = UNIT_MS[match?.[2] ?? '']
  return unit === undefined ? undefined : Number(match?.[1]) * unit
}

/** In whole units of the largest that fits, rounded down: `90s` reads `1m`. */
export function describeDuration(ms: number): string {
  const [unit, unitMs] = Object.entries(UNIT_MS).findLast(([, size]) => ms >= size) ?? ['ms', 1]
  return `${Math.floor(ms / unitMs)}${unit}`
}

/** The same without a loss: in the largest unit that fits a whole number of times. */
export function wholeUnits(ms: number): string {
  const [unit, unitMs] = Object.entries(UNIT_MS).findLast(([, size]) => ms % size === 0) ?? [
    'ms',
    1,
  ]
  return ms === 0 ? '0ms' : `${ms / unitMs}${unit}`
}
