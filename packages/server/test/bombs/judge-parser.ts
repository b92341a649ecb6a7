/**
 * Whether a parser bears a bomb: how much CPU time it takes of its thread, whether it grows faster than
 * its input, and what it throws. Time is the CPU's, and the least of several tries where it is too long,
 * so that a loaded machine changes nothing.
 */
import type { Bomb } from '@postrider/testkit'
import type { Parser } from './parser.ts'

/**
 * The bound is 50 ms of the event loop and 2 s of a thread. A machine that is shared, instruments or is
 * just slow takes up to five times as long.
 */
export const CPU_MS_MAX = { main: 250, pool: 2_000 } as const
/** Four times the input takes about four times as long; 16 times is the square. */
const GROWTH_MAX = 10
/** Below it, growth is not told from chance. */
const GROWTH_FROM_MS = 40
const TRIES = 3

export interface Judged {
  readonly ms: number
  /** Undefined where all is well. */
  readonly problem?: string
}

export async function judgeParser(
  parser: Parser,
  bomb: Pick<Bomb, 'make'>,
  bytesMax = parser.bytesMax,
): Promise<Judged> {
  const text = bomb.make(bytesMax)
  try {
    const ms = await leastCpuMs(parser, text, Math.min(GROWTH_FROM_MS, CPU_MS_MAX[parser.thread]))
    if (ms > CPU_MS_MAX[parser.thread]) return { ms, problem: `takes ${Math.round(ms)} ms of CPU` }
    if (ms < GROWTH_FROM_MS) return { ms }
    const quarterMs = await leastCpuMs(parser, bomb.make(bytesMax / 4), 0)
    const growth = ms / Math.max(quarterMs, 1)
    if (growth <= GROWTH_MAX) return { ms }
    return {
      ms,
      problem: `takes ${growth.toFixed(1)} times as long for four times the input (${Math.round(ms)} ms)`,
    }
  } catch (error) {
    return {
      ms: 0,
      problem: `throws ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`,
    }
  }
}

/** The first try that is short enough is believed. */
async function leastCpuMs(parser: Parser, text: string, enoughMs: number): Promise<number> {
  let least = Number.POSITIVE_INFINITY
  for (let i = 0; i < TRIES && least > enoughMs; i++)
    least = Math.min(least, (await cpuOf(() => parser.run(text))).ms)
  return least
}

/** CPU time of this thread in milliseconds, with the result. Waiting costs nothing. */
export async function cpuOf<T>(work: () => T | Promise<T>): Promise<{ ms: number; result: T }> {
  const before = process.threadCpuUsage()
  const result = await work()
  const { user, system } = process.threadCpuUsage(before)
  return { ms: (user + system) / 1_000, result }
}
