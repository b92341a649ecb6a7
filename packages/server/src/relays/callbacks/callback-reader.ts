/**
 * Reads callbacks: ordinary ones at once, long ones in a thread with limits. A callback of 4 MiB, within
 * every bound of its reports, takes up to 0.3 s to read, for everybody if that were on the event loop.
 * Tenants take turns.
 *
 * The reports of a long callback come back in parts that are opened one by one.
 */
import { deserialize, serialize } from 'node:v8'
import type { RelayKind } from '@postrider/contract'
import type { Service } from '@postrider/runtime/service'
import type { ThreadJobsObserver } from '@postrider/runtime/thread-observer'
import { createThreadPool, type ThreadPool } from '@postrider/runtime/thread-pool'
import { ApiError } from '../../platform/errors.ts'
import type { RelayAdapter, RelayFact } from '../relay.ts'

/** Opens some of a callback's reports. */
export type FactsPart = () => readonly RelayFact[]

export interface ReadCallback {
  /** Whether anything follows from one of its reports. */
  readonly isEmpty: boolean
  /** In order; `factsTogetherMax` each. */
  readonly parts: readonly FactsPart[]
}

export interface CallbackReader extends Service {
  /**
   * Undefined for what is not what this provider sends, or takes more than a thread manages. Throws 429
   * `rate_limited` when too much of one caller's waits, and 503 when the thread had no time or is stopped.
   */
  read(caller: string, kind: RelayKind, body: Buffer): Promise<ReadCallback | undefined>
}

export interface CallbackJob {
  readonly kind: RelayKind
  readonly body: Uint8Array<ArrayBuffer>
}

/** Each part as `v8.serialize` has it. */
export type CallbackJobOutput =
  | { readonly isEmpty: boolean; readonly parts: readonly Uint8Array<ArrayBuffer>[] }
  | undefined

/** The worst of such a length takes 20 ms. Ordinary callbacks are shorter. */
export const callbackInPlaceBytesMax = 256 * 1024
/** To open so many takes a few milliseconds. */
const FACTS_TOGETHER_MAX = 1_000
const THREADS = 1
const WAITING_PER_CALLER_MAX = 100

type Pool = ThreadPool<CallbackJob, CallbackJobOutput>

export function createCallbackReader(o: {
  readonly adapterOf: (kind: RelayKind) => RelayAdapter
  readonly observer?: ThreadJobsObserver | undefined
}): CallbackReader {
  const pool: Pool = createThreadPool({
    name: 'callbacks',
    module: new URL('./callback-main.ts', import.meta.url),
    threads: THREADS,
    resourceLimits: { maxOldGenerationSizeMb: 256, maxYoungGenerationSizeMb: 32 },
    waitingPerCallerMax: WAITING_PER_CALLER_MAX,
    observer: o.observer,
  })

  async function readLong(caller: string, kind: RelayKind, body: Buffer) {
    const copy = new Uint8Array(body)
    const outcome = await pool.run(caller, { kind, body: copy }, [copy.buffer])
    if (outcome.kind === 'done') return outcome.output
    if (outcome.limit === 'time') throw new ApiError('unavailable', { bound: 'callbacks' })
    return undefined
  }

  return {
    name: pool.name,
    start: () => pool.start(),
    stop: () => pool.stop(),
    async read(caller, kind, body) {
      if (body.length <= callbackInPlaceBytesMax) {
        const facts = o.adapterOf(kind).callbacks.read(body.toString())
        return facts && { isEmpty: isEmpty(facts), parts: [() => facts] }
      }
      const read = await readLong(caller, kind, body)
      return (
        read && {
          isEmpty: read.isEmpty,
          parts: read.parts.map((part) => () => deserialize(part) as readonly RelayFact[]),
        }
      )
    },
  }
}

/** The thread's part. */
export function readCallback(
  { kind, body }: CallbackJob,
  adapterOf: (kind: RelayKind) => RelayAdapter,
): CallbackJobOutput {
  const facts = adapterOf(kind).callbacks.read(Buffer.from(body.buffer).toString())
  if (facts === undefined) return undefined
  const count = Math.ceil(facts.length / FACTS_TOGETHER_MAX)
  const parts = Array.from({ length: count }, (_, i) => {
    const some = facts.slice(i * FACTS_TOGETHER_MAX, (i + 1) * FACTS_TOGETHER_MAX)
    return new Uint8Array(serialize(some))
  })
  return { isEmpty: isEmpty(facts), parts }
}

function isEmpty(facts: readonly RelayFact[]): boolean {
  return facts.every(({ kind }) => kind === 'other')
}
