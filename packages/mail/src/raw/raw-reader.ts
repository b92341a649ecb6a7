/**
 * Reads messages that programs hand in: short ones at once, longer ones in a thread with limits, so that
 * whatever is in them, the event loop goes on.
 */

import { setImmediate } from 'node:timers/promises'
import type { Service } from '@postrider/runtime/service'
import type { ThreadJobsObserver } from '@postrider/runtime/thread-observer'
import { createThreadPool, type ThreadPool } from '@postrider/runtime/thread-pool'
import { type RawMessage, type RawOptions, type RawReading, readRaw } from './read-raw.ts'

export interface RawReader extends Service {
  /**
   * Callers take turns. Throws 429 `rate_limited` when too much of one caller's waits, and 503 when
   * stopped.
   */
  read(caller: string, raw: Buffer, o: RawOptions): Promise<RawReading>
}

export interface RawJob {
  readonly raw: Uint8Array<ArrayBuffer>
  readonly options: RawOptions
}

/** The message comes back as it was handed over: without what makes it a Buffer. */
export type RawOutput =
  | Exclude<RawReading, { kind: 'read' }>
  | {
      readonly kind: 'read'
      readonly message: Omit<RawMessage, 'message'>
      readonly raw: Uint8Array
    }

type Pool = ThreadPool<RawJob, RawOutput>

const IN_PLACE_BYTES_MAX = 64 * 1024
/** Lists of addresses take longer than anything else in a message. */
const IN_PLACE_HEADER_BYTES_MAX = 8 * 1024
const HEADER_END = Buffer.from('\r\n\r\n')
const COPIED_BYTES = 4 * 1024 * 1024
const THREADS = 2
const TIME_MS = 30_000
const WAITING_PER_CALLER_MAX = 200
const SPENT: RawReading = { kind: 'refused', problem: 'takes too much time or memory to read' }

function createPool(observer: ThreadJobsObserver | undefined): Pool {
  return createThreadPool({
    name: 'submitted-messages',
    module: new URL('./raw-main.ts', import.meta.url),
    threads: THREADS,
    timeMs: TIME_MS,
    resourceLimits: { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 32 },
    waitingPerCallerMax: WAITING_PER_CALLER_MAX,
    observer,
  })
}

/** Whether it takes a few milliseconds at most, whatever is in it. */
export function isReadInPlace(raw: Buffer): boolean {
  if (raw.length > IN_PLACE_BYTES_MAX) return false
  const header = raw.subarray(0, IN_PLACE_HEADER_BYTES_MAX)
  return raw.length <= IN_PLACE_HEADER_BYTES_MAX || header.includes(HEADER_END)
}

async function copyInTurns(raw: Buffer): Promise<Uint8Array<ArrayBuffer>> {
  const copy = new Uint8Array(raw.length)
  for (let at = 0; at < raw.length; at += COPIED_BYTES) {
    copy.set(raw.subarray(at, at + COPIED_BYTES), at)
    await setImmediate()
  }
  return copy
}

export function createRawReader(
  o: { readonly observer?: ThreadJobsObserver; readonly pool?: Pool } = {},
): RawReader {
  const pool = o.pool ?? createPool(o.observer)
  return {
    ...pool,
    async read(caller, raw, options) {
      if (isReadInPlace(raw)) return readRaw(raw, options)
      const job = { raw: await copyInTurns(raw), options }
      const outcome = await pool.run(caller, job, [job.raw.buffer])
      if (outcome.kind !== 'done') return SPENT
      const { output } = outcome
      if (output.kind === 'refused') return output
      // What came from the thread has taken this turn.
      await setImmediate()
      const { buffer, byteOffset, byteLength } = output.raw
      const message = Buffer.from(buffer, byteOffset, byteLength)
      return { kind: 'read', message: { ...output.message, message } }
    },
  }
}
