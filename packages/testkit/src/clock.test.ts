import { expect, it } from 'vitest'
import { createClock } from './clock.ts'

it('stands still until it is moved, and its microseconds never repeat or run backwards', () => {
  const clock = createClock('2026-05-01T12:00:00Z')
  expect(clock.now().toISOString()).toBe('2026-05-01T12:00:00.000Z')
  const first = clock.nowMicros()
  expect(clock.nowMicros()).toBe(first + 1n)
  clock.advance(-5)
  expect(clock.now().toISOString()).toBe('2026-05-01T11:59:59.995Z')
  expect(clock.nowMicros()).toBe(first + 2n)
  clock.advance(1005)
  expect(clock.nowMicros()).toBe(first + 1_000_000n)
})
