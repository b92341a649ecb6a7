/**
 * A body that its handler reads as it comes: a file that is larger than what is to be held of it.
 *
 * It takes no share of the memory for bodies, as no more than a few pieces are held. It has a size, and its next
 * piece has a time; the time that the handler takes between two pieces is not the caller's. The whole has the
 * time of a request (docs/operations/http-limits.md).
 */
import type { Readable } from 'node:stream'
import type { FastifyRequest } from 'fastify'
import { ApiError } from '../../errors.ts'

const PIECE_MS = 10_000

export interface Upload extends AsyncIterable<Buffer> {
  /** What is left of it is not read. */
  passOver(): void
}

export function createUpload(
  request: Pick<FastifyRequest, 'raw' | 'headers'>,
  bytesMax: number,
  pieceMs = PIECE_MS,
): Upload {
  const stream: Readable = request.raw
  if (Number(request.headers['content-length'] ?? 0) > bytesMax)
    throw new ApiError('payload_too_large')
  return {
    async *[Symbol.asyncIterator]() {
      const pieces = stream.iterator({ destroyOnReturn: false })
      for (let bytes = 0; ; ) {
        const next = await within(pieceMs, pieces.next())
        if (next.done === true) return
        bytes += (next.value as Buffer).length
        if (bytes > bytesMax) throw new ApiError('payload_too_large')
        yield next.value as Buffer
      }
    },
    passOver() {
      // Unread, it would keep the connection; destroyed, the answer might not arrive.
      stream.on('error', () => undefined)
      // While somebody listens for these, it does not flow.
      stream.removeAllListeners('readable')
      stream.resume()
    },
  }
}

async function within<T>(ms: number, work: Promise<T>): Promise<T> {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => late.reject(tooSlow(ms)), ms)
  // Nobody waits for what comes after the time.
  work.catch(() => undefined)
  try {
    return await Promise.race([work, late.promise])
  } finally {
    clearTimeout(timer)
  }
}

function tooSlow(ms: number): ApiError {
  return new ApiError('request_timeout', {
    message: `The body comes too slowly: nothing came for ${ms / 1000} s`,
    headers: { connection: 'close' },
    bound: 'body-rate',
  })
}
