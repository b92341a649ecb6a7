import { describe, expect, it } from 'vitest'
import { createClock, formatMicros } from './clock.ts'

describe('clock', () => {
  it('never returns a microsecond twice, nor an earlier one', () => {
    const clock = createClock()
    let last = clock.nowMicros()
    for (let i = 0; i < 10_000; i++) {
      const next = clock.nowMicros()
      expect(next > last).toBe(true)
      last = next
    }
  })

  it('follows the wall clock', () => {
    const distance = createClock().nowMicros() - BigInt(Date.now()) * 1000n
    expect(distance < 1_000_000n && distance > -1_000_000n).toBe(true)
  })

  it('returns to the wall clock after a leap', () => {
    let now = Date.now()
    const clock = createClock(() => now)
    const before = clock.nowMicros()
    now += 20 * 86_400_000
    expect(clock.nowMicros() > before + 86_400_000_000n).toBe(true)
    now -= 20 * 86_400_000
    expect(clock.nowMicros() < before + 86_400_000_000n).toBe(true)
  })

  it('[2.4] formats RFC 3339 UTC with all six digits', () => {
    expect(formatMicros(1_767_323_045_678_901n)).toBe('2026-01-02T03:04:05.678901Z')
    expect(formatMicros(1_767_323_045_000_001n)).toBe('2026-01-02T03:04:05.000001Z')
  })
})
