import { describe, expect, it } from 'vitest'
import { createIdSource } from '../../../platform/ids.ts'
import { createQueueCursor } from './queue-cursor.ts'

const MINUTE_MS = 60_000
let nowMs = Date.parse('2026-01-02T12:00:00Z')
const eventIdAt = (ms: number) => createIdSource(() => ms).id('evt')
const start = () => createQueueCursor(() => nowMs)

describe('the low-water ids of a stream', () => {
  it('are those of the first look until something was taken', () => {
    expect(start().of('wh_1')).toEqual(['', ''])
  })

  it('are the last taken, by lane, as long as that is older than a minute', () => {
    const queueCursor = start()
    const [live, replayed] = [eventIdAt(nowMs - 2 * MINUTE_MS), eventIdAt(nowMs - 90 * MINUTE_MS)]
    queueCursor.taken('wh_1', [{ lane: 0, event_id: eventIdAt(nowMs - 3 * MINUTE_MS) }])
    queueCursor.taken('wh_1', [{ lane: 0, event_id: live }])
    expect(queueCursor.of('wh_1')).toEqual([live, ''])
    queueCursor.taken('wh_1', [{ lane: 1, event_id: replayed }])
    expect(queueCursor.of('wh_1')).toEqual([live, replayed])
    expect(queueCursor.of('wh_2')).toEqual(['', ''])
  })

  it('of replayed events are left when a look finds none of them, or nothing at all', () => {
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

  it('leave a minute for writers that commit late', () => {
    const queueCursor = start()
    queueCursor.taken('wh_1', [{ lane: 0, event_id: eventIdAt(nowMs) }])
    const [live] = queueCursor.of('wh_1')
    expect(live > eventIdAt(nowMs - MINUTE_MS - 1)).toBe(true)
    expect(live <= eventIdAt(nowMs - MINUTE_MS)).toBe(true)
  })

  it('begin anew after a minute, though something is taken all the time, and when told', () => {
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

  it('begin anew when the clock was set back', () => {
    const queueCursor = start()
    queueCursor.taken('wh_1', [{ lane: 0, event_id: eventIdAt(nowMs - 2 * MINUTE_MS) }])
    nowMs -= 1
    expect(queueCursor.of('wh_1')).toEqual(['', ''])
  })

  it('are kept of so many streams and no more', () => {
    const queueCursor = start()
    const id = eventIdAt(nowMs - 2 * MINUTE_MS)
    for (let i = 0; i <= 20_000; i += 1) queueCursor.taken(`wh_${i}`, [{ lane: 0, event_id: id }])
    expect(queueCursor.of('wh_0')).toEqual(['', ''])
    expect(queueCursor.of('wh_20000')).toEqual([id, ''])
  })
})
