/** Finds commands in what a client sends: lines, with the literals that they announce (RFC 3501 §4.3). */
import type { ImapPart } from './imap-syntax.ts'

export interface ImapInputOptions {
  /** A line, or several with their literals between them. */
  readonly onCommand: (parts: readonly ImapPart[]) => void
  /** Takes the next line instead, where there is one: a step of a dialogue. */
  readonly takeLine: () => ((line: string) => void) | undefined
  /** The client waits to be told before it sends its literal. */
  readonly onLiteral: () => void
  readonly onTooLong: () => void
}

const LINE_BYTES_MAX = 65_536

/** Answers how many bytes were taken, 0 when it needs more. */
export function createImapInput(o: ImapInputOptions): (input: Buffer) => number {
  let parts: ImapPart[] = []
  let chunks: Buffer[] = []
  let literalLeft = 0

  function readLiteral(input: Buffer): number {
    const used = Math.min(input.length, literalLeft)
    chunks.push(Buffer.from(input.subarray(0, used)))
    literalLeft -= used
    if (literalLeft === 0) endLiteral()
    return used
  }

  function endLiteral(): void {
    parts.push(Buffer.concat(chunks))
    chunks = []
  }

  function readLine(input: Buffer): number {
    const end = input.indexOf('\r\n')
    if (end < 0) {
      if (input.length <= LINE_BYTES_MAX) return 0
      o.onTooLong()
      return input.length
    }
    const line = input.toString('utf8', 0, end)
    const takeLine = o.takeLine()
    const [announced, count, isUnasked] = /\{(\d+)(\+?)\}$/.exec(line) ?? []
    if (takeLine !== undefined) takeLine(line)
    else if (announced !== undefined) {
      parts.push(line.slice(0, -announced.length))
      literalLeft = Number(count)
      if (isUnasked === '') o.onLiteral()
      if (literalLeft === 0) endLiteral()
    } else {
      const whole = [...parts, line]
      parts = []
      o.onCommand(whole)
    }
    return end + 2
  }

  return (input) => (literalLeft > 0 ? readLiteral(input) : readLine(input))
}
