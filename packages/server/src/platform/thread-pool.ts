/**
 * Work that a tenant's content could make long or large is done in threads of its own, below hard
 * limits of time and memory: whatever it does, the event loop goes on, and so do other tenants.
 *
 * A thread is a module that answers each message with one, and says `ready` first. It has one job at
 * a time; one that overruns a limit is ended with its thread, and the next job gets a new one. A
 * caller has one thread at most, and callers take turns (`gate.ts`). Threads begin with the first job
 * and do not keep the process alive.
 *
 * The limit of time is when the caller is answered. The thread ends when it can: a long built-in, such
 * as `replaceAll` of megabytes, is not interrupted. Beside the threads at work as many may be ending, so
 * that these are in nobody's way; with more, fewer work. Until its thread has ended a caller has no other.
 */
import { type ResourceLimits, Worker } from 'node:worker_threads'
import { ApiError } from './errors.ts'
import { createGate, takePlace } from './gate.ts'
import { inTime } from './in-time.ts'
import type { Service } from './service.ts'

export const threadReady = 'ready'

export type ThreadOutcome<Output> =
  | { readonly kind: 'done'; readonly output: Output }
  | { readonly kind: 'overran'; readonly limit: 'time' | 'memory' }

export interface ThreadPool<Input, Output> extends Service {
  /** Throws 429 `rate_limited` when too much of this caller's waits, 503 when stopped. */
  run(
    caller: string,
    input: Input,
    /** Parts of it that are handed over, and the caller's no longer. */
    handedOver?: readonly ArrayBuffer[],
  ): Promise<ThreadOutcome<Output>>
}

export interface ThreadPoolOptions {
  readonly name: string
  readonly module: URL
  /** What the thread's module finds as its `workerData`. */
  readonly data?: unknown
  readonly threads: number
  /** For one job, from when its thread has it. */
  readonly timeoutMs: number
  readonly resourceLimits: ResourceLimits
  readonly waitingPerCallerMax: number
}

/** Of a machine that is busy; a thread takes about 50 ms. */
const READY_MS_MAX = 30_000
/** What has not ended by then when the pool is stopped is left to itself. */
const STOP_MS_MAX = 1_000

interface Thread<Input, Output> {
  run(input: Input, handedOver: readonly ArrayBuffer[]): Promise<ThreadOutcome<Output>>
  end(): Promise<unknown>
  /** By itself, or because it was ended. */
  readonly hasEnded: boolean
}

export function createThreadPool<Input, Output>(o: ThreadPoolOptions): ThreadPool<Input, Output> {
  const common = { name: o.name, atOncePerCallerMax: 1, waitingPerCallerMax: o.waitingPerCallerMax }
  /** A caller's place is taken until its thread can be another's, or has ended. */
  const places = createGate({ ...common, atOnceMax: 2 * o.threads })
  /** Of those that have a place, those at work. */
  const work = createGate({ ...common, atOnceMax: o.threads })
  const idle: Thread<Input, Output>[] = []
  const all = new Set<Thread<Input, Output>>()
  const ending = new Set<() => void>()
  let isStopped = false

  function begin(): Thread<Input, Output> {
    const thread = createThread<Input, Output>(o)
    all.add(thread)
    return thread
  }

  /** One may have ended while nobody waited for it. */
  function nextIdle(): Thread<Input, Output> | undefined {
    for (let next = idle.pop(); next !== undefined; next = idle.pop()) {
      if (!next.hasEnded) return next
      all.delete(next)
    }
    return undefined
  }

  function end(thread: Thread<Input, Output>, leave: () => void): void {
    if (isStopped) leave()
    ending.add(leave)
    void thread.end().then(() => {
      all.delete(thread)
      ending.delete(leave)
      leave()
    })
  }

  async function runOne(
    input: Input,
    handedOver: readonly ArrayBuffer[],
    leave: () => void,
  ): Promise<ThreadOutcome<Output>> {
    let thread: Thread<Input, Output> | undefined
    let isUsable = false
    try {
      if (isStopped) throw new ApiError('unavailable')
      thread = nextIdle() ?? begin()
      const outcome = await thread.run(input, handedOver)
      isUsable = outcome.kind === 'done' && !isStopped
      return outcome
    } catch (error) {
      throw isStopped ? new ApiError('unavailable') : error
    } finally {
      if (isUsable && thread !== undefined) idle.push(thread)
      if (isUsable || thread === undefined) leave()
      else end(thread, leave)
    }
  }

  return {
    name: o.name,
    async start() {
      isStopped = false
    },
    async stop() {
      isStopped = true
      idle.length = 0
      const ended = Promise.all([...all].map((thread) => thread.end()))
      // Who waits for one to end is refused now.
      for (const leave of ending) leave()
      await inTime(ended, STOP_MS_MAX).catch(() => undefined)
      all.clear()
    },
    async run(caller, input, handedOver = []) {
      const leave = await takePlace(places, caller)
      return work.run(caller, () => runOne(input, handedOver, leave))
    },
  }
}

function createThread<Input, Output>(o: ThreadPoolOptions): Thread<Input, Output> {
  const worker = new Worker(o.module, {
    name: o.name,
    workerData: o.data,
    resourceLimits: o.resourceLimits,
    // It has no business with the process's configuration and its secrets.
    env: {},
    execArgv: [],
  })
  worker.unref()
  let hasEnded = false
  let settle: { resolve: (message: unknown) => void; reject: (error: Error) => void } | undefined
  worker.on('message', (message) => settle?.resolve(message))
  // Either may come alone; the first tells more.
  worker.on('error', (error) => settle?.reject(error))
  worker.on('exit', (code) => {
    hasEnded = true
    settle?.reject(new Error(`the thread ended with code ${code}`))
  })

  /** The next message; undefined when it takes too long. */
  function next(timeoutMs: number): Promise<unknown> {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>()
    settle = { resolve, reject }
    const timer = setTimeout(() => resolve(undefined), timeoutMs)
    return promise.finally(() => {
      clearTimeout(timer)
      settle = undefined
    })
  }

  const ready = next(READY_MS_MAX).then((message) => {
    if (message !== threadReady) throw new Error(`${o.name}: the thread did not begin`)
  })
  // Whoever runs the first job is told.
  ready.catch(() => undefined)

  return {
    async run(input, handedOver) {
      await ready
      worker.postMessage(input, handedOver)
      try {
        const output = await next(o.timeoutMs)
        if (output === undefined) return { kind: 'overran', limit: 'time' }
        // Thread and caller are given the same types by whoever makes the pool.
        return { kind: 'done', output: output as Output }
      } catch (error) {
        if (isOutOfMemory(error)) return { kind: 'overran', limit: 'memory' }
        throw error
      }
    },
    end() {
      settle?.reject(new Error('the thread is ended'))
      return worker.terminate()
    },
    get hasEnded() {
      return hasEnded
    },
  }
}

function isOutOfMemory(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY'
}
