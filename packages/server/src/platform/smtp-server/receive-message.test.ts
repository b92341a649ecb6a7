/** One message is read to its end, or to that of its connection, whatever its turns are like. */
import { PassThrough } from 'node:stream'
import { setImmediate } from 'node:timers/promises'
import { createByteLimiter } from '@postrider/runtime/byte-limiter'
import type { SMTPServerDataStream } from 'smtp-server'
import { describe, expect, it } from 'vitest'
import { createMessageBuffer } from './message-buffer.ts'
import { receiveMessage } from './receive-message.ts'
import { PIECE_BYTES } from './receive-throttle.ts'

const ADDRESS = '192.0.2.1'
const UNTIMED_BYTES = 256 * 1024

/** A message that is received, and the pieces that wait for a turn. */
function receive() {
  const stream = Object.assign(new PassThrough({ highWaterMark: 1 }), { byteLength: 0 })
  const budget = createByteLimiter({
    ...{
      bytesMax: 64 * 1024 * 1024,
      bytesOfCallerMax: (64 * 1024 * 1024) / 2,
      letsLargeInAlone: false,
    },
  })
  const before = Buffer.from('Received: here\r\n')
  const bytesMax = 1024 * 1024
  const waiting: (() => void)[] = []
  const asked: string[] = []
  const received = receiveMessage(stream as unknown as SMTPServerDataStream, {
    buffer: createMessageBuffer({
      before,
      bytesMax,
      budget,
      address: ADDRESS,
      madeWhole: () => undefined,
    }),
    bytesMax,
    address: ADDRESS,
    turns: {
      next: (address) => {
        asked.push(address)
        return new Promise((resolve) => waiting.push(resolve))
      },
    },
  })
  let taken = 0
  stream.on('data', (chunk: Buffer) => {
    taken += chunk.length
  })
  return {
    stream,
    received,
    asked,
    taken: () => taken,
    write(bytes: number) {
      for (let left = bytes; left > 0; left -= 1024)
        stream.write(Buffer.alloc(Math.min(left, 1024), 'x'))
    },
    async turn() {
      waiting.shift()?.()
      await settled()
    },
  }
}

async function settled(): Promise<void> {
  for (let i = 0; i < 5; i += 1) await setImmediate()
}

describe('a message that is received', () => {
  it('skips the receive throttle while it is small', async () => {
    const { stream, received, asked, write } = receive()
    write(UNTIMED_BYTES - 1)
    stream.end()
    expect(await received).toMatchObject({ kind: 'whole' })
    expect(asked).toEqual([])
  })

  it('takes one piece at each turn of the receive throttle from then on', async () => {
    const { stream, received, asked, taken, write, turn } = receive()
    write(UNTIMED_BYTES + 2 * PIECE_BYTES + 1)
    stream.end()
    await settled()
    expect(taken()).toBe(UNTIMED_BYTES)
    await turn()
    expect(taken()).toBe(UNTIMED_BYTES + PIECE_BYTES)
    await turn()
    await turn()
    expect(await received).toMatchObject({ kind: 'whole' })
    expect(taken()).toBe(UNTIMED_BYTES + 2 * PIECE_BYTES + 1)
    expect(asked).toEqual([ADDRESS, ADDRESS, ADDRESS])
  })

  it('ends when its connection ends while it waits for its turn', async () => {
    const { stream, received, write, taken, turn } = receive()
    write(UNTIMED_BYTES + PIECE_BYTES)
    await settled()
    stream.destroy(new Error('gone'))
    expect(await received).toEqual({ kind: 'cut' })
    await turn()
    expect(taken()).toBe(UNTIMED_BYTES)
  })
})
