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
