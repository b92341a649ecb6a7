/**
 * smtp-server's parser, no faster than the work limiter of its connection allows. One chunk is taken at a time and
 * nothing is read ahead of it, so that a peer's flood of tiny segments comes together in the kernel.
 */
import { SMTPStream } from 'smtp-server/lib/smtp-stream.js'

/**
 * What is worth how many microseconds, rounded up from measurements on one 2.5 GHz core: a command took 5
 * to 40, a chunk 8, a line that begins with a dot 2, a million bytes of line ends 20,000.
 */
export const WORTH = {
  chunk: 20,
  byte: 0.002,
  command: 50,
  /** A recipient that is looked up in the database. */
  lookUp: 200,
  dottedLine: 2,
  /** A line end of which half is missing. */
  madeLineEnd: 0.03,
  handshake: 2_000,
} as const

/** Does it now or later, by what it is worth. */
export type DoLimited = (micros: number, work: () => void) => void

/** A part of a message that says how long it is (RFC 3030): nothing in it is a command, or an end. */
export interface Chunk {
  readonly bytes: number
  /** Calls back when there is room for more. */
  readonly take: (piece: Buffer, next: () => void) => void
  /** All of it was taken. Calls back when commands may follow. */
  readonly end: (next: () => void) => void
}

export class LimitedParser extends SMTPStream {
  private readonly doLimited: DoLimited
  private chunk: (Chunk & { left: number }) | undefined

  constructor(o: {
    readonly maxCommandLength?: number | undefined
    readonly doLimited: DoLimited
  }) {
    super({ maxCommandLength: o.maxCommandLength, highWaterMark: 1 })
    this.doLimited = o.doLimited
  }

  override _write(
    chunk: Buffer,
    encoding: BufferEncoding | 'buffer',
    next: (error?: Error | null) => void,
  ): void {
    const micros = WORTH.chunk + (chunk?.length ?? 0) * WORTH.byte
    this.doLimited(micros, () => super._write(chunk, encoding, next))
  }

  /** Called for each chunk of a message, and again after each line of it that begins with a dot. */
  override _feedDataStream(chunk: Buffer, done: (error?: Error | null) => void): void {
    if (this.chunk === undefined)
      this.doLimited(WORTH.dottedLine, () => super._feedDataStream(chunk, done))
    else this.feedChunk(this.chunk, chunk, done)
  }

  /** What follows the command that is being answered is a chunk. */
  startChunk(chunk: Chunk): void {
    this._dataMode = true
    this.chunk = { ...chunk, left: chunk.bytes }
  }

  private feedChunk(
    chunk: Chunk & { left: number },
    bytes: Buffer,
    done: (error?: Error | null) => void,
  ): void {
    const piece = bytes.subarray(0, chunk.left)
    const rest = bytes.subarray(piece.length)
    chunk.left -= piece.length
    chunk.take(piece, () => {
      if (chunk.left > 0) return done()
      this.chunk = undefined
      this._dataMode = false
      this._remainder = ''
      // In turns of their own, there and back: thousands of tiny chunks may come at once, and each is
      // taken within the one before it.
      const later = (error?: Error | null) => void setImmediate(done, error)
      chunk.end(() =>
        rest.length === 0 ? done() : setImmediate(() => this._write(rest, 'buffer', later)),
      )
    })
  }
}
