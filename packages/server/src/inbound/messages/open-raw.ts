/**
 * A message as it was received, read piece by piece as it is sent: one piece is held at a time, and no
 * transaction is open between two. The first is read before anything is answered.
 */
import { Readable } from 'node:stream'
import type { ConcurrencyLimiter } from '@postrider/runtime/concurrency-limiter'
import { type Db, readByIndex } from '../../platform/db/index.ts'
import { findInboundMessage, receivedContentRemoved } from './find-message.ts'
import { readPiece } from './message-store.ts'

export interface OpenRawDeps {
  readonly db: Db
  /** Of pieces that are being read. */
  readonly limiter: ConcurrencyLimiter
}

export async function openRaw(
  { db, limiter }: OpenRawDeps,
  tenantId: string,
  inboundId: string,
): Promise<{ readonly bytes: number; readonly stream: Readable }> {
  const message = await findInboundMessage(db, tenantId, inboundId)
  const read = async (n: number) => {
    const piece = await limiter.run(tenantId, () =>
      readByIndex(db, (tx) => readPiece(tx, message, n)),
    )
    if (piece === undefined) throw receivedContentRemoved()
    return piece
  }
  const { bytes } = message
  const first = await read(0)
  return { bytes, stream: Readable.from(pieces(), { objectMode: false, highWaterMark: 1 }) }

  async function* pieces(): AsyncGenerator<Buffer, void, undefined> {
    yield first
    let length = first.length
    for (let n = 1; length < bytes; n += 1) {
      const piece = await read(n)
      length += piece.length
      yield piece
    }
  }
}
