/**
 * What keeps lanes from claiming for a while, and lanes whose servers were sent too much. Both are
 * in memory alone; what counts of limits is in the database, and a server says again what it said.
 */
import { createBoundedMap } from '../../platform/bounded-map.ts'
import type { Finish } from '../results/ending.ts'
import { isRateRefusal, type Slowing, slowDown, speedUp } from './decide-throttle.ts'
import type { Lane, Rest } from './mailer-queue.ts'

export interface LaneRests {
  begin(lane: Lane, because: Rest, ms: number): void
  end(lane: Lane): void
  /** How slow a lane is by what this process has heard, also if it was idle since. */
  slowingOf(lane: Pick<Lane, 'id'>): Slowing | undefined
  /** Learns from an attempt that began at `begunMs`; true when the lane rests from now on. */
  noteResult(lane: Lane, ending: Finish, begunMs: number): boolean
  /** Those that rest because of their mailers' state. */
  inactive(): Lane[]
  /** Lanes that rest, by why; and how many are slowed down. */
  counts(): Record<Rest | 'slowed', number>
  stop(): void
}

const SLOWINGS_MAX = 20_000

export function createLaneRests(o: {
  readonly monotonicMs: () => number
  readonly onEnd: (lane: Lane) => void
}): LaneRests {
  const timers = new Map<Lane, NodeJS.Timeout>()
  const slowings = createBoundedMap<string, Slowing>(SLOWINGS_MAX)

  function end(lane: Lane): void {
    clearTimeout(timers.get(lane))
    timers.delete(lane)
    lane.rest = undefined
  }

  function begin(lane: Lane, because: Rest, ms: number): void {
    end(lane)
    lane.rest = because
    const finish = () => {
      end(lane)
      o.onEnd(lane)
    }
    timers.set(lane, setTimeout(finish, ms))
  }

  function setSlowing(lane: Lane, slowing: Slowing | undefined): void {
    lane.slowing = slowing
    if (slowing === undefined) slowings.delete(lane.id)
    else slowings.set(lane.id, slowing)
  }

  return {
    begin,
    end,
    slowingOf: ({ id }) => slowings.get(id),
    noteResult(lane, { result }, begunMs) {
      const { slowing, connectionsMax } = lane
      const nowMs = o.monotonicMs()
      if (result.kind === 'failed' && isRateRefusal(result.category)) {
        const askedMs = result.retryAfterMsMin
        const next = slowDown(slowing, { connectionsMax, begunMs, nowMs, askedMs })
        setSlowing(lane, next)
        begin(lane, 'paused', next.sinceMs + next.pauseMs - nowMs)
        return true
      }
      if (slowing !== undefined) setSlowing(lane, speedUp(slowing, { connectionsMax, nowMs }))
      return false
    },
    inactive: () => [...timers.keys()].filter(({ rest }) => rest === 'inactive'),
    counts() {
      const counts = { limited: 0, paused: 0, inactive: 0, slowed: slowings.size }
      for (const { rest } of timers.keys()) if (rest !== undefined) counts[rest] += 1
      return counts
    },
    stop() {
      for (const lane of timers.keys()) end(lane)
    },
  }
}
