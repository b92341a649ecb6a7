import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createByteLimiter } from './byte-limiter.ts'

describe('a byte limiter', () => {
  it('gives a caller at most its share, and all callers at most the total', () => {
    const limiter = createByteLimiter({
      ...{ bytesMax: 100, bytesOfCallerMax: 50, letsLargeInAlone: false },
    })
    expect(limiter.take('a', 51)).toBe(false)
    expect(limiter.take('a', 50)).toBe(true)
    expect(limiter.take('a', 1)).toBe(false)
    expect(limiter.take('b', 30)).toBe(true)
    expect(limiter.hasRoom('c', 20)).toBe(true)
    expect(limiter.take('c', 21)).toBe(false)
    limiter.giveBack('a', 10)
    expect(limiter.takenBytes).toBe(70)
    expect(limiter.take('c', 21)).toBe(true)
    expect(limiter.take('a', 10)).toBe(false)
  })

  it('leaves as much as a caller has for all others, on request', () => {
    const limiter = createByteLimiter({
      ...{ bytesMax: 128, bytesOfCallerMax: 64, letsLargeInAlone: false, leavesAsMuch: true },
    })
    for (const [caller, bytes] of [
      ['a', 64],
      ['b', 32],
      ['c', 16],
      ['d', 8],
    ] as const) {
      expect(limiter.hasRoom(caller, bytes + 1)).toBe(false)
      expect(limiter.take(caller, bytes)).toBe(true)
    }
    expect(limiter.take('e', 4)).toBe(true)
    limiter.giveBack('a', 64)
    expect(limiter.take('b', 2)).toBe(true)
    expect(limiter.take('e', 33)).toBe(false)
  })

  it('admits a piece larger than the total alone, on request', () => {
    const limiter = createByteLimiter({
      ...{ bytesMax: 100, bytesOfCallerMax: 25, letsLargeInAlone: true },
    })
    expect(limiter.take('a', 1)).toBe(true)
    expect(limiter.take('b', 1_000)).toBe(false)
    expect(limiter.take('b', 60)).toBe(true)
    expect(limiter.take('b', 1)).toBe(false)
    limiter.giveBack('a', 1)
    limiter.giveBack('b', 60)
    expect(limiter.take('b', 1_000)).toBe(true)
    expect(limiter.take('a', 1)).toBe(false)
  })

  it('accepts returned bytes in any order, and never exceeds its bounds', () => {
    const steps = fc.array(fc.tuple(fc.constantFrom('a', 'b', 'c'), fc.nat(60)))
    fc.assert(
      fc.property(steps, (taken) => {
        const limiter = createByteLimiter({
          ...{ bytesMax: 100, bytesOfCallerMax: 50, letsLargeInAlone: false },
        })
        const held = taken.filter(([caller, bytes]) => limiter.take(caller, bytes))
        expect(limiter.takenBytes).toBeLessThanOrEqual(100)
        for (const [caller, bytes] of held.toReversed()) limiter.giveBack(caller, bytes)
        expect(limiter.takenBytes).toBe(0)
        expect(limiter.hasRoom('a', 50)).toBe(true)
      }),
    )
  })
})
