/**
 * How much of one kind of work is done at once in this process: in all, and for one caller, so that
 * nobody takes all the places. Work without a place waits, the callers in turn; beyond a bounded
 * number of waiting ones, of the caller or of all, the work is refused with a `RefusedError`.
 */
import { createFairQueue } from './fair-queue.ts'
import { RefusedError } from './refused-error.ts'

export interface ConcurrencyLimiter {
  /** Runs the work when its turn has come. The work has its own time-out. */
  run<T>(caller: string, work: () => Promise<T>): Promise<T>
}

export interface ConcurrencyLimits {
  /** Names the policy in the header fields: letters, digits and hyphens. */
  readonly name: string
  readonly atOnceMax: number
  readonly atOncePerCallerMax: number
  readonly waitingPerCallerMax: number
  /** Of all callers: where anyone may call, under as many names as they like. */
  readonly waitingMax?: number
}

const RETRY_AFTER_S = 1

interface Waiter {
  readonly tenantId: string
  readonly enter: () => void
}

export function createConcurrencyLimiter(o: ConcurrencyLimits): ConcurrencyLimiter {
  const lines = createFairQueue<Waiter>()
  /** Without those that have none. */
  const running = new Map<string, number>()
  const waiting = new Map<string, number>()
  let atOnce = 0

  const tenantCanGo = (caller: string) => (running.get(caller) ?? 0) < o.atOncePerCallerMax

  function serve(): void {
    while (atOnce < o.atOnceMax) {
      const next = lines.take({ tenantCanGo })
      if (next === undefined) return
      add(waiting, next.tenantId, -1)
      hold(next.tenantId)
      next.enter()
    }
  }

  function hold(caller: string): void {
    atOnce += 1
    add(running, caller, 1)
  }

  function release(caller: string): void {
    atOnce -= 1
    add(running, caller, -1)
    serve()
  }

  async function enter(caller: string): Promise<void> {
    if (atOnce < o.atOnceMax && tenantCanGo(caller)) return hold(caller)
    const isFull = lines.size >= (o.waitingMax ?? Number.POSITIVE_INFINITY)
    if (isFull || (waiting.get(caller) ?? 0) >= o.waitingPerCallerMax)
      throw new RefusedError(o.name, { quota: o.atOncePerCallerMax, retryAfterS: RETRY_AFTER_S })
    add(waiting, caller, 1)
    await new Promise<void>((resolve) => lines.add({ tenantId: caller, enter: resolve }))
  }

  return {
    async run(caller, work) {
      await enter(caller)
      try {
        return await work()
      } finally {
        release(caller)
      }
    },
  }
}

/** A place that is held beyond the end of a function: answers what leaves it. */
export async function enterLimiter(
  limiter: ConcurrencyLimiter,
  caller: string,
): Promise<() => void> {
  const taken = Promise.withResolvers<void>()
  const left = Promise.withResolvers<void>()
  const inside = limiter.run(caller, () => {
    taken.resolve()
    return left.promise
  })
  inside.catch(taken.reject)
  await taken.promise
  return left.resolve
}

function add(counts: Map<string, number>, caller: string, change: number): void {
  const count = (counts.get(caller) ?? 0) + change
  if (count === 0) counts.delete(caller)
  else counts.set(caller, count)
}
