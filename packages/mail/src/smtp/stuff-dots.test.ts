import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createDotStuffer } from './stuff-dots.ts'

/** What is sent for a message in these chunks; undefined when it may not be sent. */
function stuff(chunks: readonly Buffer[]): string | undefined {
  const stuffer = createDotStuffer()
  const pieces: Buffer[] = []
  for (const chunk of chunks) {
    const piece = stuffer.take(chunk)
    if (piece === undefined) return undefined
    pieces.push(piece)
  }
  return stuffer.isWhole ? Buffer.concat(pieces).toString('latin1') : undefined
}

function inPieces(message: string, sizes: readonly number[]): Buffer[] {
  const bytes = Buffer.from(message, 'latin1')
  const chunks: Buffer[] = []
  let at = 0
  for (const size of sizes) {
    chunks.push(bytes.subarray(at, at + size))
    at += size
  }
  return [...chunks, bytes.subarray(at)]
}

/** The same by the book, slow and simple. */
function expected(message: string): string | undefined {
  const bare = message.replaceAll('\r\n', '')
  if (/[\r\n]/.test(bare) || message.includes('\0')) return undefined
  return message
    .split('\r\n')
    .map((line) => (line.startsWith('.') ? `.${line}` : line))
    .join('\r\n')
}

const pieces = fc.array(fc.integer({ min: 0, max: 5 }), { maxLength: 30 })
const wholesome = fc
  .array(fc.constantFrom('\r\n', '.', 'a', '-', ' ', '\u00ff', '\r\n.', '\r\n..'), {
    maxLength: 30,
  })
  .map((parts) => parts.join(''))
const odd = fc
  .array(fc.constantFrom('\r', '\n', '.', 'a', '\r\n', '\0', ' '), { maxLength: 30 })
  .map((parts) => parts.join(''))

describe('the bytes of a message', () => {
  it('have a dot doubled at the beginning of a line, however they are divided', () => {
    fc.assert(
      fc.property(wholesome, pieces, (message, sizes) => {
        expect(stuff(inPieces(message, sizes))).toBe(expected(message))
      }),
    )
  })

  it('are refused with a bare CR, LF or NUL, however they are divided', () => {
    fc.assert(
      fc.property(odd, pieces, (message, sizes) => {
        expect(stuff(inPieces(message, sizes))).toBe(expected(message))
      }),
      { numRuns: 1_000 },
    )
  })

  it('never contain an end of data', () => {
    fc.assert(
      fc.property(fc.oneof(odd, wholesome), pieces, (message, sizes) => {
        const sent = `\r\n${stuff(inPieces(message, sizes)) ?? ''}\r\n`
        for (const end of ['\r\n.\r\n', '\n.\n', '\r.\r', '\n.\r', '\r.\n', '\0'])
          expect(sent).not.toContain(end)
      }),
      { numRuns: 1_000 },
    )
  })

  it('are passed on unchanged where no dot has to be doubled', () => {
    const chunk = Buffer.from('a.b\r\nc\r\n')
    expect(createDotStuffer().take(chunk)).toBe(chunk)
  })
})
