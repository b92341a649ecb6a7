/**
 * A message as it was received, read piece by piece as it is sent: one piece is held at a time, and no
 * transaction is open between two. The first is read before anything is answered.
 */
import { Readable } from 'node:stream'
import { type Db, readByIndex } from '../../platform/db/index.ts'
import { ApiError } from '../../platform/errors.ts'
import type { Gate } from '../../platform/gate.ts'
import { readRaw } from '../message-store.ts'
import { findInboundMessage } from './find-message.ts'

export interface OpenRawDeps {
  readonly db: Db
  /** Of pieces that are being read. */
  readonly gate: Gate
  /** A smaller one, for tests. */
  readonly pieceBytes?: number
}

const PIECE_BYTES = 512 * 1024

export async function openRaw(
  { db, gate, pieceBytes: length = PIECE_BYTES }: OpenRawDeps,
  tenantId: string,
  inboundId: string,
): Promise<{ readonly bytes: number; readonly stream: Readable }> {
  const message = await findInboundMessage(db, tenantId, inboundId)
  const read = async (at: number) => {
    const piece = await gate.run(tenantId, () =>
      readByIndex(db, (tx) => readRaw(tx, message, { at, length })),
    )
    // Retention has taken it meanwhile.
    if (piece === undefined) throw new ApiError('not_found')
    return piece
  }
  const { bytes } = message
  const first = await read(0)
  return { bytes, stream: Readable.from(pieces(), { objectMode: false, highWaterMark: 1 }) }

  async function* pieces(): AsyncGenerator<Buffer, void, undefined> {
    yield first
    for (let at = first.length; at < bytes; at += length) yield await read(at)
  }
}
