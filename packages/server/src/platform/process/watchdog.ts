/**
 * Measures how long a single turn of the event loop keeps everything else waiting, and names the task.
 *
 * A turn is one callback of Node's (a socket, a timer, a message) with the promises that it settles.
 * It lasts from its beginning to the beginning of the next turn, less the time in which the loop was
 * idle. A heartbeat gives the loop a next turn where nothing else does.
 *
 * A block is a turn of over 50 ms: no input from outside may cause one. `cpu_ms` tells work from a
 * machine that gave this process no processor: it is the CPU time of the thread since the heartbeat
 * before, so at most 20 ms too much.
 *
 * Promises are not tracked, only the turns that they run in: that costs nothing measurable. Node.js
 * before 24 cannot leave promises out; there a turn is what lies between two heartbeats.
 */
import { createHook } from 'node:async_hooks'
import { performance } from 'node:perf_hooks'
import type { Service } from '@postrider/runtime/service'
import { currentTask, listenToTasks } from '@postrider/runtime/task'
import type { Logger } from '../log.ts'
import type { Metrics } from '../metrics.ts'
import { createSummedLog } from '../summed-log.ts'

/** A turn may not last longer. */
export const BLOCK_MS = 50
const HEARTBEAT_MS = 20
/** Without work of the task's own, a shorter block is the machine's scheduling, and not worth a warning. */
const WITHOUT_CPU_MS = 500
/** Shorter turns are nearly all, and of no interest. */
const TOLD_MS_MIN = 1
/** The last minute, in steps of five seconds. */
const STEP_MS = 5_000
const STEPS = 12

export interface Block {
  /** Undefined where the code belongs to no named task. */
  readonly task: string | undefined
  readonly durationMs: number
}

export interface Watchdog extends Service {
  /** The longest turn of the last minute. */
  longest(): Block
  /**
   * For an operator: the longest block of the last minute in which a task used the processor. One in
   * which the machine gave this process no processor is none of a task's.
   */
  detail(): string | undefined
}

/** What one turn of the event loop is measured with; handed in by tests. */
export interface TurnClock {
  readonly monotonicMs: () => number
  /** How long the event loop has been idle since the process began. */
  readonly idleMs: () => number
  /** CPU time of this thread. */
  readonly cpuMs: () => number
}

export const turnClock: TurnClock = {
  monotonicMs: () => performance.now(),
  idleMs: () => performance.nodeTiming.idleTime,
  cpuMs: () => {
    const { user, system } = process.threadCpuUsage()
    return (user + system) / 1000
  },
}

export function createWatchdog(o: {
  readonly log: Logger
  readonly metrics: Metrics
  readonly clock?: TurnClock
}): Watchdog {
  const clock = o.clock ?? turnClock
  const minute = createMinute(clock.monotonicMs)
  const worked = createMinute(clock.monotonicMs)
  const blocked = createSummedLog({
    log: o.log,
    level: 'warn',
    message: 'event_loop.blocked',
    monotonicMs: clock.monotonicMs,
  })
  let heartbeatCpuMs = 0
  const turns = createTurnMeter(clock, (block) => {
    minute.note(block)
    const { task, durationMs } = block
    if (durationMs <= BLOCK_MS) return
    const cpuMs = clock.cpuMs() - heartbeatCpuMs
    worked.note({ task, durationMs: Math.min(durationMs, cpuMs) })
    if (cpuMs <= BLOCK_MS && durationMs < WITHOUT_CPU_MS) return
    blocked.note({ task, duration_ms: Math.round(durationMs), cpu_ms: Math.round(cpuMs) })
  })
  const hook = canSkipPromises
    ? createHook({ trackPromises: false, before: () => turns.begin(currentTask()) })
    : undefined
  let heartbeat: NodeJS.Timeout | undefined
  let stopListening: (() => void) | undefined
  const { metrics } = o
  metrics.gaugeRead(
    'event_loop_block_seconds',
    'Longest turn of the event loop within the last minute',
    () => minute.longest().durationMs / 1000,
  )
  return {
    name: 'watchdog',
    async start() {
      if (heartbeat !== undefined) return
      turns.reset()
      stopListening = listenToTasks(turns.goOn)
      hook?.enable()
      heartbeat = setInterval(() => {
        turns.begin(currentTask())
        heartbeatCpuMs = clock.cpuMs()
      }, HEARTBEAT_MS).unref()
    },
    async stop() {
      if (heartbeat === undefined) return
      clearInterval(heartbeat)
      heartbeat = undefined
      hook?.disable()
      stopListening?.()
    },
    longest: minute.longest,
    detail() {
      const { task = 'an unnamed task', durationMs } = worked.longest()
      if (durationMs <= BLOCK_MS) return undefined
      return `blocked for ${Math.round(durationMs)} ms within the last minute by ${task}`
    },
  }
}

const canSkipPromises = Number.parseInt(process.versions.node, 10) >= 24

/** Tells each turn of a millisecond or more, with the task that took most of it. */
export function createTurnMeter(
  { monotonicMs, idleMs }: Pick<TurnClock, 'monotonicMs' | 'idleMs'>,
  onEnd: (turn: Block) => void,
): {
  begin(task: string | undefined): void
  goOn(task: string | undefined): void
  reset(): void
} {
  let beganMs = monotonicMs()
  let idleBeforeMs = idleMs()
  /** The running piece of the turn, and the longest piece before it. */
  let task: string | undefined
  let pieceBeganMs = beganMs
  let longest: Block = { task: undefined, durationMs: 0 }

  return {
    begin(next) {
      const nowMs = monotonicMs()
      const idleNowMs = idleMs()
      const workedMs = nowMs - beganMs - (idleNowMs - idleBeforeMs)
      // The loop is idle after the turn's last piece.
      const lastMs = nowMs - pieceBeganMs - (idleNowMs - idleBeforeMs)
      if (workedMs >= TOLD_MS_MIN)
        onEnd({ task: lastMs >= longest.durationMs ? task : longest.task, durationMs: workedMs })
      beganMs = nowMs
      pieceBeganMs = nowMs
      idleBeforeMs = idleNowMs
      task = next
      longest = { task: undefined, durationMs: 0 }
    },
    goOn(next) {
      const nowMs = monotonicMs()
      const durationMs = nowMs - pieceBeganMs
      if (durationMs > longest.durationMs) longest = { task, durationMs }
      pieceBeganMs = nowMs
      task = next
    },
    reset() {
      beganMs = monotonicMs()
      pieceBeganMs = beganMs
      idleBeforeMs = idleMs()
      longest = { task: undefined, durationMs: 0 }
      task = undefined
    },
  }
}

/** The longest turn of each step; steps over a minute old are forgotten. */
function createMinute(monotonicMs: () => number) {
  const steps = new Map<number, Block>()
  const none: Block = { task: undefined, durationMs: 0 }
  const stepNow = () => Math.floor(monotonicMs() / STEP_MS)
  return {
    note(turn: Block) {
      const now = stepNow()
      if (turn.durationMs > (steps.get(now) ?? none).durationMs) steps.set(now, turn)
      for (const step of steps.keys()) if (step <= now - STEPS) steps.delete(step)
    },
    longest(): Block {
      const kept = [...steps].filter(([step]) => step > stepNow() - STEPS)
      return kept.reduce((most, [, one]) => (one.durationMs > most.durationMs ? one : most), none)
    },
  }
}
