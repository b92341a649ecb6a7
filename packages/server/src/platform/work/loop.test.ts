import pino from 'pino'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createLoop, type Loop, type LoopOptions } from './loop.ts'

const SWEEP_MS = 60_000
let loop: Loop
let warnings: string[]

beforeEach(() => {
  vi.useFakeTimers()
  warnings = []
})
afterEach(async () => {
  await loop.stop()
  vi.useRealTimers()
})

function start(pass: LoopOptions['pass'], o: Partial<LoopOptions> = {}): Promise<void> {
  const log = pino({}, { write: (line: string) => warnings.push(JSON.parse(line).msg) })
  const times = { sweepMs: SWEEP_MS, backOffMs: 100, backOffMsMax: 400 }
  loop = createLoop({ name: 'test', log, failed: 'test.failed', ...times, pass, ...o })
  return loop.start()
}

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms)

describe('a loop', () => {
  it('makes a pass at its start, at each sweep and at each wake', async () => {
    let passes = 0
    await start(async () => passes++)
    await pass(0)
    expect(passes).toBe(1)
    await pass(SWEEP_MS)
    expect(passes).toBe(2)
    loop.wake()
    await pass(0)
    expect(passes).toBe(3)
  })

  it('makes one more pass for all wakes during a pass, and never two at a time', async () => {
    let [passes, atOnce, atOnceMax] = [0, 0, 0]
    await start(async () => {
      passes += 1
      atOnce += 1
      atOnceMax = Math.max(atOnceMax, atOnce)
      await new Promise((resolve) => setTimeout(resolve, 50))
      atOnce -= 1
    })
    for (let i = 0; i < 10; i++) loop.wake()
    await pass(1_000)
    expect({ passes, atOnceMax }).toEqual({ passes: 2, atOnceMax: 1 })
  })

  it('makes a pass at the time that a wake names, and leaves later times to the sweep', async () => {
    let passes = 0
    await start(async () => passes++)
    await pass(0)
    loop.wake(300)
    loop.wake(SWEEP_MS + 1)
    await pass(299)
    expect(passes).toBe(1)
    await pass(1)
    expect(passes).toBe(2)
    await pass(SWEEP_MS - 301)
    expect(passes).toBe(2)
  })
})

describe('the sweep', () => {
  it('comes in time, however often the loop is woken', async () => {
    const passes: ('sweep' | 'wake')[] = []
    await start(async (_, isSweep) => passes.push(isSweep ? 'sweep' : 'wake'), { sweepMs: 100 })
    for (let i = 0; i < 12; i++) {
      await pass(10)
      loop.wake()
    }
    await pass(0)
    const wakes = (n: number) => Array(n).fill('wake')
    expect(passes).toEqual(['sweep', ...wakes(9), 'sweep', ...wakes(3)])
  })

  it('comes so many times later as a pass took', async () => {
    const atMs: number[] = []
    const startedMs = performance.now()
    const work = async () => {
      atMs.push(performance.now() - startedMs)
      await new Promise((resolve) => setTimeout(resolve, atMs.length === 1 ? 50 : 5))
    }
    await start(work, { sweepMs: 100, restFactor: 10 })
    await pass(700)
    expect(atMs).toEqual([0, 550, 655])
  })

  it('is the first pass where that has a time of its own', async () => {
    let passes = 0
    await start(async () => passes++, { firstMs: 300 })
    await pass(299)
    expect(passes).toBe(0)
    await pass(1)
    expect(passes).toBe(1)
  })
})

describe('a pass that fails', () => {
  it('is logged, and the loop waits twice as long each time, up to a bound', async () => {
    const atMs: number[] = []
    const startedMs = performance.now()
    await start(
      async () => {
        atMs.push(performance.now() - startedMs)
        throw new Error('no')
      },
      { sweepMs: 10 },
    )
    await pass(1_600)
    expect(atMs).toEqual([0, 100, 300, 700, 1_100, 1_500])
    expect(warnings).toEqual(Array(6).fill('test.failed'))
  })

  it('is not repeated sooner because of a wake', async () => {
    let passes = 0
    await start(async () => {
      passes += 1
      throw new Error('no')
    })
    await pass(0)
    for (let i = 0; i < 5; i++) {
      loop.wake()
      await pass(10)
    }
    expect(passes).toBe(1)
    await pass(50)
    loop.wake()
    await pass(0)
    expect(passes).toBe(2)
  })

  it('is forgotten when the next one succeeds', async () => {
    const atMs: number[] = []
    const startedMs = performance.now()
    const results = ['fails', 'fails', 'works', 'fails', 'works']
    await start(
      async () => {
        atMs.push(performance.now() - startedMs)
        if (results.shift() === 'fails') throw new Error('no')
      },
      { sweepMs: 50 },
    )
    await pass(450)
    expect(atMs).toEqual([0, 100, 300, 350, 450])
  })

  it('is followed by a sweep, and is an error in the log where it is to be', async () => {
    const sweeps: boolean[] = []
    const levels: string[] = []
    const log = pino({}, { write: (line: string) => levels.push(JSON.parse(line).level) })
    const work = async (_: unknown, isSweep: boolean) => {
      sweeps.push(isSweep)
      if (sweeps.length === 2) throw new Error('no')
    }
    await start(work, { log, failedLevel: 'error' })
    await pass(0)
    loop.wake()
    await pass(100)
    expect({ sweeps, levels }).toEqual({ sweeps: [true, false, true], levels: [50] })
  })

  it('backs off as well when its work fails after it', async () => {
    let passes = 0
    await start(async () => passes++, { sweepMs: 10 })
    await pass(0)
    loop.backOff()
    await pass(90)
    expect(passes).toBe(1)
    await pass(10)
    expect(passes).toBe(2)
  })
})

describe('a stop', () => {
  it('waits for the pass under way, aborts it, and lets none begin', async () => {
    let [passes, ended] = [0, 0]
    await start(async (mayGoOn) => {
      passes += 1
      while (mayGoOn()) await new Promise((resolve) => setTimeout(resolve, 10))
      ended += 1
    })
    loop.wake()
    loop.wake(5)
    const stopped = loop.stop()
    await pass(10)
    await stopped
    expect({ passes, ended }).toEqual({ passes: 1, ended: 1 })
    loop.wake()
    await pass(2 * SWEEP_MS)
    expect(passes).toBe(1)
  })

  it('is not needed to wait for the pass under way', async () => {
    let ended = 0
    await start(async () => {
      await new Promise((resolve) => setTimeout(resolve, 50))
      ended += 1
    })
    const settled = loop.settled()
    await pass(50)
    await settled
    expect(ended).toBe(1)
  })

  it('is not final: the loop starts again, with a pass', async () => {
    let passes = 0
    await start(async () => passes++)
    await pass(0)
    await loop.stop()
    await loop.stop()
    await loop.start()
    await pass(0)
    expect(passes).toBe(2)
  })
})
