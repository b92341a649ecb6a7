import { expect, it } from 'vitest'
import { askAgainIn, askEveryMs, isDelivered } from './simulated.ts'

it('lets the recipient act on mail that has arrived alone', () => {
  expect([isDelivered('delivered'), isDelivered('sent')]).toEqual([true, true])
  expect(['queued', 'bounced', 'suppressed'].some((one) => isDelivered(one as 'queued'))).toBe(
    false,
  )
})

it('asks for what came of it for a while after a press', () => {
  expect(askAgainIn(undefined, 5_000)).toBe(false)
  expect(askAgainIn(1_000, 2_000)).toBe(askEveryMs)
  expect(askAgainIn(1_000, 30_000)).toBe(false)
})
