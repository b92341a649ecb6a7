import { describe, expect, it } from 'vitest'
import { createIdSource } from '../../../platform/ids.ts'
import { createQueueCursor } from './queue-cursor.ts'

const MINUTE_MS = 60_000
let nowMs = Date.parse('2026-01-02T12:00:00Z')
const eventIdAt = (ms: number) => createIdSource(() => ms).id('evt')
const start = () => createQueueCursor(() => nowMs)

describe('the cursor of a stream', () => {
  it('is at the beginning until an event was taken', () => {
    expect(start().of('wh_1')).toEqual(['', ''])
  })

  it('is at the last event taken in each queue when that is older than a minute', () => {
    const queueCursor = start()
    const [live, replayed] = [eventIdAt(nowMs - 2 * MINUTE_MS), eventIdAt(nowMs - 90 * MINUTE_MS)]
    queueCursor.taken('wh_1', [{ lane: 0, event_id: eventIdAt(nowMs - 3 * MINUTE_MS) }])
    queueCursor.taken('wh_1', [{ lane: 0, event_id: live }])
    expect(queueCursor.of('wh_1')).toEqual([live, ''])
    queueCursor.taken('wh_1', [{ lane: 1, event_id: replayed }])
    expect(queueCursor.of('wh_1')).toEqual([live, replayed])
    expect(queueCursor.of('wh_2')).toEqual(['', ''])
  })

  it('leaves the queue of replayed events when a read finds none of them', () => {
    const queueCursor = start()
    const id = eventIdAt(nowMs - 90 * MINUTE_MS)
    queueCursor.taken('wh_1', [{ lane: 1, event_id: id }])
    expect(queueCursor.foundNothing('wh_1')).toBe(true)
    expect(queueCursor.of('wh_1')).toEqual(['', ''])
    expect(queueCursor.foundNothing('wh_1')).toBe(false)
    queueCursor.taken('wh_1', [{ lane: 1, event_id: id }])
    queueCursor.taken('wh_1', [{ lane: 0, event_id: id }])
    expect(queueCursor.of('wh_1')).toEqual([id, ''])
    expect(queueCursor.foundNothing('wh_2')).toBe(false)
  })

  it('stays a minute behind for writers that commit late', () => {
    const queueCursor = start()
    queueCursor.taken('wh_1', [{ lane: 0, event_id: eventIdAt(nowMs) }])
    const [live] = queueCursor.of('wh_1')
    expect(live > eventIdAt(nowMs - MINUTE_MS - 1)).toBe(true)
    expect(live <= eventIdAt(nowMs - MINUTE_MS)).toBe(true)
  })

  it('starts over after a minute, and when told to', () => {
    const queueCursor = start()
    const take = () =>
      queueCursor.taken('wh_1', [{ lane: 0, event_id: eventIdAt(nowMs - 2 * MINUTE_MS) }])
    take()
    nowMs += MINUTE_MS - 1
    take()
    expect(queueCursor.of('wh_1')).not.toEqual(['', ''])
    nowMs += 1
    expect(queueCursor.of('wh_1')).toEqual(['', ''])
    take()
    expect(queueCursor.of('wh_1')).not.toEqual(['', ''])
    queueCursor.reset('wh_1')
    expect(queueCursor.of('wh_1')).toEqual(['', ''])
  })

  it('starts over when the clock was set back', () => {
    const queueCursor = start()
    queueCursor.taken('wh_1', [{ lane: 0, event_id: eventIdAt(nowMs - 2 * MINUTE_MS) }])
    nowMs -= 1
    expect(queueCursor.of('wh_1')).toEqual(['', ''])
  })

  it('is kept for a bounded number of streams', () => {
    const queueCursor = start()
    const id = eventIdAt(nowMs - 2 * MINUTE_MS)
    for (let i = 0; i <= 20_000; i += 1) queueCursor.taken(`wh_${i}`, [{ lane: 0, event_id: id }])
    expect(queueCursor.of('wh_0')).toEqual(['', ''])
    expect(queueCursor.of('wh_20000')).toEqual([id, ''])
  })
})
