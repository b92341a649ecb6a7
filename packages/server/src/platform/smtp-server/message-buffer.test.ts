/** Messages are kept as they come, but for their line ends, however they are divided. */

import { createByteLimiter } from '@postrider/runtime/byte-limiter'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createMessageBuffer } from './message-buffer.ts'

const BEFORE = Buffer.from('Received: from a\r\n\tby b\r\n')
const ADDRESS = '192.0.2.1'

function open(bytesMax = 1_000_000, budgetBytes = 4_000_000) {
  const budget = createByteLimiter({
    ...{ bytesMax: budgetBytes, bytesOfCallerMax: budgetBytes / 2, letsLargeInAlone: false },
  })
  const buffer = createMessageBuffer({
    before: BEFORE,
    bytesMax,
    budget,
    address: ADDRESS,
    madeWhole: () => undefined,
  })
  return { budget, buffer }
}

/** Not as fast as it could be. */
function withLineEnds(message: string): string {
  return message.replaceAll(/\r\n|\r|\n/g, '\r\n')
}

const text = fc
  .array(fc.constantFrom('\r', '\n', '\r\n', '.', '\0', ' ', '\x0c', '\x0e', '\xff', 'text'), {
    maxLength: 40,
  })
  .map((parts) => parts.join(''))

const message = fc.record({ text, lengths: fc.array(fc.nat(5), { maxLength: 60 }) })

/** Some of no length, and the rest of it at last. */
function divide(text: string, lengths: readonly number[]): Buffer[] {
  let rest = Buffer.from(text, 'latin1')
  const chunks = lengths.map((length) => {
    const chunk = rest.subarray(0, length)
    rest = rest.subarray(length)
    return chunk
  })
  return [...chunks, rest]
}

describe('the buffer of a message', () => {
  it('completes every line end, and keeps all else, for any division', () => {
    fc.assert(
      fc.property(message, ({ text, lengths }) => {
        const { budget, buffer } = open()
        for (const chunk of divide(text, lengths)) expect(buffer.add(chunk)).toBe('ok')
        const ended = buffer.end()
        const raw = ended.kind === 'whole' ? ended.raw.toString('latin1') : ended.kind
        expect(raw).toBe(BEFORE.toString('latin1') + withLineEnds(text))
        buffer.release()
        expect(budget.takenBytes).toBe(0)
      }),
      { numRuns: 2_000 },
    )
  })

  it('accepts the maximum size with complete line ends, and no byte more', () => {
    const endOf = (bytesMax: number, chunks: readonly Buffer[]) => {
      const { budget, buffer } = open(bytesMax)
      for (const chunk of chunks) buffer.add(chunk)
      const { kind } = buffer.end()
      if (kind !== 'whole') expect(budget.takenBytes).toBe(0)
      return kind
    }
    fc.assert(
      fc.property(message, ({ text, lengths }) => {
        const chunks = divide(`x${text}`, lengths)
        const { length } = withLineEnds(`x${text}`)
        expect(endOf(length, chunks)).toBe('whole')
        expect(endOf(length - 1, chunks)).toBe('too_large')
      }),
      { numRuns: 500 },
    )
  })

  it('accepts a message of many pieces', () => {
    const { budget, buffer } = open()
    const piece = `${'text\n.\r'.repeat(2_000)}\r\n`
    for (let n = 1; n <= 20; n += 1) {
      buffer.add(Buffer.from(piece))
      expect(budget.takenBytes).toBeGreaterThanOrEqual(n * piece.length)
    }
    const ended = buffer.end()
    const raw = ended.kind === 'whole' ? ended.raw.toString() : ended.kind
    expect(raw === BEFORE + withLineEnds(piece.repeat(20))).toBe(true)
  })

  it('takes no memory after its release, whatever else arrives', () => {
    const { budget, buffer } = open()
    buffer.add(Buffer.alloc(100_000))
    expect(budget.takenBytes).toBeGreaterThanOrEqual(100_000)
    buffer.release()
    expect(buffer.add(Buffer.alloc(1_000))).not.toBe('ok')
    expect(budget.takenBytes).toBe(0)
  })

  it('frees its memory when the budget is exceeded, and stays refused', () => {
    const { budget, buffer } = open(1_000_000, 200_000)
    expect(buffer.add(Buffer.alloc(30_000))).toBe('ok')
    expect(buffer.add(Buffer.alloc(60_000))).toBe('no_room')
    expect(budget.takenBytes).toBe(0)
    expect(buffer.add(Buffer.alloc(1))).toBe('no_room')
    expect(buffer.end()).toEqual({ kind: 'no_room' })
  })
})
