/**
 * A message as it comes in: one buffer that grows, with our own lines before it.
 *
 * Every line end is CRLF afterwards: a CR or an LF that stands alone is one line end to some who read the
 * message and none to others, which is what smuggled mail is made of.
 */
import type { ByteLimiter } from '@postrider/runtime/byte-limiter'

export interface MessageBuffer {
  /** What is refused gives its memory back, and stays refused. */
  add(chunk: Uint8Array): 'ok' | 'too_large' | 'no_room'
  /** Its memory is held until `release`, after which nothing is added any more. */
  end():
    | { readonly kind: 'whole'; readonly raw: Buffer }
    | { readonly kind: 'too_large' | 'no_room' }
  release(): void
}

const CR = 0x0d
const LF = 0x0a
const FIRST_BYTES = 32 * 1024

export function createMessageBuffer(o: {
  readonly before: Buffer
  /** Of the message, without what stands before it. */
  readonly bytesMax: number
  readonly budget: ByteLimiter
  readonly address: string
  /** How many line ends were made whole. */
  readonly madeWhole: (lineEnds: number) => void
}): MessageBuffer {
  const { before, budget, address } = o
  const lengthMax = before.length + o.bytesMax
  let refusal: 'too_large' | 'no_room' | undefined
  let buffer = Buffer.alloc(0)
  let heldBytes = 0
  let length = 0
  let last = 0

  function release(): void {
    refusal ??= 'no_room'
    budget.giveBack(address, heldBytes)
    heldBytes = 0
    buffer = Buffer.alloc(0)
  }

  /** While it grows, both buffers are there. */
  function makeRoom(needed: number): void {
    if (needed <= buffer.length) return
    const grown = Math.min(Math.max(needed, 2 * buffer.length, FIRST_BYTES), lengthMax)
    const isTooLarge = needed > lengthMax
    if (isTooLarge || !budget.take(address, grown)) {
      refusal = isTooLarge ? 'too_large' : 'no_room'
      release()
      return
    }
    const larger = Buffer.allocUnsafeSlow(grown)
    buffer.copy(larger, 0, 0, length)
    budget.giveBack(address, heldBytes)
    heldBytes = grown
    buffer = larger
  }

  function append(bytes: Uint8Array): void {
    makeRoom(length + bytes.length)
    if (refusal !== undefined) return
    buffer.set(bytes, length)
    length += bytes.length
  }

  /** Looks at each byte twice rather than at what to do about it: peers send millions of line ends. */
  function addLines(chunk: Uint8Array): void {
    const missing = countMissing(chunk, last)
    if (missing === 0) append(chunk)
    else makeRoom(length + chunk.length + missing)
    if (missing > 0) o.madeWhole(missing)
    if (missing > 0 && refusal === undefined) {
      let previous = last
      for (let i = 0; i < chunk.length; i++) {
        const byte = chunk[i] ?? 0
        const between = missingBetween(previous, byte)
        if (between !== undefined) buffer[length++] = between
        buffer[length++] = byte
        previous = byte
      }
    }
    last = chunk.at(-1) ?? last
  }

  return {
    add(chunk) {
      if (length === 0 && refusal === undefined) append(before)
      if (refusal === undefined) addLines(chunk)
      return refusal ?? 'ok'
    },
    end() {
      if (length === 0 && refusal === undefined) append(before)
      if (last === CR && refusal === undefined) append(Uint8Array.of(LF))
      last = 0
      return refusal === undefined
        ? { kind: 'whole', raw: buffer.subarray(0, length) }
        : { kind: refusal }
    },
    release,
  }
}

/** Halves of line ends. What is above a CR is most of a message, and passed over at once. */
function countMissing(chunk: Uint8Array, before: number): number {
  let missing = before === CR && chunk.length > 0 && chunk[0] !== LF ? 1 : 0
  for (let i = 0; i < chunk.length; i++) {
    const byte = chunk[i] ?? 0
    if (byte > CR) continue
    if (byte === LF && (i === 0 ? before : chunk[i - 1]) !== CR) missing += 1
    if (byte === CR && i + 1 < chunk.length && chunk[i + 1] !== LF) missing += 1
  }
  return missing
}

/** Half of a line end. */
function missingBetween(before: number, byte: number): number | undefined {
  if (before === CR) return byte === LF ? undefined : LF
  return byte === LF ? CR : undefined
}
