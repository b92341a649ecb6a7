/**
 * Work that content from outside can make long or large runs in threads, below hard limits of processor
 * time, memory and time. Whatever the content does, the event loop goes on, and so do other tenants.
 *
 * A thread is a module that answers jobs (`thread-jobs.ts`), one at a time. A job that overruns a limit is
 * ended with its thread; the next job gets a new thread. A caller has one thread at most, and callers
 * take turns (`concurrency-limiter.ts`). Threads begin with the first job and do not keep the process alive.
 *
 * The caller is answered when a limit is overrun. The thread ends when it can: a long built-in function,
 * such as `replaceAll` of megabytes, is not interrupted. As many threads may be ending as may be at work,
 * so that those that end delay nobody; with more of them, fewer work. Until the thread of a caller has
 * ended, that caller has no other.
 */
import { type ResourceLimits, Worker } from 'node:worker_threads'
import { createConcurrencyLimiter, enterLimiter } from './concurrency-limiter.ts'
import { RefusedError } from './refused-error.ts'
import type { Service } from './service.ts'
import { type ThreadMessage, totalUs } from './thread-jobs.ts'
import { watchJob } from './thread-limits.ts'
import { ignoreThreadJobs, type ThreadJobsObserver } from './thread-observer.ts'
import { waitAtMost, withTimeout } from './timeout.ts'

/** `time` is the last resort, for a job that waits or cannot be looked at. */
export type ThreadLimit = 'cpu' | 'memory' | 'time'

export type ThreadOutcome<Output> =
  | { readonly kind: 'done'; readonly output: Output }
  | { readonly kind: 'overran'; readonly limit: ThreadLimit }

export interface ThreadPool<Input, Output> extends Service {
  /** Throws a `RefusedError` when too much of this caller's waits, or when the pool has stopped. */
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
  /** What one job may use of the processor. */
  readonly cpuMs?: number
  /** How long one job may take on a machine however busy, from when its thread has it. */
  readonly timeMs?: number
  readonly resourceLimits: ResourceLimits
  readonly waitingPerCallerMax: number
  /** Is told what came of each job. */
  readonly observer?: ThreadJobsObserver | undefined
}

const CPU_MS_MAX = 2_000
const TIME_MS_MAX = 30_000
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
  const places = createConcurrencyLimiter({ ...common, atOnceMax: 2 * o.threads })
  /** Of those that have a place, those at work. */
  const work = createConcurrencyLimiter({ ...common, atOnceMax: o.threads })
  const idle: Thread<Input, Output>[] = []
  const all = new Set<Thread<Input, Output>>()
  const ending = new Set<() => void>()
  const observe = (o.observer ?? ignoreThreadJobs).of(o.name)
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
    caller: string,
    input: Input,
    handedOver: readonly ArrayBuffer[],
    leave: () => void,
  ): Promise<ThreadOutcome<Output>> {
    let thread: Thread<Input, Output> | undefined
    let isUsable = false
    try {
      if (isStopped) throw new RefusedError(o.name)
      thread = nextIdle() ?? begin()
      const outcome = await thread.run(input, handedOver)
      isUsable = outcome.kind === 'done' && !isStopped
      observe(caller, outcome.kind === 'done' ? 'done' : outcome.limit)
      return outcome
    } catch (error) {
      if (isStopped) throw new RefusedError(o.name)
      observe(caller, 'failed')
      throw error
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
      await waitAtMost(ended, STOP_MS_MAX)
      all.clear()
    },
    async run(caller, input, handedOver = []) {
      const leave = await enterLimiter(places, caller)
      return work.run(caller, () => runOne(caller, input, handedOver, leave))
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
  type Said = ThreadMessage<Output>
  let hasEnded = false
  /** Of the processor, by the thread's last message. */
  let usedUs = 0
  let awaited: PromiseWithResolvers<Said['answer']> | undefined
  worker.on('message', ({ answer, cpuUs }: Said) => {
    usedUs = cpuUs
    awaited?.resolve(answer)
  })
  // Either may come alone; the first tells more.
  worker.on('error', (error) => awaited?.reject(error))
  worker.on('exit', (code) => {
    hasEnded = true
    awaited?.reject(new Error(`the thread ended with code ${code}`))
  })

  function next(): PromiseWithResolvers<Said['answer']> {
    awaited = Promise.withResolvers()
    return awaited
  }

  const ready = withTimeout(next().promise, READY_MS_MAX)
  // The caller of the first job gets the error.
  ready.catch(() => undefined)

  async function readCpuMs(): Promise<number> {
    return (totalUs(await worker.cpuUsage()) - usedUs) / 1_000
  }

  return {
    async run(input, handedOver) {
      await ready
      const { promise, reject } = next()
      worker.postMessage(input, handedOver)
      const stopWatching = watchJob(
        { cpuMs: o.cpuMs ?? CPU_MS_MAX, timeMs: o.timeMs ?? TIME_MS_MAX },
        { readCpuMs, over: (limit) => reject(new OverrunError(limit)) },
      )
      try {
        const answer = await promise
        if (answer === undefined) throw new Error(`${o.name}: a thread was ready twice`)
        return { kind: 'done', output: answer.output }
      } catch (error) {
        if (error instanceof OverrunError) return { kind: 'overran', limit: error.limit }
        if (isOutOfMemory(error)) return { kind: 'overran', limit: 'memory' }
        throw error
      } finally {
        stopWatching()
        awaited = undefined
      }
    },
    end() {
      awaited?.reject(new Error('the thread is ended'))
      return worker.terminate()
    },
    get hasEnded() {
      return hasEnded
    },
  }
}

class OverrunError extends Error {
  readonly limit: 'cpu' | 'time'
  constructor(limit: 'cpu' | 'time') {
    super(`the job overran its limit of ${limit}`)
    this.limit = limit
  }
}

function isOutOfMemory(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY'
}
