/**
 * [invariant 8] What receivers do over minutes, by a clock of its own: who waits for a place, and for
 * how long, is counted.
 */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createEndpointHealth } from './endpoint-health.ts'
import { createFairScheduler, type EndpointClass, schedulerLimits } from './fair-scheduler.ts'

/** How long the n-th request takes; `fails` instead of an answer. */
type Receiver = (n: number) => { readonly durationMs: number; readonly fails?: boolean }

interface Stream {
  readonly tenantId: string
  readonly name: string
  endpointClass: EndpointClass
  readonly receiver: Receiver
  /** Between the end of a step and the next. */
  readonly pauseMs: number
  requests: number
  joinedMs: number
  /** Waiting, at each step. */
  readonly waits: number[]
}

const REQUEST_MS = 15_000
const hangs: Receiver = () => ({ durationMs: REQUEST_MS, fails: true })
/** An answer just before it is too late. */
const drips: Receiver = () => ({ durationMs: REQUEST_MS - 100 })
const answersIn =
  (durationMs: number): Receiver =>
  () => ({ durationMs })
/** Answers as often as it has to and then hangs, again and again. */
const hangsAfter =
  (answers: number, durationMs: number): Receiver =>
  (n) =>
    n % (answers + 1) === 0 ? hangs(n) : { durationMs }

function createWorld(places = 512) {
  let nowMs = 0
  const endpointHealth = createEndpointHealth()
  const scheduler = createFairScheduler<Stream>(schedulerLimits(places))
  const agenda: { atMs: number; run: () => void }[] = []
  let names = 0

  /** Kept in order. */
  function at(atMs: number, run: () => void): void {
    let low = 0
    let high = agenda.length
    while (low < high) {
      const middle = (low + high) >> 1
      if ((agenda[middle]?.atMs ?? 0) > atMs) low = middle + 1
      else high = middle
    }
    agenda.splice(low, 0, { atMs, run })
  }

  function join(stream: Stream): void {
    stream.endpointClass = endpointHealth.of(stream.name)
    stream.joinedMs = nowMs
    scheduler.join(stream)
  }

  function fill(): void {
    for (let stream = scheduler.next(); stream !== undefined; stream = scheduler.next())
      begin(stream)
  }

  function begin(stream: Stream): void {
    stream.waits.push(nowMs - stream.joinedMs)
    stream.requests += 1
    const { durationMs, fails = false } = stream.receiver(stream.requests)
    at(nowMs + durationMs, () => {
      scheduler.leave(stream)
      endpointHealth.note(stream.name, { isFailing: fails, durationMs })
      at(nowMs + stream.pauseMs, () => join(stream))
    })
  }

  return {
    add(tenantId: string, receiver: Receiver, o: { atMs?: number; pauseMs?: number } = {}): Stream {
      const { atMs = 0, pauseMs = 100 } = o
      names += 1
      const name = `${tenantId}_${names}`
      const rest = { requests: 0, joinedMs: 0, waits: [], pauseMs, receiver }
      const stream: Stream = { tenantId, name, endpointClass: 'new', ...rest }
      at(atMs, () => join(stream))
      return stream
    },
    run(untilMs: number): void {
      for (let next = agenda.pop(); next !== undefined; next = agenda.pop()) {
        if (next.atMs > untilMs) return
        nowMs = next.atMs
        next.run()
        fill()
      }
    },
  }
}

const longest = ({ waits }: Stream) => Math.max(...waits)
const each = (count: number, act: (i: number) => void) => {
  for (let i = 0; i < count; i += 1) act(i)
}

describe('a receiver that answers', () => {
  it('is not delayed by hundreds of receivers that answer just before the time-out', () => {
    const w = createWorld()
    each(8 * 130, (i) => w.add(`drips_${i % 8}`, drips))
    const slow = w.add('slow', answersIn(400), { atMs: 1_000 })
    const quick = w.add('quick', answersIn(20), { atMs: 1_000 })
    w.run(180_000)
    expect(longest(slow)).toBe(0)
    expect(longest(quick)).toBe(0)
    expect(slow.requests).toBeGreaterThan(350)
  })

  it('is not delayed by hundreds of hanging tenants once it has answered three times', () => {
    const w = createWorld()
    const slow = w.add('slow', answersIn(400))
    const quick = w.add('quick', answersIn(20))
    each(600, (i) => w.add(`drips_${i}`, drips, { atMs: 5_000 }))
    each(600, (i) => w.add(`hangs_${i}`, hangs, { atMs: 6_000 }))
    w.run(180_000)
    expect(longest(slow)).toBe(0)
    expect(longest(quick)).toBe(0)
  })

  it('is not delayed by receivers that hang, answer in between, and hang again', () => {
    for (const answers of [1, 2, 3, 10])
      for (const durationMs of [5, 400]) {
        const w = createWorld()
        each(3 * 300, (i) =>
          w.add(`dead_${i % 3}`, hangsAfter(answers, durationMs), { atMs: i * 7 }),
        )
        const quick = w.add('quick', answersIn(20), { atMs: 5_000, pauseMs: 1_000 })
        const slow = w.add('slow', answersIn(400), { atMs: 5_000, pauseMs: 1_000 })
        w.run(120_000)
        expect(longest(quick), `${answers} answers in ${durationMs} ms`).toBe(0)
        expect(longest(slow), `${answers} answers in ${durationMs} ms`).toBe(0)
      }
  })

  it('is not delayed by anything that a few tenants do with many webhooks', () => {
    const receiver = fc.oneof(
      fc.constant(hangs),
      fc.constant(drips),
      fc.record({
        answers: fc.integer({ min: 1, max: 5 }),
        ms: fc.integer({ min: 1, max: 3_000 }),
      }),
      fc.integer({ min: 1, max: REQUEST_MS }).map(answersIn),
    )
    const troop = fc.record({
      tenant: fc.integer({ min: 0, max: 4 }),
      count: fc.integer({ min: 1, max: 300 }),
      atMs: fc.integer({ min: 0, max: 20_000 }),
      pauseMs: fc.integer({ min: 1, max: 5_000 }),
      receiver: receiver.map((r) => ('answers' in r ? hangsAfter(r.answers, r.ms) : r)),
    })
    fc.assert(
      fc.property(fc.array(troop, { minLength: 1, maxLength: 5 }), (troops) => {
        const w = createWorld()
        for (const { count, tenant, receiver, ...when } of troops)
          each(count, () => w.add(`t_${tenant}`, receiver, when))
        const others = [
          w.add('quick', answersIn(20), { pauseMs: 500 }),
          w.add('rare', answersIn(20), { atMs: 29_000 }),
          w.add('slow', answersIn(400), { pauseMs: 500 }),
          w.add('late', answersIn(3_000), { pauseMs: 500 }),
        ]
        w.run(30_000)
        for (const stream of others) expect(longest(stream), stream.name).toBe(0)
      }),
      { numRuns: 60 },
    )
  })
})

it('serves a failing receiver on time beside any number of quick ones', () => {
  const w = createWorld(64)
  each(90, (i) => w.add(`quick_${i}`, answersIn(100), { pauseMs: 0 }))
  const failing = w.add('failing', hangs, { pauseMs: 5_000 })
  w.run(41_000)
  expect(failing.requests).toBe(3)
  expect(longest(failing)).toBeLessThan(1_000)
})
