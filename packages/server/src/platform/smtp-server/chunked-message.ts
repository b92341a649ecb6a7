/** A message that comes in chunks (RFC 3030), as a stream for those who take messages from DATA. */
import { PassThrough } from 'node:stream'
import type { SMTPServerDataStream } from 'smtp-server'

export interface MessageAnswer {
  readonly error?: Error | null | undefined
  readonly text?: string | undefined
}

type Answer = (error?: Error | null, text?: string | readonly unknown[]) => void

export class ChunkedMessage {
  readonly stream: SMTPServerDataStream
  private readonly answered: Promise<MessageAnswer>

  /** @param read is given the stream, and says what came of the message: before its end, too. */
  constructor(read: (stream: SMTPServerDataStream, answer: Answer) => void) {
    const facts = { byteLength: 0, sizeExceeded: false }
    this.stream = Object.assign(new PassThrough(), facts) as SMTPServerDataStream
    this.answered = new Promise((resolve) =>
      read(this.stream, (error, text) => {
        resolve({ error, text: typeof text === 'string' ? text : undefined })
        // What nobody wants is read all the same: the answer follows the last chunk.
        this.stream.resume()
      }),
    )
  }

  readonly take = (piece: Buffer, next: () => void): void => {
    const { stream } = this
    stream.byteLength += piece.length
    const hasRoom = stream.destroyed || stream.write(piece)
    const goOn = () => {
      stream.off('drain', goOn)
      stream.off('close', goOn)
      next()
    }
    if (hasRoom) next()
    else {
      stream.once('drain', goOn)
      stream.once('close', goOn)
    }
  }

  end(): Promise<MessageAnswer> {
    this.stream.end()
    return this.answered
  }
}
