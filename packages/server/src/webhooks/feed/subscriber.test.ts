import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { createSubscriber } from './subscriber.ts'

it('goes on as soon as its reader has taken what waits, not at the next look', async () => {
  const { stream, untilRoom } = createSubscriber({
    tenantId: 'tn_a',
    filters: { event: undefined, refId: undefined, email: undefined, mailerId: undefined },
    mayReadContent: true,
    monotonicMs: () => 0,
    onGap: () => undefined,
    unsentOctets: () => 0,
  })
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
