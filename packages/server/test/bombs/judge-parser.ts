/**
 * Whether a parser bears a bomb: how much CPU time it takes of its thread, whether that grows faster than
 * its input, and what it throws. On the event loop the longest turn counts, for others run in between; in
 * a thread the whole counts. Time is the CPU's, and the least of several tries where it is too long, so
 * that a loaded machine changes nothing.
 */
import { setImmediate } from 'node:timers/promises'
import type { Bomb } from '@postrider/testkit'
import type { Parser } from './parser.ts'

/**
 * The bound is 50 ms of the event loop and 2 s of a thread. A machine that is shared, instruments or is
 * just slow takes up to five times as long.
 */
export const CPU_MS_MAX = { main: 250, pool: 2_000 } as const
/** Four times the input takes about four times as long; 16 times is the square. */
const GROWTH_MAX = 10
/** Twice the input, beyond the bound: a dearer way that begins at some length makes one step only. */
const DOUBLE_GROWTH_MAX = 3
/**
 * Below it, growth is not told from chance. In a thread the whole counts, with its garbage collection, which
 * costs the more for each object the more of them there are.
 */
const GROWTH_FROM_MS = { main: 40, pool: 250 } as const
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
  const make = (bytes: number) => bomb.make(Math.ceil(bytes))
  const isOnLoop = parser.thread === 'main'
  const costMax = CPU_MS_MAX[parser.thread]
  const growthFrom = GROWTH_FROM_MS[parser.thread]
  try {
    const whole = await leastCpu(parser, make(bytesMax), Math.min(growthFrom, costMax))
    const ms = isOnLoop ? whole.longestTurnMs : whole.ms
    if (ms > costMax) return { ms, problem: `takes ${Math.round(ms)} ms of CPU` }
    if (whole.ms < growthFrom) return { ms }
    const quarter = await leastCpu(parser, make(bytesMax / 4), 0)
    const growth = whole.ms / Math.max(quarter.ms, 1)
    if (growth <= GROWTH_MAX) return { ms }
    const double = await leastCpu(parser, make(2 * bytesMax), whole.ms * DOUBLE_GROWTH_MAX)
    if (double.ms <= whole.ms * DOUBLE_GROWTH_MAX) return { ms }
    return {
      ms,
      problem: `takes ${growth.toFixed(1)} times as long for four times the input (${Math.round(whole.ms)} ms)`,
    }
  } catch (error) {
    return {
      ms: 0,
      problem: `throws ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`,
    }
  }
}

interface Cpu {
  readonly ms: number
  /** Between two turns of the event loop. */
  readonly longestTurnMs: number
}

/** The first try that is short enough is believed. */
async function leastCpu(parser: Parser, text: string, enoughMs: number): Promise<Cpu> {
  let least: Cpu = { ms: Number.POSITIVE_INFINITY, longestTurnMs: Number.POSITIVE_INFINITY }
  for (let i = 0; i < TRIES && least.ms > enoughMs; i++) {
    const { ms, longestTurnMs } = await cpuOf(() => parser.run(text))
    least = {
      ms: Math.min(least.ms, ms),
      longestTurnMs: Math.min(least.longestTurnMs, longestTurnMs),
    }
  }
  return least
}

/** CPU time of this thread in milliseconds, with the result. Waiting costs nothing. */
export async function cpuOf<T>(work: () => T | Promise<T>): Promise<Cpu & { result: T }> {
  let longestTurnMs = 0
  let isDone = false
  const before = process.threadCpuUsage()
  let turnBefore = before
  const endTurn = () => {
    longestTurnMs = Math.max(longestTurnMs, millisecondsOf(process.threadCpuUsage(turnBefore)))
    turnBefore = process.threadCpuUsage()
  }
  const watchTurns = async () => {
    for (; !isDone; await setImmediate()) endTurn()
  }
  const pending = work()
  endTurn()
  const watching = pending instanceof Promise ? watchTurns() : undefined
  try {
    const result = await pending
    endTurn()
    return { ms: millisecondsOf(process.threadCpuUsage(before)), longestTurnMs, result }
  } finally {
    isDone = true
    await watching
  }
}

function millisecondsOf({ user, system }: NodeJS.CpuUsage): number {
  return (user + system) / 1_000
}
