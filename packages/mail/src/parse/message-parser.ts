/**
 * Reads messages of others in threads with limits of time and memory. A message always yields a
 * result: of one that overruns them, or meets a defect, the headers, read by a thread with limits of its
 * own, and if even these do, nothing but the problem. Callers take turns; each has one message read at a
 * time, and a large one: these have threads of their own, which leave the processor to others.
 */
import type { ResourceLimits } from 'node:worker_threads'
import { RefusedError } from '@postrider/runtime/refused-error'
import type { Service } from '@postrider/runtime/service'
import type { ThreadJobsObserver } from '@postrider/runtime/thread-observer'
import { createThreadPool, type ThreadLimit, type ThreadPool } from '@postrider/runtime/thread-pool'
import { FALLBACK_LIMITS, type ParseJob, type ParseThreadData } from './parse-job.ts'
import { type ParsedMessage, unreadMessage } from './parsed-message.ts'

export interface MessageParser extends Service {
  /** Throws 429 `rate_limited` when too much of one caller's waits, and 503 when stopped. */
  parse(caller: string, raw: Uint8Array): Promise<ParsedMessage>
}

type Pool = ThreadPool<ParseJob, ParsedMessage>

const NAME = 'message-parser'
const THREADS = 2
const WAITING_PER_CALLER_MAX = 1_000
const LARGE_BYTES = 512 * 1024
/** Large messages have the processor last. */
const LARGE_TIME_MS = 60_000

interface Pools {
  readonly small: Pool
  readonly large: Pool
  readonly headers: Pool
}

function createPools(observer: ThreadJobsObserver | undefined): Pools {
  const create = (
    name: string,
    resourceLimits: ResourceLimits,
    data: ParseThreadData,
    timeMs?: number,
  ): Pool =>
    createThreadPool({
      ...{ name, resourceLimits, data, observer },
      ...(timeMs === undefined ? {} : { timeMs }),
      module: new URL('./parse-main.ts', import.meta.url),
      threads: THREADS,
      waitingPerCallerMax: WAITING_PER_CALLER_MAX,
    })
  const whole = { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 32 }
  const beginning = { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 16 }
  return {
    small: create(NAME, whole, { isLowered: false }),
    large: create(`${NAME}-large`, whole, { isLowered: true }, LARGE_TIME_MS),
    headers: create(`${NAME}-headers`, beginning, { isLowered: false }),
  }
}

export function createMessageParser(
  o: { readonly observer?: ThreadJobsObserver; readonly pools?: Pools } = {},
): MessageParser {
  const { small, large, headers } = o.pools ?? createPools(o.observer)
  const all = [small, large, headers]
  return {
    name: NAME,
    async start() {
      await Promise.all(all.map((pool) => pool.start()))
    },
    async stop() {
      await Promise.all(all.map((pool) => pool.stop()))
    },
    async parse(caller, raw) {
      const whole = raw.length < LARGE_BYTES ? small : large
      const message = await attempt(whole, caller, { raw: new Uint8Array(raw) })
      if (typeof message !== 'string') return message
      const beginning = raw.subarray(0, FALLBACK_LIMITS.headerBytesMax * 2)
      const job = { raw: new Uint8Array(beginning), problem: message }
      const fallback = await attempt(headers, caller, job)
      return typeof fallback === 'string' ? unreadMessage(message) : fallback
    },
  }
}

const SPENT: Readonly<Record<ThreadLimit, string>> = {
  cpu: 'processor time',
  memory: 'memory',
  time: 'time',
}

/** The message, or why there is none. */
async function attempt(pool: Pool, caller: string, job: ParseJob): Promise<ParsedMessage | string> {
  try {
    const outcome = await pool.run(caller, job, [job.raw.buffer])
    if (outcome.kind === 'done') return outcome.output
    return `The message takes too much ${SPENT[outcome.limit]} to read`
  } catch (error) {
    // Refused, not failed: the caller may come again.
    if (error instanceof RefusedError) throw error
    return 'The message could not be read'
  }
}
