import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { createFrameMemory, FRAME_MEMORY } from './frame-memory.ts'
import type { Frame } from './frames.ts'
import { createSubscriber } from './subscriber.ts'

function subscribe() {
  return createSubscriber({
    tenantId: 'tn_a',
    filters: { event: undefined, refId: undefined, email: undefined, mailerId: undefined },
    mayReadContent: true,
    monotonicMs: () => 0,
    onGap: () => undefined,
    unsentOctets: () => 0,
  })
}

it('goes on as soon as its reader has taken what waits, not at the next look', async () => {
  const { stream, untilRoom } = subscribe()
  stream.push(Buffer.alloc(100_000))
  let hasRoom = false
  void untilRoom().then(() => {
    hasRoom = true
  })
  await nextTurn()
  expect(hasRoom).toBe(false)
  stream.resume()
  for (let turn = 0; turn < 10; turn++) await nextTurn()
  expect(hasRoom).toBe(true)
})

it('leaves out all events after the first until its reader has taken nearly all', () => {
  const { stream, send } = subscribe()
  const frame: Frame = {
    key: {
      ...{ tenantId: 'tn_a', eventId: 'evt_1', day: '2026-01-01', event: 'MAIL_DELIVERED' },
      ...{ refId: '', octets: 1, owner: '', xact: 1n },
    },
    bytes: () => Buffer.from('event\n\n'),
    fits: () => true,
  }
  const loan = createFrameMemory(FRAME_MEMORY).lend('tn_a', 1)
  const read = (octets?: number) => String(stream.read(octets))
  read()
  stream.push(Buffer.alloc(1_100_000))
  send(frame, loan)
  read(500_000)
  send(frame, loan)
  read(600_000)
  send(frame, loan)
  expect(read()).toBe('event: gap\ndata: {"reason":"slow_reader","count":2}\n\nevent\n\n')
})
