import { describe, expect, it } from 'vitest'
import type { RecordState } from '../domain.ts'
import { decideProvider, decideRecord, MISSES_MIN, MISSES_MS_MIN } from './decide-record.ts'
import type { Match } from './match-record.ts'

const START = Date.parse('2026-11-20T12:00:00Z')
const HOUR_MS = 3_600_000
const there: Match = { dns: 'found', found: ['right'], isMatch: true }
const other: Match = { dns: 'found', found: ['wrong'], isMatch: false }
const gone: Match = { dns: 'absent', found: [], isMatch: false }
const silent: Match = { dns: 'unknown', found: [], isMatch: false }

/** States after one look after the other, `hours` apart. */
function look(matches: readonly Match[], o: { isGraced: boolean; hours?: number }) {
  const states: RecordState[] = []
  for (const [i, match] of matches.entries()) {
    const now = new Date(START + i * (o.hours ?? 1) * HOUR_MS)
    states.push(decideRecord(states.at(-1), match, { now, isGraced: o.isGraced }))
  }
  return states
}
const statusesOf = (...o: Parameters<typeof look>) => look(...o).map(({ status }) => status)

describe('the status of a record', () => {
  it.each([
    ['is pending until it is seen', [gone, silent, gone], ['pending', 'pending', 'pending']],
    ['is valid when it is seen', [gone, there], ['pending', 'valid']],
    ['is invalid while something else is there', [other, there], ['invalid', 'valid']],
    ['that is gone is invalid, not pending', [there, gone], ['valid', 'invalid']],
    ['that was wrong and is gone stays invalid', [other, gone], ['invalid', 'invalid']],
    ['stays what it was while nobody knows', [there, silent, silent], ['valid', 'valid', 'valid']],
    ['that is invalid stays so while nobody knows', [other, silent], ['invalid', 'invalid']],
    ['that nobody ever told of is pending', [silent], ['pending']],
  ])('%s', (_what, matches, statuses) => {
    expect(statusesOf(matches, { isGraced: false })).toEqual(statuses)
  })

  it('includes what was found last', () => {
    expect(look([other, silent], { isGraced: false })).toMatchObject([
      { dns: 'found', found: ['wrong'] },
      { dns: 'unknown', found: [] },
    ])
  })
})

describe('a record of a verified domain at a scheduled check', () => {
  it('stays valid until it was missing several times over some hours', () => {
    const graced = { isGraced: true }
    expect(MISSES_MIN).toBe(4)
    expect(MISSES_MS_MIN).toBe(6 * HOUR_MS)
    const seven = [there, ...Array.from({ length: 7 }, () => gone)]
    expect(statusesOf(seven, { ...graced, hours: 1 })).toEqual([
      ...Array.from({ length: 7 }, () => 'valid'),
      'invalid',
    ])
    const three = [there, gone, gone, gone, gone]
    expect(statusesOf(three, { ...graced, hours: 24 })).toEqual([
      'valid',
      'valid',
      'valid',
      'valid',
      'invalid',
    ])
  })

  it('does not count as missing while name servers give no answer', () => {
    const matches = [there, gone, ...Array.from({ length: 20 }, () => silent), gone]
    expect(new Set(statusesOf(matches, { isGraced: true, hours: 10 }))).toEqual(new Set(['valid']))
  })

  it('counts as never missing once it is seen again', () => {
    const matches = [there, gone, gone, gone, there, gone, gone, gone]
    const states = look(matches, { isGraced: true, hours: 10 })
    expect(new Set(states.map(({ status }) => status))).toEqual(new Set(['valid']))
    expect(states[4]).not.toHaveProperty('misses')
  })

  it('counts a wrong value as missing', () => {
    const matches = [there, other, other, other, other]
    expect(statusesOf(matches, { isGraced: true, hours: 2 }).at(-1)).toBe('invalid')
  })

  it('does not become valid by the period of grace', () => {
    expect(statusesOf([gone, other], { isGraced: true })).toEqual(['pending', 'invalid'])
  })
})

describe('the agreement of a provider', () => {
  const no = { agrees: false, detail: 'not yet' }
  const now = new Date(START)

  it('clears all earlier problems', () => {
    const before = { agrees: false, detail: 'x', misses: { count: 2, since: now.toISOString() } }
    const yes = { agrees: true, detail: undefined }
    expect(decideProvider(before, yes, { now, isGraced: true })).toEqual({ agrees: true })
  })

  it('ends at once when somebody asks, and after some hours at scheduled checks', () => {
    const asked = decideProvider({ agrees: true }, no, { now, isGraced: false })
    expect(asked).toMatchObject({ agrees: false, detail: 'not yet' })
    let state = decideProvider({ agrees: true }, no, { now, isGraced: true })
    const agreed = [state.agrees]
    for (let i = 1; i <= 6; i++) {
      const later = new Date(START + i * HOUR_MS)
      state = decideProvider(state, no, { now: later, isGraced: true })
      agreed.push(state.agrees)
    }
    expect(agreed).toEqual([true, true, true, true, true, true, false])
  })

  it('does not change when the provider gives no answer, whose words are shown', () => {
    const before = { agrees: true, misses: { count: 2, since: now.toISOString() } }
    const unclear = { agrees: undefined, detail: 'later' }
    for (const isGraced of [true, false])
      expect(decideProvider(before, unclear, { now, isGraced })).toEqual({
        ...before,
        detail: 'later',
      })
  })
})
