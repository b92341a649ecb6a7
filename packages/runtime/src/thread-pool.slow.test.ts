import { execFileSync } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { createThreadPool, type ThreadPool, type ThreadPoolOptions } from './thread-pool.ts'

const pools: ThreadPool<string, string>[] = []
const stuck: Stuck[] = []
afterEach(async () => {
  for (const one of stuck.splice(0)) one.release()
  for (const pool of pools.splice(0)) await pool.stop()
})
function createPool(o: Partial<ThreadPoolOptions> = {}): ThreadPool<string, string> {
  const pool = createThreadPool<string, string>({
    name: 'tests',
    module: new URL('./thread.fixture.ts', import.meta.url),
    threads: 2,
    resourceLimits: { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 16 },
    waitingPerCallerMax: 100,
    ...o,
  })
  pools.push(pool)
  return pool
}

interface Stuck {
  /** A job that is in one call until it is released. */
  readonly job: string
  release(): void
}

function createStuck(): Stuck {
  const directory = mkdtempSync(join(tmpdir(), 'postrider-thread-'))
  const job = join(directory, 'pipe')
  execFileSync('/usr/bin/mkfifo', [job])
  const pipe = openSync(job, 'r+')
  let isReleased = false
  const one: Stuck = {
    job,
    release() {
      if (isReleased) return
      isReleased = true
      rmSync(directory, { recursive: true })
      writeSync(pipe, 'x')
      closeSync(pipe)
    },
  }
  stuck.push(one)
  return one
}

describe('a pool of threads', () => {
  it('answers each job with its own result', async () => {
    const pool = createPool()
    const inputs = Array.from({ length: 50 }, (_, i) => `job ${i}`)
    const outcomes = await Promise.all(inputs.map((input, i) => pool.run(`c${i % 7}`, input)))
    expect(outcomes).toEqual(inputs.map((input) => ({ kind: 'done', output: input.toUpperCase() })))
  })

  it('ends a job that spins at its CPU limit, and gives the next one a new thread', async () => {
    const pool = createPool({ cpuMs: 200, threads: 1 })
    await pool.run('c', 'warm')
    expect(await pool.run('c', 'spin')).toEqual({ kind: 'overran', limit: 'cpu' })
    expect(await pool.run('c', 'after')).toEqual({ kind: 'done', output: 'AFTER' })
  })

  it('counts the CPU time of each job alone', async () => {
    const pool = createPool({ cpuMs: 500, threads: 1 })
    for (let i = 0; i < 4; i += 1)
      expect(await pool.run('c', 'work')).toEqual({ kind: 'done', output: 'WORK' })
  })

  it('does not end a waiting job, however long it waits', async () => {
    const pool = createPool({ cpuMs: 50, threads: 1 })
    const waiting = createStuck()
    const done = pool.run('c', waiting.job)
    const spinning = createPool({ cpuMs: 500, threads: 1 })
    expect(await spinning.run('c', 'spin')).toEqual({ kind: 'overran', limit: 'cpu' })
    waiting.release()
    expect(await done).toMatchObject({ kind: 'done' })
  })

  it('tells its observer the outcome and the caller of each job', async () => {
    const told: string[] = []
    const observer = {
      of: (pool: string) => (caller: string, outcome: string) => {
        told.push(`${pool} ${caller} ${outcome}`)
      },
    }
    const pool = createPool({ cpuMs: 100, threads: 1, observer })
    for (const job of ['a', 'spin']) await pool.run(`of ${job}`, job)
    await pool.run('of throw', 'throw').catch(() => undefined)
    // It computes for a while before its memory is too much.
    await createPool({ threads: 1, observer }).run('of hoard', 'hoard')
    expect(told).toEqual([
      'tests of a done',
      'tests of spin cpu',
      'tests of throw failed',
      'tests of hoard memory',
    ])
  })

  it('ends a job that takes too much memory, and the process goes on', async () => {
    const pool = createPool({ threads: 1 })
    expect(await pool.run('c', 'hoard')).toEqual({ kind: 'overran', limit: 'memory' })
    expect(await pool.run('c', 'after')).toEqual({ kind: 'done', output: 'AFTER' })
  })

  it('reports a defect once', async () => {
    const pool = createPool({ threads: 1 })
    await expect(pool.run('c', 'throw')).rejects.toThrow('a defect')
    await expect(pool.run('c', 'leave')).rejects.toThrow('the thread ended with code 3')
    expect(await pool.run('c', 'after')).toEqual({ kind: 'done', output: 'AFTER' })
  })

  it('gives no job to a thread that ended after the one before', async () => {
    const pool = createPool({ threads: 1 })
    expect(await pool.run('a', 'leave later')).toEqual({ kind: 'done', output: 'LEAVE LATER' })
    await new Promise((resolve) => setTimeout(resolve, 200))
    expect(await pool.run('a', 'next')).toEqual({ kind: 'done', output: 'NEXT' })
  })

  it('reports a module that does not load', async () => {
    const pool = createPool({ module: new URL('./nowhere.ts', import.meta.url) })
    await expect(pool.run('c', 'a')).rejects.toThrow('nowhere.ts')
  })

  it('gives one caller one thread, and another caller another', async () => {
    const pool = createPool()
    const order: string[] = []
    const spinning = pool.run('hostile', 'spin').catch(() => order.push('spun'))
    const second = pool.run('hostile', 'spin').catch(() => undefined)
    for (const input of ['a', 'b', 'c']) {
      expect(await pool.run('other', input)).toMatchObject({ kind: 'done' })
      order.push(input)
    }
    await pool.stop()
    await Promise.all([spinning, second])
    expect(order).toEqual(['a', 'b', 'c', 'spun'])
  })

  it('refuses a job when too many jobs of one caller wait', async () => {
    const pool = createPool({ waitingPerCallerMax: 1 })
    const results = await Promise.allSettled(['a', 'b', 'c'].map((input) => pool.run('c', input)))
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected'])
    expect(results[2]).toMatchObject({ reason: { name: 'RefusedError', full: { quota: 1 } } })
  })

  it('refuses the jobs under way, and later ones, when the pool is stopped', async () => {
    const pool = createPool()
    const running = pool.run('c', 'spin')
    const refused = expect(running).rejects.toMatchObject({ name: 'RefusedError', full: undefined })
    await pool.stop()
    await refused
    await expect(pool.run('c', 'a')).rejects.toMatchObject({
      name: 'RefusedError',
      full: undefined,
    })
    await pool.stop()
    await pool.start()
    expect(await pool.run('c', 'a')).toEqual({ kind: 'done', output: 'A' })
  })

  it('passes nothing of the configuration to its threads', async () => {
    expect(await createPool().run('c', 'env')).toEqual({ kind: 'done', output: [] })
  })
})

describe('a thread that cannot be interrupted', () => {
  const overran = { kind: 'overran', limit: 'time' }
  /** Each gets stuck in a thread that is there already. */
  async function createStuckPool(count: number) {
    const pool = createPool({ threads: 1, timeMs: 1_000 })
    const all: Stuck[] = []
    for (let i = 0; i < count; i += 1) {
      await pool.run('warm', 'up')
      const one = createStuck()
      expect(await pool.run(`hostile ${i}`, one.job)).toEqual(overran)
      all.push(one)
    }
    return { pool, all }
  }

  it('delays no answer, and blocks only its own caller', async () => {
    const { pool, all } = await createStuckPool(1)
    const order: string[] = []
    const next = pool.run('hostile 0', 'after').then(() => order.push('next'))
    for (const input of ['a', 'b']) {
      expect(await pool.run('other', input)).toMatchObject({ kind: 'done' })
      order.push(input)
    }
    order.push('released')
    for (const one of all) one.release()
    await next
    expect(order).toEqual(['a', 'b', 'released', 'next'])
  })

  it('counts towards the maximum of threads', async () => {
    const { pool, all } = await createStuckPool(2)
    const order: string[] = []
    const other = pool.run('other', 'a').then(() => order.push('other'))
    for (let i = 0; i < 2; i += 1) await createPool().run('of another pool', 'a')
    order.push('released')
    for (const one of all) one.release()
    await other
    expect(order).toEqual(['released', 'other'])
  })

  it('does not block the stop of the pool, and waiting jobs are refused', async () => {
    const { pool } = await createStuckPool(1)
    const waiting = expect(pool.run('hostile 0', 'a')).rejects.toMatchObject({
      name: 'RefusedError',
      full: undefined,
    })
    const running = pool.run('other', createStuck().job)
    const cut = expect(running).rejects.toMatchObject({ name: 'RefusedError', full: undefined })
    await pool.stop()
    await Promise.all([waiting, cut])
    await pool.start()
    expect(await pool.run('other', 'a')).toEqual({ kind: 'done', output: 'A' })
  })
})
