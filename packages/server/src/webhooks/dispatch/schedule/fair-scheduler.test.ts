import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  createFairScheduler,
  type EndpointClass,
  type FairScheduler,
  schedulerLimits,
} from './fair-scheduler.ts'

interface Step {
  readonly tenantId: string
  readonly endpointClass: EndpointClass
  readonly name: string
}

/** Places, and a record of who was started. */
function world(total = 512) {
  const scheduler: FairScheduler<Step> = createFairScheduler(schedulerLimits(total))
  const started: Step[] = []
  return {
    scheduler,
    started,
    names: () => started.map((step) => step.name),
    join(tenantId: string, endpointClass: EndpointClass = 'quick', name = tenantId): Step {
      const step = { tenantId, endpointClass, name }
      scheduler.join(step)
      return step
    },
    /** How many of them started. */
    start(
      count: number,
      tenantOf: (i: number) => string,
      endpointClass: EndpointClass = 'quick',
    ): number {
      for (let i = 0; i < count; i += 1) this.join(tenantOf(i), endpointClass)
      return this.fill()
    },
    fill(): number {
      const before = started.length
      for (let step = scheduler.next(); step !== undefined; step = scheduler.next())
        started.push(step)
      return started.length - before
    },
    leaveFirst(count: number): void {
      for (const step of started.slice(0, count)) scheduler.leave(step)
    },
  }
}

const manyTenants = (i: number) => `tn_${i}`
const others = (i: number) => `other_${i}`
const one = () => 'a'

describe('the queue of waiting streams', () => {
  it('is served in order of arrival', () => {
    const w = world(2)
    for (let i = 0; i < 4; i += 1) w.join(`${i}`)
    w.fill()
    expect(w.names()).toEqual(['0', '1'])
    expect(w.scheduler.counts()).toMatchObject({ quick: 2, waiting: 2 })
    w.leaveFirst(2)
    w.fill()
    expect(w.names()).toEqual(['0', '1', '2', '3'])
  })

  it('gives tenants turns, however many streams one has', () => {
    const w = world(1)
    for (const tenantId of ['a', 'a', 'a', 'a', 'b', 'c', 'b']) w.join(tenantId)
    for (let i = 0; i < 7; i += 1) {
      w.fill()
      const step = w.started.at(-1)
      if (step !== undefined) w.scheduler.leave(step)
    }
    expect(w.names()).toEqual(['a', 'b', 'c', 'a', 'b', 'a', 'a'])
  })

  it('gives each health class its turn when every place is taken', () => {
    const w = world(8)
    w.start(8, manyTenants)
    for (const endpointClass of ['quick', 'slow', 'new', 'failing'] as const)
      for (let i = 0; i < 8; i += 1) w.join(manyTenants(i), endpointClass)
    for (const step of w.started.slice(0, 8)) {
      w.scheduler.leave(step)
      w.fill()
    }
    const count = (endpointClass: EndpointClass) =>
      w.started.slice(8).filter((step) => step.endpointClass === endpointClass).length
    for (const endpointClass of ['quick', 'slow', 'new', 'failing'] as const)
      expect(count(endpointClass), endpointClass).toBeGreaterThan(0)
  })
})

describe('[invariant 8] one tenant', () => {
  it('gets a part of the places of a health class, and others can still start', () => {
    const part = { quick: 256, slow: 64, new: 96, failing: 48 } as const
    for (const endpointClass of ['quick', 'slow', 'new', 'failing'] as const) {
      const w = world()
      expect(w.start(1_000, one, endpointClass), endpointClass).toBe(part[endpointClass])
      expect(w.start(16, manyTenants, endpointClass), endpointClass).toBe(16)
    }
  })

  it('gets at most half of all places over all health classes', () => {
    const w = world()
    for (const endpointClass of ['failing', 'slow', 'new', 'quick'] as const)
      w.start(1_000, one, endpointClass)
    expect(w.started).toHaveLength(256)
  })

  it('can start quick streams while its other streams hang', () => {
    const w = world()
    for (const endpointClass of ['failing', 'slow', 'new'] as const)
      w.start(1_000, one, endpointClass)
    expect(w.start(100, one)).toBe(100)
  })

  it('finds a place behind many tenants that hang with all they may have', () => {
    for (const endpointClass of ['new', 'failing'] as const) {
      const w = world()
      for (let i = 0; i < 10; i += 1) w.start(1_000, () => `dead_${i}`, endpointClass)
      expect(w.start(1_000, one, endpointClass)).toBeGreaterThanOrEqual(3)
      expect(w.start(1_000, () => 'slow', 'slow')).toBeGreaterThanOrEqual(16)
      expect(w.start(1_000, () => 'quick', 'quick')).toBeGreaterThanOrEqual(32)
    }
  })
})

describe('[invariant 8] hanging streams', () => {
  it('hanging streams of many tenants that fail leave places for slow, new and quick ones', () => {
    const w = world()
    expect(w.start(1_000, manyTenants, 'failing')).toBe(192)
    expect(w.start(1_000, others, 'slow')).toBe(64)
    expect(w.start(1_000, (i) => `new_${i}`, 'new')).toBe(192)
    expect(w.start(64, (i) => `quick_${i}`, 'quick')).toBe(64)
    expect(w.scheduler.counts()).toMatchObject({ quick: 64, slow: 64, new: 192, failing: 192 })
  })

  it('hanging streams of many tenants at their first request leave places for slow and quick ones', () => {
    const w = world()
    expect(w.start(1_000, manyTenants, 'new')).toBe(384)
    expect(w.start(64, others, 'slow')).toBe(64)
    expect(w.start(64, (i) => `quick_${i}`, 'quick')).toBe(64)
  })

  it('hanging streams that are slow leave half of all places to quick and new ones', () => {
    const w = world()
    expect(w.start(1_000, manyTenants, 'slow')).toBe(256)
    expect(w.start(192, others, 'new')).toBe(192)
    expect(w.start(64, (i) => `quick_${i}`, 'quick')).toBe(64)
  })
})

describe('a place that someone waits for', () => {
  /** Quick ones that have started, and whether anybody waits for the place of the last of them. */
  function busy(count: number) {
    const w = world()
    w.start(count, (i) => `quick_${i}`)
    const last = () => w.scheduler.isAnyWaitingFor(w.started[count - 1] as Step)
    return { ...w, isLastWaitedFor: last }
  }

  it('is reported when it is the only thing that the stream lacks', () => {
    const w = busy(512)
    expect(w.isLastWaitedFor()).toBe(false)
    for (const endpointClass of ['quick', 'slow', 'new', 'failing'] as const) {
      w.join('a', endpointClass)
      expect(w.isLastWaitedFor(), endpointClass).toBe(true)
      expect(w.fill(), endpointClass).toBe(0)
      w.scheduler.clear()
    }
  })

  it('is reported when its own tenant is at its limit with it', () => {
    const w = world()
    w.start(1_000, one)
    const [first] = w.started as [Step]
    expect(w.scheduler.isAnyWaitingFor(first)).toBe(true)
  })

  it('is not reported when the health class of the stream stays full', () => {
    for (const endpointClass of ['slow', 'new', 'failing'] as const) {
      const w = busy(1)
      w.start(1_000, manyTenants, endpointClass)
      expect(w.scheduler.counts().waiting).toBeGreaterThan(0)
      expect(w.isLastWaitedFor(), endpointClass).toBe(false)
    }
  })

  it('is not reported when the tenant of the stream stays at its limit', () => {
    for (const endpointClass of ['quick', 'slow', 'new', 'failing'] as const) {
      const w = busy(3)
      w.start(1_000, one, endpointClass)
      expect(w.scheduler.counts().waiting).toBeGreaterThan(0)
      expect(w.isLastWaitedFor(), endpointClass).toBe(false)
    }
  })
})

it('serves everything in turn with a single place', () => {
  const w = world(1)
  for (const endpointClass of ['quick', 'slow', 'new', 'failing'] as const)
    w.join(endpointClass, endpointClass)
  for (let i = 1; i <= 4; i += 1) {
    expect(w.fill()).toBe(1)
    const step = w.started.at(-1)
    if (step !== undefined) w.scheduler.leave(step)
  }
  expect(new Set(w.names())).toEqual(new Set(['quick', 'slow', 'new', 'failing']))
})

it('ignores a stream that leaves twice or without a start', () => {
  const w = world()
  const [first] = [w.join('a'), w.join('b')]
  w.fill()
  const never = { tenantId: 'x', endpointClass: 'slow', name: 'x' } as const
  for (const step of [first, first, never]) w.scheduler.leave(step)
  expect(w.scheduler.counts()).toEqual({ quick: 1, slow: 0, new: 0, failing: 0, waiting: 0 })
})

it('has nothing waiting after its queues are cleared', () => {
  const w = world()
  for (const endpointClass of ['quick', 'slow', 'new', 'failing'] as const)
    w.join('a', endpointClass)
  w.scheduler.clear()
  expect(w.fill()).toBe(0)
  expect(w.scheduler.counts()).toEqual({ quick: 0, slow: 0, new: 0, failing: 0, waiting: 0 })
})

it('keeps every limit at every moment, and starts each stream once', () => {
  const tenants = ['t0', 't1', 't2', 't3']
  const command = fc.oneof(
    fc.record({
      kind: fc.constant('join' as const),
      tenant: fc.constantFrom(...tenants),
      endpointClass: fc.constantFrom<EndpointClass>('quick', 'slow', 'new', 'failing'),
      count: fc.integer({ min: 1, max: 20 }),
    }),
    fc.record({ kind: fc.constant('leave' as const), index: fc.nat() }),
  )
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 60 }),
      fc.array(command, { maxLength: 50 }),
      (total, commands) => {
        const limits = schedulerLimits(total)
        const w = world(total)
        const running = new Set<Step>()
        const isWaitedFor = new Map<Step, boolean>()
        let joined = 0
        const check = () => {
          const seen = w.started.length
          w.fill()
          for (const step of w.started.slice(seen)) running.add(step)
          const of = (classes: EndpointClass[], tenant?: string) =>
            [...running].filter(
              (s) =>
                classes.includes(s.endpointClass) &&
                (tenant === undefined || s.tenantId === tenant),
            ).length
          const limiters: [EndpointClass[], number, number][] = [
            [['quick', 'slow', 'new', 'failing'], limits.all, 1 / 2],
            [['slow', 'new', 'failing'], limits.unquick, 1 / 4],
            [['new', 'failing'], limits.unsure, 1 / 4],
            [['slow', 'failing'], limits.late, 1 / 4],
            [['failing'], limits.failing, 1 / 4],
          ]
          for (const [classes, places, part] of limiters) {
            expect(of(classes)).toBeLessThanOrEqual(places)
            for (const tenant of tenants)
              expect(of(classes, tenant)).toBeLessThanOrEqual(Math.ceil(places * part))
          }
          const { waiting, ...counts } = w.scheduler.counts()
          for (const endpointClass of ['quick', 'slow', 'new', 'failing'] as const)
            expect(counts[endpointClass]).toBe(of([endpointClass]))
          for (const step of running) isWaitedFor.set(step, w.scheduler.isAnyWaitingFor(step))
          expect(waiting).toBe(joined - w.started.length)
          if (running.size === 0) expect(waiting).toBe(0)
        }
        const leave = (step: Step | undefined) => {
          if (step === undefined) return
          w.scheduler.leave(step)
          running.delete(step)
          // It was said what would follow.
          const seen = w.started.length
          expect(w.fill() > 0).toBe(isWaitedFor.get(step))
          for (const next of w.started.slice(seen)) running.add(next)
        }
        for (const command of commands) {
          if (command.kind === 'leave') leave([...running][command.index % running.size])
          else
            for (let i = 0; i < command.count; i += 1) {
              w.join(command.tenant, command.endpointClass, `${joined}`)
              joined += 1
            }
          check()
        }
        // Every waiting stream starts in the end.
        while (running.size > 0) {
          leave([...running][0])
          check()
        }
        expect(w.started).toHaveLength(joined)
        expect(new Set(w.names()).size).toBe(joined)
      },
    ),
    { numRuns: 100 },
  )
})
