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
  it('begins at once when it is woken, and has one step under way at a time', async () => {
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

  it('of a tenant with more than can be remembered does not crowd out others', async () => {
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

  it('in line are passed over however many they are', async () => {
    w = createWorld({ concurrency: 1 })
    w.streams.wake(stream('a', 'tn_a', 2))
    for (let i = 0; i < 50_000; i += 1) w.streams.wake(stream(`${i}`, `tn_${i % 100}`))
    w.lost.add(1)
    w.steps[0]?.end(IDLE)
    await w.streams.quiet()
    expect(w.ids()).toEqual(['a'])
  })
})

describe('[invariant 8] receivers that hang', () => {
  const dead = Array.from({ length: 200 }, (_, i) => stream(`dead_${i}`, 'tn_dead'))

  it('all of one tenant, at their first request: streams of others begin at once', async () => {
    for (const one of dead) w.streams.wake(one)
    expect(w.streams.counts()).toEqual(counts({ new: 96, waiting: 104 }))
    for (let i = 0; i < 10; i += 1) {
      w.streams.wake(stream(`ok_${i}`))
      expect(w.ids().at(-1)).toBe(`ok_${i}`)
      w.steps.at(-1)?.end(IDLE)
      await turn()
    }
  })

  it('each of another tenant: as long as one is quick, or slow, it begins at once', async () => {
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

  it('once they have failed, or were slow, they begin among their like until three went well', async () => {
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

  it('what the database calls failing begins as such, also when it says otherwise later', async () => {
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

describe('a step goes on with another request', () => {
  /** A stream that is known to be quick, with a step under way. */
  async function startQuick(id = 'a'): Promise<Step> {
    const before = w.steps.length
    w.streams.wake(stream(id))
    for (let i = 1; i <= 3; i += 1) (await w.nth(before + i)).end(QUICK)
    return w.nth(before + 4)
  }

  it('when the stream is known to be quick and nobody waits', async () => {
    w.streams.wake(stream('new'))
    expect(w.steps[0]?.mayGoOn()).toBe(false)
    const step = await startQuick()
    expect(step.mayGoOn()).toBe(true)
  })

  it('not while somebody waits for its place; those that wait for another one are no reason', async () => {
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

  it('not before the linger is over, counted from the request before', async () => {
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

  it('not when its bucket was lost, is to be given back, or the server closes', async () => {
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

describe('a bucket that is to be given back', () => {
  it('begins nothing, and is free when what is under way is over', async () => {
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

  it('that stays after all is served as before', async () => {
    w.streams.giveBack(new Set([1]))
    w.streams.wake(stream('a'))
    w.streams.giveBack(new Set())
    w.streams.wake(stream('a'))
    expect(w.ids()).toEqual(['a'])
  })

  it('does not keep its streams waiting for one that hangs: the others go on meanwhile', async () => {
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

  it('begins nothing new once a request could have ended since, told again or not', async () => {
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
