/**
 * Finds the places of tracking: in HTML of ordinary length at once, in longer HTML in a thread with
 * limits, so that whatever is in it, the event loop goes on.
 */
import type { Service } from '@postrider/runtime/service'
import type { ThreadJobsObserver } from '@postrider/runtime/thread-observer'
import { createThreadPool, type ThreadPool } from '@postrider/runtime/thread-pool'
import { findLinkOffsets, type LinkOffsets } from './find-link-offsets.ts'

export interface LinkFinder extends Service {
  /**
   * Callers take turns. Undefined when the HTML is more than a thread manages. Throws 429
   * `rate_limited` when too much of one caller's waits, and 503 when stopped.
   */
  find(caller: string, html: string): Promise<LinkOffsets | undefined>
}

const IN_PLACE_CHARS_MAX = 64 * 1024
const THREADS = 1
/** A caller of the API waits for the answer. */
const TIME_MS = 10_000
const WAITING_PER_CALLER_MAX = 1_000
/** A machine may be suspended for a moment, which is no fault of the HTML. */
const TRIES = 2

type Pool = ThreadPool<string, LinkOffsets>

function createPool(observer: ThreadJobsObserver | undefined): Pool {
  return createThreadPool({
    name: 'tracking-places',
    module: new URL('./link-main.ts', import.meta.url),
    threads: THREADS,
    timeMs: TIME_MS,
    resourceLimits: { maxOldGenerationSizeMb: 192, maxYoungGenerationSizeMb: 32, stackSizeMb: 4 },
    waitingPerCallerMax: WAITING_PER_CALLER_MAX,
    observer,
  })
}

export function createLinkFinder(
  o: { readonly observer?: ThreadJobsObserver; readonly pool?: Pool } = {},
): LinkFinder {
  const pool = o.pool ?? createPool(o.observer)
  return {
    ...pool,
    async find(caller, html) {
      if (html.length <= IN_PLACE_CHARS_MAX) return findLinkOffsets(html)
      for (let i = 0; i < TRIES; i++) {
        const outcome = await pool.run(caller, html)
        if (outcome.kind === 'done') return outcome.output
        if (outcome.limit !== 'time') return undefined
      }
      return undefined
    },
  }
}
