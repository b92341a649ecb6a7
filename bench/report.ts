/** How results are printed: a rate, and the CPU-seconds that 1,000 units cost each process. */
import { median } from './measure.ts'
import type { Worker } from './worker.ts'

export interface BenchOrder {
  readonly runs: number
  readonly count: number
  readonly seconds: number
  /** Of webhooks, a run. */
  readonly events: number
  /** Rows that wait. */
  readonly backlog: number
  /** In the record of emails. */
  readonly recipients: number
  /** Lines of a file. */
  readonly suppressions: number
  /** The dispatcher in a process of its own where it else is with the sender. */
  readonly isApart: boolean
  /** Where CPU profiles of the service go, when they are wanted. */
  readonly profileDir?: string
  readonly logLevel: string
  /** A process of the bench, by its file; stopped when the part ends. */
  readonly startWorker: (file: string) => Promise<Worker>
  /** What else a part has started, it hands over here: it is stopped when the part ends, however it does. */
  readonly stopAtEnd: (stop: () => unknown) => void
}

export interface Sample {
  readonly perSecond: number
  /** CPU-seconds per 1,000 units, by process. */
  readonly cpu: Readonly<Record<string, number>>
}

export function heading(text: string): void {
  console.log(`\n${text}`)
}

export function reportRate(name: string, samples: readonly Sample[]): void {
  const rate = median(samples.map((sample) => sample.perSecond))
  const names = Object.keys(samples[0]?.cpu ?? {})
  const cpu = names.map((key) => {
    const cost = median(samples.map((sample) => sample.cpu[key] ?? 0))
    return `${key} ${cost.toFixed(3)}`
  })
  const all = samples.map((sample) => Math.round(sample.perSecond)).join(', ')
  console.log(`  ${name.padEnd(34)} ${Math.round(rate).toString().padStart(7)}/s  (${all})`)
  console.log(`  ${''.padEnd(34)} CPU-s per 1,000: ${cpu.join(', ')}`)
}

/** Of runs that stand side by side, so that what else the machine does meanwhile meets both. */
export function reportRatios(
  name: string,
  samples: readonly Sample[],
  peers: readonly Sample[],
  wanted?: string,
): void {
  const ratios = samples.map(({ perSecond }, i) => perSecond / (peers[i]?.perSecond ?? Number.NaN))
  const all = ratios.map((ratio) => ratio.toFixed(2)).join(', ')
  reportRatio(name, median(ratios), wanted === undefined ? all : `${all}; ${wanted}`)
  const names = Object.keys(samples[0]?.cpu ?? {}).filter((key) => peers[0]?.cpu[key] !== undefined)
  const cpu = names.map((key) => {
    const times = samples.map(({ cpu }, i) => (cpu[key] ?? 0) / (peers[i]?.cpu[key] ?? Number.NaN))
    return `${key} ${median(times).toFixed(2)}`
  })
  if (cpu.length > 0)
    console.log(`  ${''.padEnd(34)} CPU of each, times the other's: ${cpu.join(', ')}`)
}

export function reportRatio(name: string, value: number, wanted: string): void {
  console.log(`  ${name.padEnd(34)} ${value.toFixed(2).padStart(7)}    (${wanted})`)
}

const HISTOGRAM_STEPS_MS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000]
const BAR_WIDTH = 40

/** How many took how long, from the first step that any is in to the last. */
export function reportHistogram(latenciesMs: readonly number[]): void {
  const counts = [...HISTOGRAM_STEPS_MS, Number.POSITIVE_INFINITY].map((limit, i) => {
    const from = HISTOGRAM_STEPS_MS[i - 1] ?? Number.NEGATIVE_INFINITY
    return latenciesMs.filter((one) => one >= from && one < limit).length
  })
  const most = Math.max(1, ...counts)
  const last = counts.findLastIndex((count) => count > 0)
  for (const [i, count] of counts.slice(0, last + 1).entries()) {
    const limit = HISTOGRAM_STEPS_MS[i]
    const label = limit === undefined ? 'longer' : `< ${limit} ms`
    const bar = '#'.repeat(Math.ceil((count / most) * BAR_WIDTH))
    console.log(`    ${label.padStart(12)} ${String(count).padStart(7)} ${bar}`)
  }
}

/** Measures the processor time that `work` costs each process, per 1,000 units. */
export async function sampleOf(
  clocks: Readonly<Record<string, () => number>>,
  work: () => Promise<{ units: number; elapsedMs: number }>,
): Promise<Sample> {
  const before = Object.entries(clocks).map(([name, read]) => [name, read()] as const)
  const { units, elapsedMs } = await work()
  const cpu = before.map(([name, start]) => {
    const spent = (clocks[name]?.() ?? 0) - start
    return [name, (spent / units) * 1000] as const
  })
  return { perSecond: (units / elapsedMs) * 1000, cpu: Object.fromEntries(cpu) }
}
