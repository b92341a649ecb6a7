import { describe, expect, it } from 'vitest'
import { chooseBatch, decideTake, type StreamState, type TakeFacts } from './decide-take.ts'

const DAY_MS = 86_400_000
const MINUTE_MS = 60_000
const limits = {
  batchEventsMax: 500,
  batchBytesMax: 1_000_000,
  policy: { retryForMs: 3 * DAY_MS },
}
const stream: StreamState = {
  isPaused: false,
  waitMs: 0,
  failingMs: 0,
  mode: 'array',
  deliveryId: null,
  isProbing: false,
  parkedInRow: 0,
  batchBytesMax: null,
  shrunkMs: null,
}
const facts: TakeFacts = {
  isActive: true,
  dueId: null,
  isDueParked: false,
  hasOverdue: false,
  hasPending: false,
  random: 0,
}
const decide = (change: Partial<StreamState> = {}, seen: Partial<TakeFacts> = {}) =>
  decideTake({ ...stream, ...change }, { ...facts, ...seen }, limits)

describe('the next step of a stream', () => {
  it('is a new batch when nothing else is to be done', () => {
    expect(decide()).toEqual({ kind: 'batch', eventsMax: 500, bytesMax: 1_000_000 })
  })

  it('follows this order: pause, discard, wait, exhaust, open delivery, due parked event', () => {
    const state = {
      isPaused: true,
      waitMs: 5,
      failingMs: 4 * DAY_MS,
      deliveryId: 'dlv_1',
    }
    const seen = { isActive: false, dueId: 'dlv_2', hasOverdue: true }
    expect(decide(state, seen)).toEqual({ kind: 'paused' })
    expect(decide({ ...state, isPaused: false }, seen)).toEqual({ kind: 'discard' })
    const going = { ...state, isPaused: false }
    expect(decide(going, { ...seen, isActive: true })).toEqual({ kind: 'wait', waitMs: 5 })
    const ready = { ...going, waitMs: 0 }
    expect(decide(ready, { ...seen, isActive: true })).toEqual({ kind: 'exhaust' })
    expect(decide(ready, { isActive: true, dueId: 'dlv_2' })).toEqual({
      kind: 'open',
      deliveryId: 'dlv_1',
      isDue: false,
    })
    expect(decide({ ...ready, deliveryId: null }, { dueId: 'dlv_2' })).toEqual({
      kind: 'open',
      deliveryId: 'dlv_2',
      isDue: true,
    })
  })

  it('is a due parked event or a new batch, by chance; a half goes first', () => {
    const due = { kind: 'open', deliveryId: 'dlv_2', isDue: true }
    const parked = { dueId: 'dlv_2', isDueParked: true }
    for (const random of [0, 0.49]) {
      expect(decide({}, { ...parked, hasPending: true, random })).toEqual(due)
      expect(decide({}, { ...parked, random })).toEqual(due)
    }
    for (const random of [0.5, 0.99]) {
      expect(decide({}, { ...parked, hasPending: true, random }).kind).toBe('batch')
      expect(decide({}, { ...parked, random })).toEqual(due)
      expect(decide({}, { dueId: 'dlv_2', hasPending: true, random })).toEqual(due)
    }
  })

  it('is one new event where everything is refused', () => {
    const refusing = { parkedInRow: 10 }
    const one = { kind: 'batch', eventsMax: 1, bytesMax: 1_000_000 }
    expect(decide(refusing, { dueId: 'dlv_2', hasPending: true })).toEqual(one)
    expect(decide(refusing)).toEqual(one)
    const due = { kind: 'open', deliveryId: 'dlv_2', isDue: true }
    expect(decide(refusing, { dueId: 'dlv_2' })).toEqual(due)
    expect(decide({ parkedInRow: 9 }, { dueId: 'dlv_2', hasPending: true })).toEqual(due)
    expect(decide({ ...refusing, deliveryId: 'dlv_1' }, { hasPending: true })).toMatchObject({
      deliveryId: 'dlv_1',
    })
  })

  it('is a discard when the webhook is gone, also without an open delivery', () => {
    expect(decide({}, { isActive: undefined })).toEqual({ kind: 'discard' })
    expect(decide({ waitMs: 5 }, { isActive: undefined })).toEqual({ kind: 'discard' })
    expect(decide({ isPaused: true }, { isActive: undefined })).toEqual({ kind: 'discard' })
  })
})

describe('a new batch', () => {
  const eventsMax = (change: Partial<StreamState>, max = 500) => {
    const step = decideTake({ ...stream, ...change }, facts, { ...limits, batchEventsMax: max })
    return step.kind === 'batch' ? step.eventsMax : undefined
  }
  const bytesMax = (batchBytesMax: number, shrunkMs: number) => {
    const step = decide({ batchBytesMax, shrunkMs })
    return step.kind === 'batch' ? step.bytesMax : undefined
  }

  it('is one event in single mode, and small after a back-off', () => {
    expect(eventsMax({ mode: 'single' })).toBe(1)
    expect(eventsMax({ mode: 'single', isProbing: true })).toBe(1)
    expect(eventsMax({ isProbing: true })).toBe(50)
    expect(eventsMax({ isProbing: true }, 20)).toBe(20)
  })

  it('stays below a refused size, which doubles every 10 minutes', () => {
    expect(bytesMax(1_000, 0)).toBe(1_000)
    expect(bytesMax(1_000, 10 * MINUTE_MS - 1)).toBe(1_000)
    expect(bytesMax(1_000, 10 * MINUTE_MS)).toBe(2_000)
    expect(bytesMax(1_000, 35 * MINUTE_MS)).toBe(8_000)
    expect(bytesMax(1_000, 100 * MINUTE_MS)).toBe(1_000_000)
    expect(bytesMax(1_000, 5_000 * DAY_MS)).toBe(1_000_000)
    // A clock that was set back.
    expect(bytesMax(1_000, -DAY_MS)).toBe(1_000)
    expect(bytesMax(2_000_000, 0)).toBe(1_000_000)
  })
})

describe('the members of a batch', () => {
  const pointer = (generation: number, solo = false, bytes = 100) => ({ bytes, generation, solo })
  const choose = (pointers: ReturnType<typeof pointer>[], bytesMax = 1_000) =>
    chooseBatch(pointers, 2, bytesMax)

  it('are all events that were found', () => {
    expect(choose([pointer(2), pointer(2), pointer(2)])).toEqual({
      kind: 'members',
      count: 3,
    })
    expect(choose([])).toEqual({ kind: 'empty' })
  })

  it('are of one generation', () => {
    expect(choose([pointer(2), pointer(2), pointer(3)])).toMatchObject({ count: 2 })
    expect(choose([pointer(3), pointer(2)])).toMatchObject({ count: 1 })
  })

  it('are none when the first event was queued before the webhook was switched off', () => {
    expect(choose([pointer(1), pointer(2)])).toEqual({ kind: 'stale' })
  })

  it('are one event when it travels alone, and end before such an event', () => {
    expect(choose([pointer(2, true), pointer(2)])).toMatchObject({ count: 1 })
    expect(choose([pointer(2), pointer(2), pointer(2, true)])).toMatchObject({ count: 2 })
  })

  it('fill the body with brackets and commas, and are at least one', () => {
    const three = [pointer(2), pointer(2), pointer(2)]
    const count = (bytesMax: number) => choose(three, bytesMax)
    expect([304, 303, 203, 202, 1].map(count)).toEqual(
      [3, 2, 2, 1, 1].map((n) => ({ kind: 'members', count: n })),
    )
  })
})
