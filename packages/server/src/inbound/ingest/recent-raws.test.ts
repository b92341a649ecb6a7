import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createRecentRaws } from './ingest.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const MIB = 1024 * 1024
const large = Buffer.alloc(30 * MIB)

describe('large messages that were just stored', () => {
  it('are returned once for each of their routes', () => {
    const recent = createRecentRaws()
    recent.keep(['in_1', 'in_2'], large)
    expect(recent.take('in_1')).toBe(large)
    expect(recent.take('in_1')).toBeUndefined()
    expect(recent.take('in_2')).toBe(large)
    expect(vi.getTimerCount()).toBe(0)
  })

  it('are kept within a bound of bytes, and for a bounded time', () => {
    const recent = createRecentRaws()
    recent.keep(['in_1', 'in_2', 'in_3'], large)
    expect(recent.take('in_3')).toBeUndefined()
    expect(recent.take('in_1')).toBe(large)
    recent.keep(['in_4'], large)
    vi.advanceTimersByTime(10_000)
    expect(recent.take('in_2')).toBeUndefined()
    expect(recent.take('in_4')).toBeUndefined()
    recent.keep(['in_5', 'in_6'], large)
    expect(recent.take('in_6')).toBe(large)
  })

  it('do not include small messages', () => {
    const recent = createRecentRaws()
    recent.keep(['in_1'], Buffer.alloc(1_000))
    expect(recent.take('in_1')).toBeUndefined()
  })
})
