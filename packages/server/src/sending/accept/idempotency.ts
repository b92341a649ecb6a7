/**
 * Reads an Idempotency-Key, hashes the body that it stands for, and knows which requests are under way
 * (docs/reference/idempotency.md#the-same-request-again). What a repeated key means, `judge-emails.ts` decides;
 * `key-store.ts` has the rows.
 *
 * The row that keeps a key is written in the transaction that accepts the email, so a key is kept
 * exactly when its email is.
 */
import { createHash } from 'node:crypto'
import { setImmediate } from 'node:timers/promises'
import { idempotencyKeyLengthMax } from '@postrider/contract'
import { ApiError, validationError } from '../../platform/errors.ts'

const KEY = /^[\x20-\x7e]+$/

/** The value of the header, or of the field at `path`; undefined when there is none. */
export function readIdempotencyKey(
  given: string | string[] | undefined,
  path = 'Idempotency-Key',
): string | undefined {
  if (given === undefined) return undefined
  if (typeof given !== 'string' || given.length > idempotencyKeyLengthMax || !KEY.test(given))
    throw validationError({
      path,
      message: `must be 1 to ${idempotencyKeyLengthMax} visible ASCII characters`,
    })
  return given
}

/** Keys of test mail are apart from those of other mail. No caller's key has this character. */
export function keyOfMode(key: string, isTest: boolean): string {
  return isTest ? `\u0001${key}` : key
}

/**
 * SHA-256 of the value, whatever the order of its keys or its white space. Of a long one the event loop
 * has a turn after each slice: writing 40 MB as JSON takes 0.2 s.
 */
export async function hashBody(body: unknown): Promise<Buffer> {
  const hash = createHash('sha256')
  let slice = ''
  for (const piece of piecesOf(body)) {
    slice += piece
    if (slice.length < SLICE_CHARS) continue
    hash.update(slice)
    slice = ''
    await setImmediate()
  }
  return hash.update(slice).digest()
}

const SLICE_CHARS = 256 * 1024

/** JSON with sorted keys, in pieces that the value alone decides. */
function* piecesOf(value: unknown): Generator<string> {
  if (typeof value === 'string') yield* piecesOfText(value)
  else if (Array.isArray(value)) {
    yield '['
    for (const [i, item] of value.entries()) {
      if (i > 0) yield ','
      yield* piecesOf(item)
    }
    yield ']'
  } else if (typeof value === 'object' && value !== null) {
    yield '{'
    const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
    for (const [i, [key, item]] of entries.entries()) {
      yield `${i > 0 ? ',' : ''}${JSON.stringify(key)}:`
      yield* piecesOf(item)
    }
    yield '}'
  } else yield JSON.stringify(value)
}

function* piecesOfText(text: string): Generator<string> {
  yield '"'
  for (let at = 0; at < text.length; at += SLICE_CHARS)
    yield JSON.stringify(text.slice(at, at + SLICE_CHARS)).slice(1, -1)
  yield '"'
}

/** Keys whose first request this process is answering just now. */
export interface KeysInProgress {
  /** Until the result is called, others with this key are told so. Throws `idempotency_in_progress`. */
  hold(tenantId: string, key: string): () => void
  run<T>(tenantId: string, key: string | undefined, work: () => Promise<T>): Promise<T>
}

export function createKeysInProgress(): KeysInProgress {
  const running = new Set<string>()
  function hold(tenantId: string, key: string): () => void {
    const id = `${tenantId} ${key}`
    if (running.has(id)) throw new ApiError('idempotency_in_progress', { retryAfterS: 1 })
    running.add(id)
    return () => running.delete(id)
  }
  return {
    hold,
    async run(tenantId, key, work) {
      if (key === undefined) return work()
      const release = hold(tenantId, key)
      try {
        return await work()
      } finally {
        release()
      }
    },
  }
}
