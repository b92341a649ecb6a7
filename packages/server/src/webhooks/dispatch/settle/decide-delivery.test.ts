import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  type DeliveryFacts,
  type DeliveryOutcome,
  decideDelivery,
  parseRetryAfter,
} from './decide-delivery.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
const policy = { retryScheduleMs: [5_000, 30_000, 120_000], retryForMs: HOUR_MS }
const fresh: DeliveryFacts = {
  attempts: 0,
  ageMs: 10,
  events: 8,
  bytes: 200_001,
  isNewBatch: true,
  isParked: false,
  failCount: 0,
  failingMs: 0,
  parkedInRow: 0,
}
const decide = (outcome: DeliveryOutcome, change: Partial<DeliveryFacts> = {}, random = 0.5) =>
  decideDelivery(outcome, { ...fresh, ...change }, policy, random)
const answered = (status: number, change: Partial<DeliveryFacts> = {}) =>
  decide({ kind: 'answered', status }, change)
const failed: DeliveryOutcome = { kind: 'failed' }

const REFUSALS = [400, 413, 415, 422]
const FAILURES = [
  100, 101, 199, 300, 301, 302, 303, 304, 307, 308, 401, 402, 403, 404, 405, 406, 407, 408, 409,
  410, 411, 412, 414, 416, 418, 421, 423, 425, 426, 428, 429, 431, 451, 499, 500, 501, 502, 503,
  504, 507, 599, 999,
]

describe('the step after a webhook request', () => {
  it('[6.2.6] is delivered after any 2xx, however late', () => {
    for (const status of [200, 201, 202, 204, 226, 299])
      for (const change of [{}, { ageMs: DAY_MS, parkedInRow: 50, failCount: 7 }])
        expect(answered(status, change)).toEqual({ kind: 'delivered', endsProbe: true })
  })

  it('ends the probe only when a new batch is accepted', () => {
    expect(answered(200, { isNewBatch: false })).toEqual({ kind: 'delivered', endsProbe: false })
  })

  it.each(FAILURES)('[6.2.6] repeats the request after %i, as the receiver failed', (status) => {
    for (const events of [1, 8]) expect(answered(status, { events }).kind).toBe('retry')
  })

  it('[6.2.6] repeats the request after no answer', () => {
    expect(decide(failed).kind).toBe('retry')
  })

  it('treats every status as accepted, a refusal of the content, or a failure', () => {
    for (let status = 100; status < 1000; status += 1) {
      const isAccepted = status >= 200 && status < 300
      const expected = isAccepted ? 'delivered' : REFUSALS.includes(status) ? 'divided' : 'retry'
      expect({ status, kind: answered(status).kind }).toEqual({ status, kind: expected })
    }
  })
})

describe('a request that met a closed connection', () => {
  const closed: DeliveryOutcome = { kind: 'failed', wasKept: true }

  it('is a failed attempt that is repeated at once; a second one in a row waits', () => {
    expect(decide(closed)).toEqual({ kind: 'retry', waitMs: 0 })
    const second = decide(closed, { failCount: 1 })
    expect(second.kind === 'retry' && second.waitMs > 0).toBe(true)
  })

  it('is given up when its time is over', () => {
    expect(decide(closed, { ageMs: policy.retryForMs }).kind).toBe('exhausted')
  })
})

describe('a failing receiver', () => {
  it('is asked by the schedule of the stream, whose last entry repeats, with 20 % jitter', () => {
    fc.assert(
      fc.property(
        fc.nat(20),
        fc.nat(20),
        fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
        (failCount, attempts, random) => {
          const step = decide(failed, { failCount, attempts, ageMs: 0 }, random)
          const base = policy.retryScheduleMs[failCount] ?? 120_000
          if (step.kind !== 'retry') throw new Error(step.kind)
          expect(step.waitMs).toBeGreaterThanOrEqual(base * 0.8 - 1)
          expect(step.waitMs).toBeLessThanOrEqual(base * 1.2 + 1)
        },
      ),
    )
  })

  it('may set its Retry-After between the current wait and the longest', () => {
    for (const status of [429, 503, 301]) {
      const wait = (retryAfterMs: number) => decide({ kind: 'answered', status, retryAfterMs })
      expect(wait(1)).toEqual({ kind: 'retry', waitMs: 5_000 })
      expect(wait(60_000)).toEqual({ kind: 'retry', waitMs: 60_000 })
      expect(wait(86_400_000)).toEqual({ kind: 'retry', waitMs: 120_000 })
    }
  })

  it('exhausts a delivery whose time is over, with the last attempt at its end', () => {
    const late = { failCount: 2, ageMs: HOUR_MS - 10_000 }
    expect(decide(failed, late)).toEqual({ kind: 'retry', waitMs: 10_000 })
    const over = { failCount: 2, ageMs: HOUR_MS }
    // Its stream still waits: the receiver is as dead as before.
    const exhausted = { kind: 'exhausted', isReceiverUp: false, waitMs: 120_000 }
    expect(decide(failed, over)).toEqual(exhausted)
    expect(answered(500, over)).toEqual(exhausted)
  })

  it('is asked every six hours at most after five days without a success', () => {
    const waits = (failingMs: number) => {
      const step = decide(failed, { failingMs, ageMs: HOUR_MS })
      return 'waitMs' in step ? step.waitMs : undefined
    }
    expect(waits(5 * DAY_MS - 1)).toBe(5_000)
    expect(waits(5 * DAY_MS)).toBe(6 * HOUR_MS)
    expect(decide(failed, { failingMs: 9 * DAY_MS })).toEqual({
      kind: 'retry',
      waitMs: 6 * HOUR_MS,
    })
    const asked = { kind: 'answered', status: 503, retryAfterMs: 1 } as const
    expect(decide(asked, { failingMs: 9 * DAY_MS })).toMatchObject({ waitMs: 6 * HOUR_MS })
  })
})

describe('a refusal of the content', () => {
  it.each(REFUSALS)('(%i) divides several events', (status) => {
    expect(answered(status, { events: 2 }).kind).toBe('divided')
    expect(answered(status, { events: 500 }).kind).toBe('divided')
  })

  it('a refusal of the content by its size makes the next batches half of the refused size', () => {
    expect(answered(413)).toEqual({ kind: 'divided', batchBytesMax: 100_000 })
    // A receiver that answers 413 for a moment, whatever the size, is not throttled for long.
    for (const bytes of [131_073, 131_072, 100_000, 2])
      expect(answered(413, { bytes })).toEqual({ kind: 'divided', batchBytesMax: 65_536 })
    for (const status of [400, 415, 422]) expect(answered(status)).toEqual({ kind: 'divided' })
  })

  it.each(REFUSALS)('(%i) parks a single event', (status) => {
    expect(answered(status, { events: 1 })).toEqual({ kind: 'parked', waitMs: 5_000 })
  })

  it('parks an event by the number of its own attempts, not by failures of its stream', () => {
    const waits = [0, 1, 2, 3, 9].map((attempts) =>
      answered(400, { events: 1, attempts, failCount: 2 }),
    )
    expect(waits.map((step) => 'waitMs' in step && step.waitMs)).toEqual([
      5_000, 30_000, 120_000, 120_000, 120_000,
    ])
    const asked = { kind: 'answered', status: 422, retryAfterMs: 20_000 } as const
    expect(decide(asked, { events: 1 })).toEqual({ kind: 'parked', waitMs: 20_000 })
  })

  it('exhausts an event whose time is over, and its stream does not wait', () => {
    const exhausted = { kind: 'exhausted', isReceiverUp: true, waitMs: 0 }
    for (const events of [1, 8])
      for (const status of REFUSALS)
        expect(answered(status, { events, ageMs: HOUR_MS })).toEqual(exhausted)
    const last = answered(400, { events: 1, attempts: 5, ageMs: HOUR_MS - 1_000 })
    expect(last).toEqual({ kind: 'parked', waitMs: 1_000 })
  })

  it('makes the stream wait equally after each of ten refused events in a row', () => {
    const refusing = { events: 1, parkedInRow: 10 }
    for (const status of REFUSALS) {
      const alone = (change: Partial<DeliveryFacts>) =>
        answered(status, { ...refusing, failCount: 7, failingMs: 9 * DAY_MS, ...change })
      expect(alone({ parkedInRow: 9 })).toEqual({ kind: 'parked', waitMs: 5_000 })
      const parked = { kind: 'parked', waitMs: 5_000, backOffMs: 5_000 }
      for (const parkedInRow of [10, 11, 500]) expect(alone({ parkedInRow })).toEqual(parked)
      const exhausted = { kind: 'exhausted', isReceiverUp: true, waitMs: 5_000 }
      expect(alone({ ageMs: HOUR_MS })).toEqual(exhausted)
    }
    const asked = { kind: 'answered', status: 400, retryAfterMs: 60_000 } as const
    expect(decide(asked, refusing)).toMatchObject({ backOffMs: 60_000 })
    expect(decide({ kind: 'answered', status: 400 }, refusing, 0)).toMatchObject({
      backOffMs: 4_000,
    })
  })

  it('divides without a wait, and does not count an event that was parked before', () => {
    for (const status of REFUSALS) {
      expect(answered(status, { parkedInRow: 10 })).toEqual(answered(status))
      const before = { events: 1, attempts: 1, parkedInRow: 10, isParked: true }
      expect(answered(status, before)).toEqual({ kind: 'parked', waitMs: 30_000 })
      expect(answered(status, { ...before, ageMs: HOUR_MS })).toMatchObject({ waitMs: 0 })
    }
  })
})

describe('Retry-After', () => {
  const now = new Date('2026-01-02T03:04:05Z')
  it('is read as seconds or as a date', () => {
    expect(parseRetryAfter('120', now)).toBe(120_000)
    expect(parseRetryAfter('Fri, 02 Jan 2026 03:05:05 GMT', now)).toBe(60_000)
    expect(parseRetryAfter('Fri, 02 Jan 2026 03:00:00 GMT', now)).toBe(0)
  })
  it('is ignored when it is neither', () => {
    for (const header of [undefined, '', '-1', '1.5', 'soon', '99999999999', 'abc, def'])
      expect(parseRetryAfter(header, now)).toBeUndefined()
  })
})
