/**
 * Reads JSON bodies: ordinary ones at once, longer ones in a thread with limits. A body of 40 MiB takes
 * up to 0.6 s to read, for everybody if that were on the event loop. Callers take turns.
 */
import type { ErrorCode, FieldError } from '@postrider/contract'
import { createThreadPool, type ThreadPool } from '@postrider/runtime/thread-pool'
import { ApiError } from '../../errors.ts'
import { parseJson } from './json-body.ts'

export interface JsonReader {
  /** Throws what `parseJson` throws. A long body is handed over, and the caller's no longer. */
  read(caller: string, bytes: Buffer): unknown
  stop(): Promise<void>
}

/** What is read, or why it is refused: both pass between threads. */
export type ReadJson =
  | { readonly kind: 'value'; readonly value: unknown }
  | {
      readonly kind: 'refused'
      readonly code: ErrorCode
      readonly message: string
      readonly errors?: readonly FieldError[]
    }

/** With as many names as it can hold, a body of this takes 12 ms. */
const IN_PLACE_BYTES_MAX = 256 * 1024
const THREADS = 1
/** Their bodies are bounded in bytes before. */
const WAITING_PER_CALLER_MAX = 1_000

type Pool = Pick<ThreadPool<Uint8Array<ArrayBuffer>, ReadJson>, 'run' | 'stop'>

function createPool(): Pool {
  return createThreadPool({
    name: 'json-bodies',
    module: new URL('./json-main.ts', import.meta.url),
    threads: THREADS,
    resourceLimits: { maxOldGenerationSizeMb: 512, maxYoungGenerationSizeMb: 32 },
    waitingPerCallerMax: WAITING_PER_CALLER_MAX,
  })
}

export function createJsonReader(pool: Pool = createPool()): JsonReader {
  return {
    read(caller, bytes) {
      return bytes.length <= IN_PLACE_BYTES_MAX ? parseJson(bytes) : readLong(pool, caller, bytes)
    },
    stop: () => pool.stop(),
  }
}

async function readLong(pool: Pool, caller: string, bytes: Buffer): Promise<unknown> {
  const handed = ownBytes(bytes)
  const outcome = await pool.run(caller, handed, [handed.buffer])
  if (outcome.kind === 'overran')
    throw new ApiError('payload_too_large', {
      message: `The body takes too much ${outcome.limit} to read`,
      bound: 'json-bodies',
    })
  const { output } = outcome
  if (output.kind === 'value') return output.value
  const { code, message, errors } = output
  throw new ApiError(code, { message, ...(errors === undefined ? {} : { errors }) })
}

/** Of a buffer that is shared with others, a copy. */
function ownBytes(bytes: Buffer): Uint8Array<ArrayBuffer> {
  const { buffer, byteOffset, byteLength } = bytes
  const isOwn = buffer instanceof ArrayBuffer && byteLength === buffer.byteLength
  return isOwn ? new Uint8Array(buffer, byteOffset, byteLength) : new Uint8Array(bytes)
}

/** The thread's part. */
export function readJson(bytes: Buffer): ReadJson {
  try {
    return { kind: 'value', value: parseJson(bytes) }
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    const { code, message, errors } = error
    return { kind: 'refused', code, message, ...(errors === undefined ? {} : { errors }) }
  }
}
