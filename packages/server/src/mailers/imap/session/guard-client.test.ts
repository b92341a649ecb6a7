import { once } from 'node:events'
import type { Writable } from 'node:stream'
import { ImapFlow } from 'imapflow'
import { afterEach, expect, it } from 'vitest'
import { guardClient } from './guard-client.ts'

/** A client that is not connected; notes which pieces its parser is given. */
function guarded() {
  const client = new ImapFlow({ host: '127.0.0.1', port: 1, logger: false, auth: { user: 'a' } })
  const streamer: unknown = Reflect.get(client, 'streamer')
  const pieces: Buffer[] = []
  Object.assign(streamer as object, {
    _transform(piece: Buffer, _: string, next: () => void) {
      pieces.push(piece)
      next()
    },
  })
  const guard = guardClient(client, { messageBytesMax: 100_000, onBroken: () => undefined })
  const made = streamer as Writable
  streamers.push(made)
  const say = async (text: string) => {
    for (const byte of Buffer.from(text, 'latin1'))
      await new Promise<unknown>((done) => made.write(Buffer.from([byte]), done))
  }
  return { guard, pieces, say, streamer: made }
}

const streamers: Writable[] = []
afterEach(() => {
  for (const streamer of streamers.splice(0)) streamer.destroy()
})

it('[B11] passes a message that arrives byte by byte to the parser in large pieces, unchanged', async () => {
  const { guard, pieces, say } = guarded()
  guard.begin()
  guard.beginCommand({ isForMessages: true })
  const text = `* 1 FETCH (UID 1 BODY[] {40000}\r\n${'abcdefgh'.repeat(5_000)})\r\n* 5 EXISTS\r\n`
  await say(text)
  expect(Buffer.concat(pieces).toString('latin1')).toBe(text)
  expect(pieces.length).toBeLessThan(12)
})

it('buffers nothing but literals until the login is done', async () => {
  const { pieces, say } = guarded()
  await say('* OK hi')
  expect(pieces).toHaveLength(7)
})

it('[B11] stops waiting when the connection closes', async () => {
  const { guard, streamer } = guarded()
  guard.begin()
  guard.beginCommand({ isForMessages: true })
  let isRead = false
  // Charged with seconds, so that it waits for many.
  const flood = `* 1 FETCH (${'{0}\r\n'.repeat(256)})\r\n`.repeat(1_000)
  streamer.write(Buffer.from(flood), () => {
    isRead = true
  })
  expect(guard.waitedMs).toBeGreaterThan(10_000)
  const closed = once(streamer, 'close')
  streamer.destroy()
  await closed
  await new Promise(setImmediate)
  expect(isRead).toBe(true)
})
