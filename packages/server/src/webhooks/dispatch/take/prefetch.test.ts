import { describe, expect, it } from 'vitest'
import { createPrefetch, type QueuedEvent } from './prefetch.ts'

const queued = (n: number, bytes = 100): QueuedEvent => ({
  pointer: {
    n: 1,
    place: `(0,${n})`,
    lane: 0,
    event_id: `evt_${n}`,
    day: '2026-01-02',
    bytes,
    generation: 0,
    solo: false,
  },
  event: { eventId: `evt_${n}`, day: '2026-01-02', body: '{}', traceparent: 't' },
})

describe('prefetched events', () => {
  it('are returned once, in order, for their own stream', () => {
    const ahead = createPrefetch()
    ahead.set('wh_a', [queued(1), queued(2)])
    ahead.set('wh_b', [queued(3)])
    expect(ahead.next('wh_a')).toEqual(queued(1))
    expect(ahead.next('wh_b')).toEqual(queued(3))
    expect(ahead.next('wh_a')).toEqual(queued(2))
    expect(ahead.next('wh_a')).toBeUndefined()
    expect(ahead.next('wh_b')).toBeUndefined()
  })

  it('are replaced by a later read', () => {
    const ahead = createPrefetch()
    ahead.set('wh_a', [queued(1), queued(2)])
    ahead.set('wh_a', [queued(5)])
    expect(ahead.next('wh_a')).toEqual(queued(5))
    expect(ahead.next('wh_a')).toBeUndefined()
  })

  it('are not returned after a moment, or once they are forgotten', () => {
    let nowMs = 0
    const ahead = createPrefetch(() => nowMs)
    ahead.set('wh_a', [queued(1), queued(2)])
    ahead.set('wh_b', [queued(3)])
    ahead.forget('wh_b')
    expect(ahead.next('wh_b')).toBeUndefined()
    nowMs = 4_999
    expect(ahead.next('wh_a')).toEqual(queued(1))
    nowMs = 5_000
    expect(ahead.next('wh_a')).toBeUndefined()
    nowMs = 0
    expect(ahead.next('wh_a')).toBeUndefined()
  })

  it('are bounded in total size; the ones that nobody asked for are evicted', () => {
    let nowMs = 0
    const ahead = createPrefetch(() => nowMs)
    const half = 16_777_216
    ahead.set('wh_a', [queued(1, half)])
    expect(ahead.isFull).toBe(false)
    ahead.set('wh_b', [queued(2, half)])
    expect(ahead.isFull).toBe(true)
    // Handed out, it counts no longer.
    expect(ahead.next('wh_a')).toBeDefined()
    expect(ahead.isFull).toBe(false)
    ahead.set('wh_b', [queued(3, half)])
    expect(ahead.isFull).toBe(false)
    ahead.set('wh_c', [queued(4, half)])
    expect(ahead.isFull).toBe(true)
    nowMs = 5_000
    expect(ahead.isFull).toBe(false)
    ahead.set('wh_d', [queued(5, 1)])
    expect(ahead.next('wh_c')).toBeUndefined()
    expect(ahead.next('wh_d')).toBeDefined()
  })
})
