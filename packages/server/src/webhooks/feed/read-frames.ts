import type { Db } from '../../platform/db/index.ts'
import { readLogBodies } from '../log/log-store.ts'
import type { FeedKey } from './feed-store.ts'
import { createFrame, type Frame } from './frames.ts'

/** Of events that are still in the log, in the same order. */
export async function readFrames(db: Db, keys: readonly FeedKey[]): Promise<Frame[]> {
  const bodies = await readLogBodies(db, keys)
  return keys.flatMap((key, i) => {
    const logged = bodies[i]
    return logged === undefined ? [] : createFrame(key, logged)
  })
}

/** Each with bodies of so many octets at most, or one event. */
export function* inPieces(keys: readonly FeedKey[], octetsMax: number): Generator<FeedKey[]> {
  let piece: FeedKey[] = []
  let octets = 0
  for (const key of keys) {
    if (piece.length > 0 && octets + key.octets > octetsMax) {
      yield piece
      piece = []
      octets = 0
    }
    piece.push(key)
    octets += key.octets
  }
  if (piece.length > 0) yield piece
}
