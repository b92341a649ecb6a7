import { describe, expect, it } from 'vitest'
import { outcomeOf, queueTone, readQuota, stateOfKey, worstFirst } from './states.ts'

describe('worstFirst', () => {
  it('has failed checks, then warnings, each in the order of the look', () => {
    const checks = (['ok', 'warning', 'failed', 'ok', 'warning', 'failed'] as const).map(
      (state, n) => ({ state, n }),
    )
    expect(worstFirst(checks).map(({ n }) => n)).toEqual([2, 5, 1, 4, 0, 3])
  })
})

describe('queueTone', () => {
  it.each([
    [{ late: true, state: 'active' }, 'bad'],
    [{ late: false, state: 'active' }, 'good'],
    [{ late: false, state: 'deactivated' }, 'warn'],
    [{ late: false, state: 'dormant' }, 'warn'],
    [{ late: false, state: 'paused' }, 'muted'],
  ])('of %j is %s', (queue, tone) => {
    expect(queueTone(queue)).toBe(tone)
  })
})

describe('stateOfKey', () => {
  it('is revoked before it is expired, and valid until the moment of its expiry', () => {
    const now = new Date('2030-01-02T00:00:00Z')
    const at = now.toISOString()
    const later = '2030-01-02T00:00:01Z'
    expect(stateOfKey({ expires_at: null, revoked_at: null }, now)).toBe('valid')
    expect(stateOfKey({ expires_at: later, revoked_at: null }, now)).toBe('valid')
    expect(stateOfKey({ expires_at: at, revoked_at: null }, now)).toBe('expired')
    expect(stateOfKey({ expires_at: at, revoked_at: at }, now)).toBe('revoked')
  })
})

describe('outcomeOf', () => {
  it('tells done, refused, and what ended without an answer', () => {
    expect([200, 202, 302, 400, 503, null].map(outcomeOf)).toEqual([
      ...['done', 'done', 'done', 'refused', 'refused', 'unfinished'],
    ])
  })
})

describe('readQuota', () => {
  it.each([
    ['', null],
    [' ', null],
    ['0', 0],
    ['30', 30],
    ['1.000.000', 1_000_000],
    ['1,000 000', 1_000_000],
    ['1.5', undefined],
    ['1.0000', undefined],
    ['-1', undefined],
    ['1e9', undefined],
    ['many', undefined],
    ['99999999999999999999', undefined],
  ])('reads %j as %s', (text, value) => {
    expect(readQuota(text)).toBe(value)
  })
})
