import { describe, expect, it } from 'vitest'
import { type CheckFacts, decideNextCheck } from './decide-next-check.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS
const waiting: CheckFacts = { isVerified: false, isAmiss: true, isRotating: false, tries: 0 }
const middle = 0.5
const waits = (facts: Partial<CheckFacts>, tries: readonly number[]) =>
  tries.map((n) => decideNextCheck({ ...waiting, ...facts, tries: n }, middle))

describe('the next check', () => {
  it('the next check of a new domain comes soon, then less often, and not at all after a month', () => {
    const first = waits({}, [0, 1, 2, 3, 4, 5, 6, 7, 8, 37])
    expect(first).toEqual([
      MINUTE_MS,
      5 * MINUTE_MS,
      15 * MINUTE_MS,
      HOUR_MS,
      2 * HOUR_MS,
      4 * HOUR_MS,
      8 * HOUR_MS,
      DAY_MS,
      DAY_MS,
      DAY_MS,
    ])
    expect(waits({}, [38, 1_000])).toEqual([undefined, undefined])
    const all = waits(
      {},
      Array.from({ length: 38 }, (_, i) => i),
    )
    const sum = all.reduce<number>((total, ms) => total + (ms ?? 0), 0)
    expect(sum / DAY_MS).toBeGreaterThan(29)
    expect(sum / DAY_MS).toBeLessThan(33)
  })

  it('the next check of a verified domain comes daily, for ever', () => {
    expect(waits({ isVerified: true, isAmiss: false }, [0, 1_000])).toEqual([DAY_MS, DAY_MS])
  })

  it('the next check of a domain with a problem comes sooner, and continues', () => {
    const hours = waits({ isVerified: true }, [1, 2, 3, 4, 5, 1_000])
    expect(hours).toEqual([0.25, 1, 2, 4, 4, 4].map((n) => n * HOUR_MS))
  })

  it('the next check of a domain with a new key comes as for a new domain', () => {
    const rotating = { isVerified: true, isAmiss: false, isRotating: true }
    expect(waits(rotating, [0, 1, 1_000])).toEqual([MINUTE_MS, 5 * MINUTE_MS, DAY_MS])
  })

  it('varies by a tenth at most', () => {
    const of = (random: number) => decideNextCheck({ ...waiting, isVerified: true }, random)
    expect(of(0)).toBe(0.9 * 15 * MINUTE_MS)
    expect(of(1)).toBe(1.1 * 15 * MINUTE_MS)
  })
})
