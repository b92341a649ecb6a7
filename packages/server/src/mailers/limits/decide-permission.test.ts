import fc from 'fast-check'
import { expect, it } from 'vitest'
import {
  decidePermission,
  hasRates,
  type Rates,
  type Used,
  withPermitted,
  withReturned,
} from './decide-permission.ts'

/** Takes what is permitted of `wanted` at `nowMs`. */
function take(rates: Rates, used: Used, wanted: number, nowMs: number) {
  const permission = decidePermission(rates, used, { wanted, nowMs })
  const { count } = permission
  return {
    ...permission,
    used: count === 0 ? used : withPermitted(rates, used, count, nowMs),
  }
}

it('permits up to the limit, then says when to try again', () => {
  const first = take({ per_minute: 3 }, {}, 2, 1_000)
  expect(first).toMatchObject({ count: 2, waitMs: 0 })
  const second = take({ per_minute: 3 }, first.used, 2, 11_000)
  expect(second).toMatchObject({ count: 1, waitMs: 0 })
  const third = take({ per_minute: 3 }, second.used, 1, 31_000)
  expect(third).toMatchObject({ count: 0, waitMs: 30_000 })
  expect(take({ per_minute: 3 }, second.used, 1, 60_999).count).toBe(0)
  expect(take({ per_minute: 3 }, second.used, 9, 61_000).count).toBe(2)
})

it('obeys the narrowest limit and the longest wait', () => {
  const rates = { per_second: 5, per_day: 6 }
  const first = take(rates, {}, 10, 0)
  expect(first.count).toBe(5)
  expect(take(rates, first.used, 1, 1_000)).toMatchObject({ count: 0, waitMs: 50 })
  const second = take(rates, first.used, 10, 2_000)
  expect(second.count).toBe(1)
  expect(take(rates, second.used, 1, 2_001)).toMatchObject({ count: 0, waitMs: 86_399_999 })
})

it('waits after a lowered limit until enough uses have left the window', () => {
  let used: Used = {}
  for (const nowMs of [0, 10_000, 20_000])
    used = withPermitted({ per_minute: 100 }, used, 10, nowMs)
  expect(decidePermission({ per_minute: 15 }, used, { wanted: 1, nowMs: 30_000 })).toEqual({
    count: 0,
    waitMs: 40_000,
  })
})

it('waits after a lowered limit beyond the moment when it is used up exactly', () => {
  let used: Used = {}
  for (const nowMs of [0, 10_000, 20_000])
    used = withPermitted({ per_minute: 100 }, used, 10, nowMs)
  const { waitMs } = decidePermission({ per_minute: 20 }, used, { wanted: 1, nowMs: 30_000 })
  expect(waitMs).toBe(40_000)
})

it('returns the uses of a day one by one, when each is a day old', () => {
  const rates = { per_day: 24 }
  const hour = 3_600_000
  let used: Used = {}
  for (let i = 0; i < 24; i++) used = take(rates, used, 1, i * hour).used
  for (let i = 24; i < 48; i++) {
    const next = take(rates, used, 24, i * hour)
    expect(next.count).toBe(1)
    used = next.used
  }
})

it('permits returned uses again', () => {
  const { used } = take({ per_day: 5 }, {}, 5, 1_000)
  const returned = withReturned(used, 2, 1_000)
  expect(take({ per_day: 5 }, returned, 5, 2_000).count).toBe(2)
  expect(withReturned(used, 5, 1_000)).toEqual({ day: [] })
  expect(withReturned(used, 1, 999_999_999)).toEqual(used)
})

it('waits at most one window after the clock was set back', () => {
  const { used } = take({ per_minute: 1 }, {}, 1, 10_000_000)
  expect(take({ per_minute: 1 }, used, 1, 1_000)).toMatchObject({ count: 0, waitMs: 60_000 })
})

it('has no limit without a rate', () => {
  expect(hasRates({})).toBe(false)
  expect(hasRates({ per_day: 1 })).toBe(true)
  expect(decidePermission({}, {}, { wanted: 7, nowMs: 0 })).toEqual({ count: 7, waitMs: 0 })
})

const LENGTHS = { per_second: 1_000, per_minute: 60_000, per_day: 86_400_000 }

it('never exceeds the limit within a window, and permits something after the wait', () => {
  const rate = fc.option(fc.integer({ min: 1, max: 20 }), { nil: undefined })
  const step = fc.record({
    wanted: fc.integer({ min: 1, max: 30 }),
    afterMs: fc.oneof(fc.nat(200), fc.nat(5_000), fc.nat(100_000), fc.nat(50_000_000)),
    isReturned: fc.boolean(),
  })
  fc.assert(
    fc.property(
      fc.record({ per_second: rate, per_minute: rate, per_day: rate }),
      fc.array(step, { maxLength: 80 }),
      (all, steps) => {
        const rates = Object.fromEntries(
          Object.entries(all).filter(([, limit]) => limit !== undefined),
        )
        const taken: { atMs: number; count: number }[] = []
        let used: Used = {}
        let nowMs = 0
        for (const { wanted, afterMs, isReturned } of steps) {
          nowMs += afterMs
          const permission = take(rates, used, wanted, nowMs)
          const { count, waitMs } = permission
          used = permission.used
          if (isReturned && count > 0) {
            used = withReturned(used, 1, nowMs)
            taken.push({ atMs: nowMs, count: count - 1 })
          } else taken.push({ atMs: nowMs, count })
          if (count > 0) expect(waitMs).toBe(0)
          else {
            expect(waitMs).toBeGreaterThan(0)
            expect(take(rates, used, 1, nowMs + waitMs).count).toBe(1)
          }
          for (const [limit, lengthMs] of Object.entries(LENGTHS)) {
            const most = rates[limit]
            if (most === undefined) continue
            const within = taken.filter(({ atMs }) => atMs > nowMs - lengthMs)
            expect(within.reduce((sum, one) => sum + one.count, 0)).toBeLessThanOrEqual(most)
          }
        }
      },
    ),
  )
})

it('stores a bounded size, however much is permitted', () => {
  const rates = { per_second: 1_000_000, per_minute: 1_000_000, per_day: 1_000_000 }
  let used: Used = {}
  for (let nowMs = 0; nowMs < 90_000_000; nowMs += 997) used = withPermitted(rates, used, 1, nowMs)
  expect(JSON.stringify(used).length).toBeLessThan(5_000)
})
