import { describe, expect, it } from 'vitest'
import { type Answered, createEndpointHealth } from './endpoint-health.ts'

const quick: Answered = { isFailing: false, durationMs: 300 }
const slow: Answered = { isFailing: false, durationMs: 301 }
const hanging: Answered = { isFailing: false, durationMs: 2_001 }
const failing: Answered = { isFailing: true, durationMs: 1 }

function classAfter(...answers: readonly Answered[]) {
  const endpointHealth = createEndpointHealth()
  for (const answered of answers) endpointHealth.note('wh', answered)
  return endpointHealth.of('wh')
}

describe('a stream', () => {
  it('is new until it has answered quickly three times, and then quick', () => {
    expect(classAfter()).toBe('new')
    expect(classAfter(quick, quick)).toBe('new')
    expect(classAfter(quick, quick, quick)).toBe('quick')
    expect(classAfter(...Array(100).fill(quick))).toBe('quick')
  })

  it('is slow while one of its last three answers was slow', () => {
    expect(classAfter(slow)).toBe('slow')
    expect(classAfter(quick, quick, quick, slow, quick, quick)).toBe('slow')
    expect(classAfter(slow, quick, quick, quick)).toBe('quick')
  })

  it('is failing while one of its last three requests failed or nearly timed out', () => {
    for (const bad of [failing, hanging]) {
      expect(classAfter(bad)).toBe('failing')
      expect(classAfter(bad, quick, slow)).toBe('failing')
      expect(classAfter(bad, quick, quick, slow)).toBe('slow')
      expect(classAfter(bad, quick, quick, quick)).toBe('quick')
    }
  })

  it('is failing when the database says so, until three requests succeed', () => {
    const endpointHealth = createEndpointHealth()
    endpointHealth.noteFailing('wh')
    endpointHealth.note('wh', quick)
    endpointHealth.note('wh', quick)
    expect(endpointHealth.of('wh')).toBe('failing')
    endpointHealth.note('wh', quick)
    expect(endpointHealth.of('wh')).toBe('quick')
    // Said again and again, it is one failure.
    for (let i = 0; i < 5; i += 1) endpointHealth.noteFailing('wh')
    for (let i = 0; i < 3; i += 1) endpointHealth.note('wh', quick)
    expect(endpointHealth.of('wh')).toBe('quick')
  })
})

it('remembers a bounded number of streams', () => {
  const endpointHealth = createEndpointHealth(2)
  for (const id of ['a', 'b', 'c']) endpointHealth.note(id, failing)
  expect(['a', 'b', 'c'].map(endpointHealth.of)).toEqual(['new', 'failing', 'failing'])
})
