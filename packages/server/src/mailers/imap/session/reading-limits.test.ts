import { createRandom } from '@postrider/testkit'
import { expect, it } from 'vitest'
import { createWorkLimiter } from '../../../platform/limits/work-limiter.ts'
import { READING_LIMITS } from './guard-client.ts'

it('[B11] bounds the CPU of a connection to two seconds in any ten', () => {
  const random = createRandom(3)
  for (let round = 0; round < 20; round++) {
    let nowMs = 0
    const limiter = createWorkLimiter({ ...READING_LIMITS, monotonicMs: () => nowMs })
    const spent: { readonly atMs: number; readonly us: number }[] = []
    while (nowMs < 60_000) {
      const us = random.below(25_000)
      spent.push({ atMs: nowMs, us })
      // A turn takes at least as long as its CPU; now and then the server pauses.
      const pauseMs = random.below(50) === 0 ? random.below(15_000) : 0
      nowMs += us / 1_000 + limiter.spend(us) + pauseMs
    }
    for (const { atMs } of spent) {
      const within = spent.filter((one) => one.atMs >= atMs && one.atMs < atMs + 10_000)
      expect(within.reduce((sum, one) => sum + one.us, 0)).toBeLessThan(2_050_000)
    }
  }
})

it('[B11] does not delay a list of ten thousand messages', () => {
  const limiter = createWorkLimiter({ ...READING_LIMITS, monotonicMs: () => 1_000 })
  for (let n = 0; n < 10_000; n++) expect(limiter.spend(70)).toBe(0)
})
