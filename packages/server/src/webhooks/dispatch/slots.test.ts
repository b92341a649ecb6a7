import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createSlots, type Pace, type SlotLimits, type Slots, slotLimits } from './slots.ts'

interface Step {
  readonly tenantId: string
  readonly pace: Pace
  readonly name: string
}

/** Places with a clock that stands until it is moved, and a record of who was started. */
function world(limits: SlotLimits = slotLimits(512)) {
  let nowMs = 0
  const slots: Slots<Step> = createSlots({ limits, monotonicMs: () => nowMs })
  const started: Step[] = []
  return {
    slots,
    started,
    names: () => started.map((step) => step.name),
    join(tenantId: string, pace: Pace = 'quick', name = tenantId): Step {
      const step = { tenantId, pace, name }
      slots.join(step)
      return step
    },
    joinMany(count: number, tenantOf: (i: number) => string, pace: Pace = 'quick'): Step[] {
      return Array.from({ length: count }, (_, i) => this.join(tenantOf(i), pace))
    },
    /** How many started. */
    fill(): number {
      const before = started.length
      for (let step = slots.next(); step !== undefined; step = slots.next()) started.push(step)
      return started.length - before
    },
    /** Lets a time pass, and every hand-over within it happen at its moment. */
    pass(ms: number): void {
      const untilMs = nowMs + ms
      for (;;) {
        const inMs = slots.handOverInMs()
        if (inMs === undefined || nowMs + inMs > untilMs) break
        nowMs += inMs
        this.fill()
      }
      nowMs = untilMs
    },
  }
}

const manyTenants = (i: number) => `tn_${i}`
const QUICK = slotLimits(512).quick

describe('quick streams', () => {
  it('start in the order in which they came, as many as there are quick places', () => {
    const w = world()
    for (let i = 0; i < QUICK + 8; i += 1) w.join('a', 'quick', `${i}`)
    w.fill()
    expect(w.names()).toEqual(Array.from({ length: QUICK }, (_, i) => `${i}`))
    expect(w.slots.counts()).toEqual({ quick: QUICK, slow: 0, waiting: 8 })
    for (const step of w.started.slice(0, 3)) w.slots.leave(step)
    w.fill()
    expect(w.names().slice(QUICK)).toEqual([0, 1, 2].map((i) => `${QUICK + i}`))
  })

  it('hand their place over after 50 ms while others wait, and not before', () => {
    const w = world()
    w.joinMany(QUICK + 1, manyTenants)
    expect(w.fill()).toBe(QUICK)
    expect(w.slots.handOverInMs()).toBe(50)
    w.pass(49)
    expect(w.fill()).toBe(0)
    w.pass(1)
    expect(w.started).toHaveLength(QUICK + 1)
    expect(w.slots.handOverInMs()).toBeUndefined()
    expect(w.slots.counts()).toEqual({ quick: 1, slow: QUICK, waiting: 0 })
  })

  it('count as slow after 300 ms, also when nobody waits', () => {
    const w = world()
    const step = w.join('a')
    w.fill()
    w.pass(299)
    expect(w.slots.counts()).toEqual({ quick: 1, slow: 0, waiting: 0 })
    w.pass(1)
    expect(w.slots.counts()).toEqual({ quick: 0, slow: 1, waiting: 0 })
    w.slots.leave(step)
    expect(w.slots.counts()).toEqual({ quick: 0, slow: 0, waiting: 0 })
  })

  it('[invariant 8] of 200 that hang, at their first request: one tenant delays no other', () => {
    const w = world()
    w.joinMany(200, () => 'dead')
    w.fill()
    // Without any time having passed.
    for (let i = 0; i < 16; i += 1) {
      w.join(`healthy_${i}`)
      expect(w.fill()).toBe(1)
      expect(w.names().at(-1)).toBe(`healthy_${i}`)
    }
    expect(w.started).toHaveLength(QUICK + 16)
    expect(w.slots.counts()).toEqual({ quick: QUICK, slow: 16, waiting: 200 - QUICK })
  })

  it('[invariant 8] of 200 tenants that hang, at their first request: all have started soon', () => {
    const w = world()
    w.joinMany(200, manyTenants)
    w.join('healthy')
    w.fill()
    // As many as there are quick places hand theirs over each time.
    w.pass(Math.floor(200 / QUICK) * 50)
    expect(w.names()).toContain('healthy')
    w.join('late')
    expect(w.fill()).toBe(1)
  })

  it('of a tenant with many take turns with those of others', () => {
    const w = world({ ...slotLimits(512), quick: 1 })
    w.joinMany(10, () => 'a')
    w.fill()
    for (const tenantId of ['b', 'c', 'b']) w.join(tenantId)
    for (let i = 0; i < 5; i += 1) {
      const step = w.started.at(-1)
      if (step !== undefined) w.slots.leave(step)
      w.fill()
    }
    expect(w.names()).toEqual(['a', 'a', 'b', 'c', 'a', 'b'])
  })

  it('are bounded by all places, of which one tenant has half', () => {
    const w = world(slotLimits(100))
    w.joinMany(200, () => 'a')
    w.fill()
    w.pass(1_000)
    expect(w.started).toHaveLength(50)
    w.joinMany(60, manyTenants)
    w.fill()
    w.pass(1_000)
    expect(w.started).toHaveLength(100)
    expect(w.slots.handOverInMs()).toBeUndefined()
    const [first] = w.started
    if (first !== undefined) w.slots.leave(first)
    expect(w.fill()).toBe(1)
  })
})

describe('slow and failing streams', () => {
  it('hold no quick place', () => {
    const w = world()
    w.joinMany(100, manyTenants, 'failing')
    w.joinMany(100, manyTenants, 'slow')
    w.fill()
    expect(w.slots.counts()).toEqual({ quick: 0, slow: 128, waiting: 72 })
    w.join('healthy')
    expect(w.fill()).toBe(1)
    expect(w.slots.counts()).toEqual({ quick: 1, slow: 128, waiting: 72 })
  })

  it('one tenant has half of their places at most; the next is not kept waiting behind it', () => {
    const w = world()
    w.joinMany(200, () => 'dead', 'failing')
    w.fill()
    expect(w.started).toHaveLength(64)
    w.join('b', 'failing')
    w.join('c', 'slow')
    expect(w.fill()).toBe(2)
    for (const step of w.started.slice(0, 5)) w.slots.leave(step)
    expect(w.fill()).toBe(5)
  })

  it('those that fail leave a quarter of the places to those that are only slow', () => {
    const w = world()
    w.joinMany(150, manyTenants, 'failing')
    w.fill()
    expect(w.started).toHaveLength(96)
    w.joinMany(40, manyTenants, 'slow')
    expect(w.fill()).toBe(32)
  })

  it('take turns with the quick ones when every place is taken', () => {
    const w = world({ total: 4, quick: 4, slow: 4, failing: 4 })
    w.joinMany(4, manyTenants)
    w.fill()
    w.joinMany(4, manyTenants, 'quick')
    w.joinMany(4, manyTenants, 'slow')
    for (const step of w.started.slice(0, 4)) {
      w.slots.leave(step)
      w.fill()
    }
    expect(w.started.slice(4).map((step) => step.pace)).toEqual(['slow', 'quick', 'slow', 'quick'])
  })
})

it('a single place serves everything in turn', () => {
  const w = world(slotLimits(1))
  w.join('a')
  w.join('b', 'failing')
  w.join('c', 'slow')
  for (let i = 1; i <= 3; i += 1) {
    expect(w.fill()).toBe(1)
    const step = w.started.at(-1)
    if (step !== undefined) w.slots.leave(step)
  }
  expect(new Set(w.names())).toEqual(new Set(['a', 'b', 'c']))
})

it('leaving twice, or without having started, changes nothing', () => {
  const w = world()
  const [one] = w.joinMany(2, manyTenants)
  w.fill()
  const never = { tenantId: 'x', pace: 'slow', name: 'x' } as const
  for (const step of [one, one, never]) if (step !== undefined) w.slots.leave(step)
  expect(w.slots.counts()).toEqual({ quick: 1, slow: 0, waiting: 0 })
})

it('nobody waits once the lines are cleared', () => {
  const w = world()
  for (const pace of ['quick', 'slow', 'failing'] as const) w.join('a', pace)
  w.slots.clear()
  expect(w.fill()).toBe(0)
  expect(w.slots.counts()).toEqual({ quick: 0, slow: 0, waiting: 0 })
})

it('keeps every limit at every moment, and starts each once in the end', () => {
  const command = fc.oneof(
    fc.record({
      kind: fc.constant('join' as const),
      tenant: fc.integer({ min: 0, max: 3 }),
      pace: fc.constantFrom<Pace>('quick', 'slow', 'failing'),
    }),
    fc.record({ kind: fc.constant('leave' as const), index: fc.nat() }),
    fc.record({ kind: fc.constant('pass' as const), ms: fc.integer({ min: 0, max: 400 }) }),
  )
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 60 }),
      fc.array(command, { maxLength: 200 }),
      (total, commands) => {
        const limits = { ...slotLimits(total), quick: Math.ceil(total / 2) }
        const w = world(limits)
        const running = new Set<Step>()
        let joined = 0
        let seen = 0
        const check = () => {
          w.fill()
          for (const step of w.started.slice(seen)) running.add(step)
          seen = w.started.length
          const of = (fits: (step: Step) => boolean) => [...running].filter(fits).length
          expect(running.size).toBeLessThanOrEqual(limits.total)
          expect(of((s) => s.pace !== 'quick')).toBeLessThanOrEqual(limits.slow)
          expect(of((s) => s.pace === 'failing')).toBeLessThanOrEqual(limits.failing)
          for (const tenantId of ['t0', 't1', 't2', 't3']) {
            const isOfTenant = (s: Step) => s.tenantId === tenantId
            expect(of(isOfTenant)).toBeLessThanOrEqual(Math.ceil(limits.total / 2))
            expect(of((s) => isOfTenant(s) && s.pace !== 'quick')).toBeLessThanOrEqual(
              Math.ceil(limits.slow / 2),
            )
          }
          const counts = w.slots.counts()
          expect(counts.quick).toBeLessThanOrEqual(limits.quick)
          expect(counts.quick + counts.slow).toBe(running.size)
          expect(counts.waiting).toBe(joined - w.started.length)
          if (running.size === 0) expect(counts.waiting).toBe(0)
        }
        for (const one of commands) {
          if (one.kind === 'join') {
            w.join(`t${one.tenant}`, one.pace, `${joined}`)
            joined += 1
          } else if (one.kind === 'pass') {
            w.pass(one.ms)
          } else {
            const step = [...running][one.index % Math.max(1, running.size)]
            if (step !== undefined) w.slots.leave(step)
            if (step !== undefined) running.delete(step)
          }
          check()
        }
        // Whoever waits starts in the end.
        while (running.size > 0) {
          const [step] = running
          if (step === undefined) break
          w.slots.leave(step)
          running.delete(step)
          check()
        }
        expect(w.started).toHaveLength(joined)
        expect(new Set(w.names()).size).toBe(joined)
      },
    ),
    { numRuns: 200 },
  )
})
