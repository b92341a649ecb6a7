/**
 * Reads one message off a connection. What is refused half-way is read to its end and forgotten, because
 * an answer can only follow the final dot; but not without end.
 */
import type { SMTPServerDataStream } from 'smtp-server'
import type { MessageBuffer } from './message-buffer.ts'
import { PIECE_BYTES, type ReceiveThrottle } from './receive-throttle.ts'

export type Received =
  | { readonly kind: 'whole'; readonly raw: Buffer }
  | { readonly kind: 'too_large' | 'no_room' }
  /** The peer has gone before the final dot. */
  | { readonly kind: 'cut' }
  /** Goes on long after it was too large. */
  | { readonly kind: 'endless' }
  /** Consists of more pieces than any message that means well. */
  | { readonly kind: 'shredded' }

/** smtp-server hands out each line that begins with a dot by itself, which takes it long. */
const PIECES_MAX = 250_000
/** What is longer waits for its turn after each piece. */
const UNTIMED_BYTES = 256 * 1024

export function receiveMessage(
  stream: SMTPServerDataStream,
  o: {
    readonly buffer: MessageBuffer
    readonly bytesMax: number
    /** Whose message it is: a peer's address. */
    readonly address: string
    readonly turns: ReceiveThrottle
  },
): Promise<Received> {
  const { buffer, bytesMax, address, turns } = o
  let refusal: 'too_large' | 'no_room' | undefined
  let pieces = 0
  let turnEndsAt = UNTIMED_BYTES
  let bytes = 0
  return new Promise((resolve) => {
    stream.on('data', (chunk: Buffer) => {
      pieces += 1
      bytes += chunk.length
      if (pieces > PIECES_MAX) resolve({ kind: 'shredded' })
      const added = refusal ?? buffer.add(chunk)
      if (added !== 'ok') refusal = added
      if (refusal !== undefined && stream.byteLength > 2 * bytesMax) resolve({ kind: 'endless' })
      if (bytes < turnEndsAt) return
      turnEndsAt = bytes + PIECE_BYTES
      stream.pause()
      void turns.next(address).then(() => stream.resume())
    })
    stream.once('end', () => resolve(refusal === undefined ? buffer.end() : { kind: refusal }))
    stream.once('error', () => resolve({ kind: 'cut' }))
    // After `end` it changes nothing.
    stream.once('close', () => resolve({ kind: 'cut' }))
  })
}
