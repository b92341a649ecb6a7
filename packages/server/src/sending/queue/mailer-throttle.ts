/**
 * What keeps queues from claiming for a while, and queues whose servers were sent too much. Both are
 * in memory alone; what counts of limits is in the database, and a server says again what it said.
 */
import { createBoundedMap } from '@postrider/runtime/bounded-map'
import type { Finish } from '../results/ending.ts'
import { isRateRefusal, type Slowing, slowDown, speedUp } from './decide-throttle.ts'
import type { MailerQueue, PauseReason } from './mailer-queue.ts'

export interface MailerThrottle {
  begin(queue: MailerQueue, because: PauseReason, ms: number): void
  end(queue: MailerQueue): void
  /** How slow a queue is by what this process has heard, also if it was idle since. */
  slowingOf(queue: Pick<MailerQueue, 'id'>): Slowing | undefined
  /** Learns from an attempt that began at `begunMs`; true when the queue pauses from now on. */
  noteResult(queue: MailerQueue, ending: Finish, begunMs: number): boolean
  /** Queues that are paused because of their mailers' state. */
  inactive(): MailerQueue[]
  /** Paused queues by reason, and how many are throttled. */
  counts(): Record<PauseReason | 'slowed', number>
  stop(): void
}

const SLOWINGS_MAX = 20_000

export function createMailerThrottle(o: {
  readonly monotonicMs: () => number
  readonly onEnd: (queue: MailerQueue) => void
}): MailerThrottle {
  const timers = new Map<MailerQueue, NodeJS.Timeout>()
  const slowings = createBoundedMap<string, Slowing>(SLOWINGS_MAX)

  function end(queue: MailerQueue): void {
    clearTimeout(timers.get(queue))
    timers.delete(queue)
    queue.pause = undefined
  }

  function begin(queue: MailerQueue, because: PauseReason, ms: number): void {
    end(queue)
    queue.pause = because
    const finish = () => {
      end(queue)
      o.onEnd(queue)
    }
    timers.set(queue, setTimeout(finish, ms))
  }

  function setSlowing(queue: MailerQueue, slowing: Slowing | undefined): void {
    queue.slowing = slowing
    if (slowing === undefined) slowings.delete(queue.id)
    else slowings.set(queue.id, slowing)
  }

  return {
    begin,
    end,
    slowingOf: ({ id }) => slowings.get(id),
    noteResult(queue, { result }, begunMs) {
      const { slowing, connectionsMax } = queue
      const nowMs = o.monotonicMs()
      if (result.kind === 'failed' && isRateRefusal(result.category)) {
        const askedMs = result.retryAfterMsMin
        const next = slowDown(slowing, { connectionsMax, begunMs, nowMs, askedMs })
        setSlowing(queue, next)
        begin(queue, 'paused', next.sinceMs + next.pauseMs - nowMs)
        return true
      }
      if (slowing !== undefined) setSlowing(queue, speedUp(slowing, { connectionsMax, nowMs }))
      return false
    },
    inactive: () => [...timers.keys()].filter(({ pause }) => pause === 'inactive'),
    counts() {
      const counts = { limited: 0, paused: 0, inactive: 0, slowed: slowings.size }
      for (const { pause } of timers.keys()) if (pause !== undefined) counts[pause] += 1
      return counts
    },
    stop() {
      for (const queue of timers.keys()) end(queue)
    },
  }
}
