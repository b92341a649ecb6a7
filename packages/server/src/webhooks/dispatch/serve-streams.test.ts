import { createSignal } from '@postrider/testkit'
import pino from 'pino'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { DatabaseUnavailableError } from '../../platform/db/index.ts'
import type { StepResult } from './deliver-batch.ts'
import { createStreamServer, type ServeStreamsDeps, type StreamServer } from './serve-streams.ts'
import { slotLimits } from './slots.ts'
import type { BucketedStream } from './stream-store.ts'

const QUICK: StepResult = { kind: 'requested', isFailing: false, isSlow: false }
const FAILING: StepResult = { kind: 'requested', isFailing: true, isSlow: false }
const SLOW: StepResult = { kind: 'requested', isFailing: false, isSlow: true }
const IDLE: StepResult = { kind: 'idle' }

/** A step under way, which the test ends as it likes. */
interface Step {
  readonly id: string
  readonly signal: AbortSignal
  end(result: StepResult): void
  fail(error: Error): void
}

/** Serves streams whose steps last until the test ends them, by a clock that the test moves. */
function createWorld(change: Partial<ServeStreamsDeps> = {}) {
  const changed = createSignal()
  const steps: Step[] = []
  const said: string[] = []
  const lost = new Set<number>()
  let nowMs = 0
  const streams: StreamServer = createStreamServer({
    log: pino({ level: 'trace' }, { write: (line: string) => said.push(JSON.parse(line).msg) }),
    deliver: ({ webhookId }, signal) =>
      new Promise((resolve, reject) => {
        steps.push({ id: webhookId, signal, end: resolve, fail: reject })
        changed.notify()
      }),
    mayServe: ({ bucket }) => !lost.has(bucket),
    concurrency: 512,
    lingerMs: 0,
    stopGraceMs: 60_000,
    monotonicMs: () => nowMs,
    ...change,
  })
  return {
    streams,
    steps,
    said,
    lost,
    ids: () => steps.map((step) => step.id),
    pass: (ms: number) => {
      nowMs += ms
    },
    /** The step that was the n-th to begin. */
    async nth(n: number): Promise<Step> {
      await changed.until(() => steps.length >= n, {
        describe: () => `${n} steps; there are ${steps.map((step) => step.id)}`,
      })
      const step = steps[n - 1]
      if (step === undefined) throw new Error(`no step ${n}`)
      return step
    },
  }
}
type World = ReturnType<typeof createWorld>

function stream(webhookId: string, tenantId = `tn_${webhookId}`, bucket = 1): BucketedStream {
  return { tenantId, webhookId, bucket }
}
const turn = () => new Promise((resolve) => setImmediate(resolve))
const due = (webhookId: string, change: { isFailing?: boolean; waitMs?: number } = {}) => ({
  ...stream(webhookId),
  isFailing: false,
  waitMs: 0,
  ...change,
})

let w: World
beforeEach(() => {
  w = createWorld()
})
afterEach(async () => {
  const closed = w.streams.close()
  for (const step of w.steps) step.end(IDLE)
  await closed
})

describe('a stream', () => {
  it('begins at once when it is woken, and has one step under way at a time', async () => {
    for (let i = 0; i < 5; i += 1) w.streams.wake(stream('a'))
    expect(w.ids()).toEqual(['a'])
    w.steps[0]?.end(IDLE)
    // It was woken while it ran: looked at once more.
    await w.nth(2)
    w.steps[1]?.end(IDLE)
    await w.streams.quiet()
    expect(w.ids()).toEqual(['a', 'a'])
    expect(w.streams.counts()).toEqual({ quick: 0, slow: 0, waiting: 0 })
  })

  it('goes on after each request, until nothing is left', async () => {
    w.streams.wake(stream('a'))
    for (let i = 1; i <= 3; i += 1) (await w.nth(i)).end(QUICK)
    ;(await w.nth(4)).end(IDLE)
    await w.streams.quiet()
    expect(w.steps).toHaveLength(4)
  })

  it('starts its requests `lingerMs` apart, whatever wakes it; the first goes at once', async () => {
    w = createWorld({ lingerMs: 600_000 })
    w.streams.wake(stream('a'))
    w.steps[0]?.end(QUICK)
    await turn()
    w.streams.wake(stream('a'))
    w.streams.find(due('a'))
    w.streams.wake(stream('b'))
    await turn()
    expect(w.ids()).toEqual(['a', 'b'])
  })

  it('whose last request took longer than the linger goes on at once', async () => {
    w = createWorld({ lingerMs: 100 })
    w.streams.wake(stream('a'))
    w.pass(100)
    w.steps[0]?.end(QUICK)
    await turn()
    expect(w.ids()).toEqual(['a', 'a'])
  })

  it('that backs off is not asked again by wake-ups, but by what the database says', async () => {
    w.streams.wake(stream('a'))
    w.steps[0]?.end({ kind: 'wait', waitMs: 3_600_000 })
    await w.streams.quiet()
    w.streams.wake(stream('a'))
    expect(w.steps).toHaveLength(1)
    // Its webhook was updated.
    w.streams.find(due('a'))
    expect(w.steps).toHaveLength(2)
    w.steps[1]?.end({ kind: 'wait', waitMs: 3_600_000 })
    await w.streams.quiet()
    w.pass(1_000)
    w.streams.wake(stream('a'))
    expect(w.steps).toHaveLength(3)
  })

  it('that waits for a moment goes on by itself', async () => {
    w.streams.wake(stream('a'))
    w.steps[0]?.end({ kind: 'wait', waitMs: 1 })
    ;(await w.nth(2)).end(IDLE)
    w.streams.find(due('b', { waitMs: 1 }))
    expect(w.steps).toHaveLength(2)
    await w.nth(3)
  })

  it('of a bucket that is not ours does not begin, also when it was ours until now', async () => {
    w.lost.add(1)
    w.streams.wake(stream('a'))
    w.lost.clear()
    w.streams.wake(stream('b'))
    w.lost.add(1)
    w.steps[0]?.end(QUICK)
    await w.streams.quiet()
    expect(w.ids()).toEqual(['b'])
  })

  it('in line whose bucket is lost is passed over', async () => {
    w = createWorld({ concurrency: 1 })
    w.streams.wake(stream('a'))
    w.streams.wake(stream('b', 'tn_b', 2))
    w.streams.wake(stream('c', 'tn_c', 3))
    w.lost.add(2)
    w.steps[0]?.end(IDLE)
    await w.nth(2)
    expect(w.ids()).toEqual(['a', 'c'])
  })
})

describe('[invariant 8] receivers that hang', () => {
  const dead = Array.from({ length: 200 }, (_, i) => stream(`dead_${i}`, 'tn_dead'))

  it('all of one tenant, at their first request: streams of others begin at once', async () => {
    for (const one of dead) w.streams.wake(one)
    expect(w.steps).toHaveLength(slotLimits(512).quick)
    for (let i = 0; i < 10; i += 1) {
      w.streams.wake(stream(`ok_${i}`))
      expect(w.ids().at(-1)).toBe(`ok_${i}`)
      w.steps.at(-1)?.end(IDLE)
      await turn()
    }
  })

  it('each of another tenant: the line moves on while they hang', async () => {
    for (let i = 0; i < 200; i += 1) w.streams.wake(stream(`dead_${i}`))
    w.streams.wake(stream('ok'))
    expect(w.steps).toHaveLength(slotLimits(512).quick)
    for (let round = 0; round < 6; round += 1) {
      w.pass(50)
      // Anything that happens lets the line be looked at; else the timer of the hand-over does.
      w.streams.wake(stream('ok'))
      w.streams.wake(stream(`late_${round}`))
    }
    expect(w.ids()).toContain('ok')
  })

  it('the hand-over needs nothing else to happen', async () => {
    w = createWorld({ monotonicMs: () => performance.now() })
    for (let i = 0; i < 300; i += 1) w.streams.wake(stream(`dead_${i}`))
    await w.nth(300)
  })

  it('once they have failed, or were slow, they begin among their like, each tenant with half', async () => {
    for (const one of dead.slice(0, 30)) w.streams.wake(one)
    for (const step of w.steps) step.end(FAILING)
    await turn()
    // Next steps: none of them holds a quick place.
    expect(w.steps).toHaveLength(60)
    expect(w.streams.counts()).toEqual({ quick: 0, slow: 30, waiting: 0 })
    for (const step of w.steps.slice(30)) step.end(SLOW)
    await turn()
    expect(w.streams.counts()).toEqual({ quick: 0, slow: 30, waiting: 0 })
    for (const step of w.steps.slice(60)) step.end(QUICK)
    await turn()
    expect(w.streams.counts()).toEqual({ quick: 30, slow: 0, waiting: 0 })
  })

  it('what the database calls failing begins slow, and quick again when it no longer does', async () => {
    for (let i = 0; i < 200; i += 1)
      w.streams.find({ ...due(`dead_${i}`, { isFailing: true }), tenantId: 'tn_dead' })
    expect(w.streams.counts()).toEqual({ quick: 0, slow: 64, waiting: 136 })
    w.streams.find(due('a', { isFailing: true }))
    expect(w.streams.counts().slow).toBe(65)
    w.steps.at(-1)?.end(IDLE)
    await turn()
    w.streams.find(due('a'))
    expect(w.streams.counts()).toEqual({ quick: 1, slow: 64, waiting: 136 })
  })
})

describe('a fault', () => {
  const restless = async (error: Error) => {
    w.streams.wake(stream('a'))
    w.steps.at(-1)?.fail(error)
    await w.streams.quiet()
  }

  it('rests its stream, twice as long each time, whatever wakes or finds it', async () => {
    for (const [i, restMs] of [1_000, 2_000, 4_000].entries()) {
      await restless(new TypeError('a bug'))
      expect(w.steps).toHaveLength(i + 1)
      w.pass(restMs - 1)
      w.streams.wake(stream('a'))
      w.streams.find(due('a'))
      expect(w.steps).toHaveLength(i + 1)
      w.pass(1)
    }
    expect(w.said).toEqual(Array(3).fill('webhook_stream.failed'))
  })

  it('is forgotten after a step that went well, and after a minute without any', async () => {
    await restless(new TypeError('a bug'))
    w.pass(1_000)
    w.streams.wake(stream('a'))
    w.steps.at(-1)?.end(IDLE)
    await w.streams.quiet()
    await restless(new TypeError('a bug'))
    w.pass(61_000)
    await restless(new TypeError('a bug'))
    w.pass(1_000)
    w.streams.wake(stream('a'))
    expect(w.steps).toHaveLength(5)
  })

  it('rests for a minute at most', async () => {
    for (let i = 0; i < 10; i += 1) {
      await restless(new TypeError('a bug'))
      w.pass(60_000)
    }
    expect(w.steps).toHaveLength(10)
  })

  it('of the database rests everyone for a second, however often', async () => {
    for (let i = 0; i < 5; i += 1) {
      await restless(new DatabaseUnavailableError('away'))
      w.pass(1_000)
    }
    expect(w.steps).toHaveLength(5)
    expect(new Set(w.said)).toEqual(new Set(['webhook_stream.interrupted']))
    await restless(new TypeError('a bug'))
    w.pass(1_000)
    w.streams.wake(stream('a'))
    expect(w.steps).toHaveLength(7)
  })

  it('holds no place', async () => {
    w = createWorld({ concurrency: 1 })
    w.streams.wake(stream('a'))
    w.streams.wake(stream('b'))
    w.steps[0]?.fail(new TypeError('a bug'))
    await w.nth(2)
    expect(w.ids()).toEqual(['a', 'b'])
  })
})

describe('closing', () => {
  it('waits for what is under way, begins nothing more, and may be opened again', async () => {
    w = createWorld({ concurrency: 1 })
    w.streams.wake(stream('a'))
    w.streams.wake(stream('b'))
    let isClosed = false
    const closed = w.streams.close().then(() => {
      isClosed = true
    })
    w.streams.wake(stream('c'))
    await turn()
    expect(isClosed).toBe(false)
    expect(w.streams.counts()).toEqual({ quick: 1, slow: 0, waiting: 0 })
    expect(w.steps[0]?.signal.aborted).toBe(false)
    w.steps[0]?.end(QUICK)
    await closed
    expect(w.ids()).toEqual(['a'])
    await w.streams.quiet()
    w.streams.open()
    w.streams.wake(stream('d'))
    expect(w.ids()).toEqual(['a', 'd'])
  })

  it('aborts after its grace what does not end by itself', async () => {
    w = createWorld({ stopGraceMs: 1 })
    w.streams.wake(stream('a'))
    const [step] = w.steps
    step?.signal.addEventListener('abort', () => step.fail(new Error('aborted')))
    await w.streams.close()
    expect(step?.signal.aborted).toBe(true)
    w.streams.open()
    w.streams.wake(stream('b'))
    expect(w.steps[1]?.signal.aborted).toBe(false)
  })
})
