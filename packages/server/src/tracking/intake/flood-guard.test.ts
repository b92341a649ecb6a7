import { describe, expect, it } from 'vitest'
import { createFloodGuard, hitsAnHourMax, hourMs } from './flood-guard.ts'

const NOW = 1_764_000_000_000

describe('the guard against floods', () => {
  it('admits fifty hits of one token in an hour, and does not limit another token', () => {
    const guard = createFloodGuard()
    const answers = Array.from({ length: 60 }, () => guard.admit('a', NOW))
    expect(answers.filter((answer) => answer !== 'full')).toHaveLength(hitsAnHourMax)
    expect(answers.slice(hitsAnHourMax)).toEqual(Array.from({ length: 10 }, () => 'full'))
    expect(guard.admit('b', NOW)).toBe('free')
  })

  it('asks at every tenth hit what other processes have recorded', () => {
    const guard = createFloodGuard()
    const answers = Array.from({ length: 20 }, () => guard.admit('a', NOW))
    expect(answers.flatMap((answer, i) => (answer === 'ask' ? [i] : []))).toEqual([9, 19])
  })

  it('refuses a token that other processes have filled', () => {
    const guard = createFloodGuard()
    guard.admit('a', NOW)
    guard.fill('a')
    expect(guard.admit('a', NOW)).toBe('full')
  })

  it('starts over after an hour, and when the clock was set back by one', () => {
    for (const later of [NOW + hourMs, NOW - hourMs]) {
      const guard = createFloodGuard()
      guard.admit('a', NOW)
      guard.fill('a')
      expect(guard.admit('a', later)).toBe('free')
    }
  })

  it('does not count hits that could not be recorded', () => {
    const guard = createFloodGuard()
    for (let i = 0; i < 200; i++) {
      expect(guard.admit('a', NOW)).not.toBe('full')
      guard.giveBack('a')
    }
  })
})
