import { createSignal } from '@postrider/testkit'
import pino from 'pino'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { DatabaseUnavailableError } from '../../../platform/db/index.ts'
import type { StepResult } from '../deliver-batch.ts'
import type { BucketedStream } from '../stream-store.ts'
import type { SchedulerCounts } from './fair-scheduler.ts'
import { createStreamServer, type ServeStreamsDeps, type StreamServer } from './serve-streams.ts'

const QUICK: StepResult = { kind: 'requested', isFailing: false, durationMs: 10 }
const FAILING: StepResult = { kind: 'requested', isFailing: true, durationMs: 10 }
const SLOW: StepResult = { kind: 'requested', isFailing: false, durationMs: 400 }
const IDLE: StepResult = { kind: 'idle' }

/** A step under way, which the test ends as it likes. */
interface Step {
  readonly id: string
  readonly signal: AbortSignal
  readonly mayGoOn: () => boolean
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
  let freed = 0
  const streams: StreamServer = createStreamServer({
    log: pino({ level: 'trace' }, { write: (line: string) => said.push(JSON.parse(line).msg) }),
    deliver: ({ webhookId }, signal, mayGoOn) =>
      new Promise((resolve, reject) => {
        steps.push({ id: webhookId, signal, mayGoOn, end: resolve, fail: reject })
        changed.notify()
      }),
    mayServe: ({ bucket }) => !lost.has(bucket),
    concurrency: 512,
    lingerMs: 0,
    requestMs: 15_000,
    stopGraceMs: 60_000,
    monotonicMs: () => nowMs,
    onFree: () => {
      freed += 1
    },
    ...change,
  })
  return {
    streams,
    steps,
    said,
    lost,
    /** How often it was said that something became free. */
    freed: () => freed,
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
const counts = (change: Partial<SchedulerCounts>): SchedulerCounts => ({
  quick: 0,
  slow: 0,
  new: 0,
  failing: 0,
  waiting: 0,
  ...change,
})
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
  it('starts at once after a wake-up, with one step under way at a time', async () => {
    for (let i = 0; i < 5; i += 1) w.streams.wake(stream('a'))
    expect(w.ids()).toEqual(['a'])
    w.steps[0]?.end(IDLE)
    // It was woken while it ran: looked at once more.
    await w.nth(2)
    w.steps[1]?.end(IDLE)
    await w.streams.quiet()
    expect(w.ids()).toEqual(['a', 'a'])
    expect(w.streams.counts()).toEqual(counts({}))
  })

  it('continues after each request until nothing is left', async () => {
    w.streams.wake(stream('a'))
    for (let i = 1; i <= 3; i += 1) (await w.nth(i)).end(QUICK)
    ;(await w.nth(4)).end(IDLE)
    await w.streams.quiet()
    expect(w.steps).toHaveLength(4)
  })

  it('starts its requests `lingerMs` apart, and the first one at once', async () => {
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

  it('continues at once when its last request took longer than the linger', async () => {
    w = createWorld({ lingerMs: 100 })
    w.streams.wake(stream('a'))
    w.pass(100)
    w.steps[0]?.end(QUICK)
    await turn()
    expect(w.ids()).toEqual(['a', 'a'])
  })

  it('ignores wake-ups while it backs off, until the database says otherwise', async () => {
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

  it('continues by itself after a short wait', async () => {
    w.streams.wake(stream('a'))
    w.steps[0]?.end({ kind: 'wait', waitMs: 1 })
    ;(await w.nth(2)).end(IDLE)
    w.streams.find(due('b', { waitMs: 1 }))
    expect(w.steps).toHaveLength(2)
    await w.nth(3)
  })

  it('does not start when its bucket is not owned, or not any more', async () => {
    w.lost.add(1)
    w.streams.wake(stream('a'))
    w.lost.clear()
    w.streams.wake(stream('b'))
    w.lost.add(1)
    w.steps[0]?.end(QUICK)
    await w.streams.quiet()
    expect(w.ids()).toEqual(['b'])
  })

  it('is passed over in the queue when its bucket is lost', async () => {
    w = createWorld({ concurrency: 1 })
    w.streams.wake(stream('a'))
    w.streams.wake(stream('b', 'tn_b', 2))
    w.streams.wake(stream('c', 'tn_c', 3))
    w.lost.add(2)
    w.steps[0]?.end(IDLE)
    await w.nth(2)
    expect(w.ids()).toEqual(['a', 'c'])
  })

  it('does not crowd out others when its tenant has more streams than can be remembered', async () => {
    w = createWorld({ concurrency: 1 })
    for (let i = 0; i < 110_000; i += 1) w.streams.wake(stream(`${i}`, 'tn_a'))
    const { waiting } = w.streams.counts()
    w.streams.wake(stream('b'))
    expect(w.streams.counts().waiting).toBe(waiting + 1)
    w.steps[0]?.end(IDLE)
    ;(await w.nth(2)).end(IDLE)
    await w.nth(3)
    expect(w.ids().slice(0, 3)).toContain('b')
  })

  it('is passed over at once, also among 50,000 streams of lost buckets', async () => {
    w = createWorld({ concurrency: 1 })
    w.streams.wake(stream('a', 'tn_a', 2))
    for (let i = 0; i < 50_000; i += 1) w.streams.wake(stream(`${i}`, `tn_${i % 100}`))
    w.lost.add(1)
    w.steps[0]?.end(IDLE)
    await w.streams.quiet()
    expect(w.ids()).toEqual(['a'])
  })
})

describe('[invariant 8] hanging receivers', () => {
  const dead = Array.from({ length: 200 }, (_, i) => stream(`dead_${i}`, 'tn_dead'))

  it('hanging receivers of one tenant, at their first request, do not delay other streams', async () => {
    for (const one of dead) w.streams.wake(one)
    expect(w.streams.counts()).toEqual(counts({ new: 96, waiting: 104 }))
    for (let i = 0; i < 10; i += 1) {
      w.streams.wake(stream(`ok_${i}`))
      expect(w.ids().at(-1)).toBe(`ok_${i}`)
      w.steps.at(-1)?.end(IDLE)
      await turn()
    }
  })

  it('hanging receivers of many tenants do not delay a stream that is quick or slow', async () => {
    for (const [id, result] of [
      ['quick', QUICK],
      ['slow', SLOW],
    ] as const)
      for (let i = 0; i < 3; i += 1) {
        w.streams.wake(stream(id))
        w.steps.at(-1)?.end(result)
        await turn()
        w.steps.at(-1)?.end(IDLE)
        await turn()
      }
    for (let i = 0; i < 1_000; i += 1) w.streams.wake(stream(`dead_${i}`))
    for (const id of ['quick', 'slow']) {
      w.streams.wake(stream(id))
      expect(w.ids().at(-1)).toBe(id)
    }
    expect(w.streams.counts()).toEqual(counts({ quick: 1, slow: 1, new: 384, waiting: 616 }))
  })

  it('share the places of failing streams until three requests succeed', async () => {
    const next = async (result: StepResult) => {
      for (const step of w.steps.slice(-30)) step.end(result)
      await turn()
      return w.streams.counts()
    }
    for (const one of dead.slice(0, 30)) w.streams.wake(one)
    expect(await next(FAILING)).toEqual(counts({ failing: 30 }))
    for (const result of [QUICK, SLOW]) expect(await next(result)).toEqual(counts({ failing: 30 }))
    for (const result of [QUICK, QUICK]) expect(await next(result)).toEqual(counts({ slow: 30 }))
    expect(await next(QUICK)).toEqual(counts({ quick: 30 }))
  })

  it('start as failing when the database says so, also when it says otherwise later', async () => {
    for (let i = 0; i < 200; i += 1)
      w.streams.find({ ...due(`dead_${i}`, { isFailing: true }), tenantId: 'tn_dead' })
    expect(w.streams.counts()).toEqual(counts({ failing: 48, waiting: 152 }))
    w.streams.find(due('a', { isFailing: true }))
    expect(w.streams.counts().failing).toBe(49)
    w.steps.at(-1)?.end(QUICK)
    ;(await w.nth(50)).end(IDLE)
    await turn()
    w.streams.find(due('a'))
    expect(w.streams.counts().failing).toBe(49)
  })
})

describe('another request within the same step', () => {
  /** A stream that is known to be quick, with a step under way. */
  async function startQuick(id = 'a'): Promise<Step> {
    const before = w.steps.length
    w.streams.wake(stream(id))
    for (let i = 1; i <= 3; i += 1) (await w.nth(before + i)).end(QUICK)
    return w.nth(before + 4)
  }

  it('is made when the stream is quick and nobody waits', async () => {
    w.streams.wake(stream('new'))
    expect(w.steps[0]?.mayGoOn()).toBe(false)
    const step = await startQuick()
    expect(step.mayGoOn()).toBe(true)
  })

  it('is not made while someone waits for this very place', async () => {
    w = createWorld({ concurrency: 8 })
    for (const id of ['b', 'c']) {
      ;(await startQuick(id)).end(IDLE)
      await w.streams.quiet()
    }
    const step = await startQuick('a')
    for (let i = 0; i < 100; i += 1) w.streams.wake(stream(`dead_${i}`))
    expect(w.streams.counts()).toEqual(counts({ quick: 1, new: 6, waiting: 94 }))
    expect(step.mayGoOn()).toBe(true)
    w.streams.wake(stream('b'))
    expect(w.streams.counts()).toEqual(counts({ quick: 2, new: 6, waiting: 94 }))
    expect(step.mayGoOn()).toBe(true)
    w.streams.wake(stream('c'))
    expect(w.streams.counts()).toEqual(counts({ quick: 2, new: 6, waiting: 95 }))
    expect(step.mayGoOn()).toBe(false)
  })

  it('is not made before the linger is over, counted from the request before', async () => {
    w = createWorld({ lingerMs: 100 })
    w.pass(1)
    w.streams.wake(stream('a'))
    for (let i = 0; i < 3; i += 1) {
      w.pass(100)
      w.steps.at(-1)?.end(QUICK)
      await turn()
    }
    const step = await w.nth(4)
    for (const mayGoOn of [true, true]) {
      expect(step.mayGoOn()).toBe(false)
      w.pass(99)
      expect(step.mayGoOn()).toBe(false)
      w.pass(1)
      expect(step.mayGoOn()).toBe(mayGoOn)
    }
  })

  it('is not made when the bucket is lost or given back, or the server closes', async () => {
    const step = await startQuick()
    w.lost.add(1)
    expect(step.mayGoOn()).toBe(false)
    w.lost.clear()
    w.streams.giveBack(new Set([1]))
    expect(step.mayGoOn()).toBe(false)
    w.streams.giveBack(new Set())
    expect(step.mayGoOn()).toBe(true)
    void w.streams.close()
    expect(step.mayGoOn()).toBe(false)
  })
})

describe('a bucket that is given back', () => {
  it('starts nothing, and is free when the requests under way have ended', async () => {
    w.streams.wake(stream('a'))
    w.streams.wake(stream('other', 'tn_o', 2))
    w.streams.giveBack(new Set([1]))
    w.streams.wake(stream('b'))
    expect(w.ids()).toEqual(['a', 'other'])
    expect(w.streams.isFree(1)).toBe(false)
    w.steps[0]?.end(QUICK)
    await turn()
    expect(w.streams.isFree(1)).toBe(true)
    expect(w.freed()).toBe(1)
    w.steps[1]?.end(QUICK)
    await turn()
    // That of the bucket that stays goes on.
    expect(w.ids()).toEqual(['a', 'other', 'other'])
    expect(w.freed()).toBe(1)
  })

  it('is served as before when it is kept after all', async () => {
    w.streams.giveBack(new Set([1]))
    w.streams.wake(stream('a'))
    w.streams.giveBack(new Set())
    w.streams.wake(stream('a'))
    expect(w.ids()).toEqual(['a'])
  })

  it('keeps serving its other streams while one hangs', async () => {
    w.streams.wake(stream('hangs'))
    w.streams.giveBack(new Set([1]))
    w.pass(1_001)
    w.streams.wake(stream('a'))
    w.streams.find(due('failing', { isFailing: true }))
    expect(w.ids()).toEqual(['hangs', 'a'])
    w.steps[0]?.end(FAILING)
    await turn()
    w.steps[1]?.end(QUICK)
    await turn()
    expect(w.ids()).toEqual(['hangs', 'a'])
    expect(w.streams.isFree(1)).toBe(true)
  })

  it('starts nothing once all requests from before must have ended', async () => {
    w.streams.wake(stream('hangs'))
    w.streams.giveBack(new Set([1]))
    w.pass(14_999)
    w.streams.wake(stream('a'))
    w.streams.giveBack(new Set([1]))
    w.pass(1)
    w.streams.wake(stream('b'))
    expect(w.ids()).toEqual(['hangs', 'a'])
  })
})

describe('an unexpected fault', () => {
  const restless = async (error: Error) => {
    w.streams.wake(stream('a'))
    w.steps.at(-1)?.fail(error)
    await w.streams.quiet()
  }

  it('makes its stream back off, twice as long each time, despite wake-ups', async () => {
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

  it('is forgotten after a good step, and after a minute', async () => {
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

  it('makes its stream back off for a minute at most', async () => {
    for (let i = 0; i < 10; i += 1) {
      await restless(new TypeError('a bug'))
      w.pass(60_000)
    }
    expect(w.steps).toHaveLength(10)
  })

  it('makes all streams back off for a second when the database is away', async () => {
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

  it('gives its place back', async () => {
    w = createWorld({ concurrency: 1 })
    w.streams.wake(stream('a'))
    w.streams.wake(stream('b'))
    w.steps[0]?.fail(new TypeError('a bug'))
    await w.nth(2)
    expect(w.ids()).toEqual(['a', 'b'])
  })
})

describe('closing', () => {
  it('waits for requests under way, starts nothing more, and can be opened again', async () => {
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
    expect(w.streams.counts()).toEqual(counts({ new: 1 }))
    expect(w.steps[0]?.signal.aborted).toBe(false)
    w.steps[0]?.end(QUICK)
    await closed
    expect(w.ids()).toEqual(['a'])
    await w.streams.quiet()
    w.streams.open()
    w.streams.wake(stream('d'))
    expect(w.ids()).toEqual(['a', 'd'])
  })

  it('aborts requests that do not end within the grace period', async () => {
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
