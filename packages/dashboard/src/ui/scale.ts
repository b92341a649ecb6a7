/**
 * Bars that get a label, at least `every` apart. Parts of a day have it at round hours, in the reader's time zone.
 */
export function labelledBars(times: readonly Date[], every: number, isDays: boolean): Set<number> {
  const all = times.map((_, at) => at)
  const [first, second] = times
  if (isDays || first === undefined || second === undefined)
    return new Set(all.filter((at) => at % every === 0))
  const minutes = (second.getTime() - first.getTime()) / 60_000
  const hours = [1, 2, 3, 4, 6, 12].find((one) => one * 60 >= every * minutes) ?? 24
  return new Set(
    all.filter((at) => {
      const time = times[at]
      return time !== undefined && time.getHours() % hours === 0 && time.getMinutes() < minutes
    }),
  )
}

/** Round steps of an axis: 1, 2 or 5 times a power of ten. */
export function axisTicks(max: number, count: number): number[] {
  if (max <= 0) return [0, 1]
  const rough = max / count
  const power = 10 ** Math.floor(Math.log10(rough))
  const factor = [1, 2, 5, 10].find((one) => one * power >= rough) ?? 10
  const step = Math.max(1, factor * power)
  const ticks = [0]
  for (let at = step; at < max + step && ticks.length < 20; at += step) ticks.push(at)
  return ticks
}
