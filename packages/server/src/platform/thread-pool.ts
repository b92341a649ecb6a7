/**
 * Work that a tenant's content could make long or large is done in threads of its own, below hard
 * limits of time and memory: whatever it does, the event loop goes on, and so do other tenants.
 *
 * A thread is a module that answers each message with one, and says `ready` first. It has one job at
 * a time; one that overruns a limit is ended with its thread, and the next job gets a new one. A
 * caller has one thread at most, and callers take turns (`gate.ts`). Threads begin with the first job
 * and do not keep the process alive.
 */
import { type ResourceLimits, Worker } from 'node:worker_threads'
import { ApiError } from './errors.ts'
import { createGate } from './gate.ts'
import type { Service } from './service.ts'

export const threadReady = 'ready'

export type ThreadOutcome<Output> =
  | { readonly kind: 'done'; readonly output: Output }
  | { readonly kind: 'overran'; readonly limit: 'time' | 'memory' }

export interface ThreadPool<Input, Output> extends Service {
  /** Throws 429 `rate_limited` when too much of this caller's waits, 503 when stopped. */
  run(caller: string, input: Input): Promise<ThreadOutcome<Output>>
}

export interface ThreadPoolOptions {
  readonly name: string
  readonly module: URL
  readonly threads: number
  /** For one job, from when its thread has it. */
  readonly timeoutMs: number
  readonly resourceLimits: ResourceLimits
  readonly waitingPerCallerMax: number
}

/** Of a machine that is busy; a thread takes about 50 ms. */
const READY_MS_MAX = 30_000

interface Thread<Input, Output> {
  run(input: Input): Promise<ThreadOutcome<Output>>
  end(): Promise<unknown>
}

export function createThreadPool<Input, Output>(o: ThreadPoolOptions): ThreadPool<Input, Output> {
  const gate = createGate({
    name: o.name,
    atOnceMax: o.threads,
    atOncePerCallerMax: 1,
    waitingPerCallerMax: o.waitingPerCallerMax,
  })
  const idle: Thread<Input, Output>[] = []
  const all = new Set<Thread<Input, Output>>()
  let isStopped = false

  function begin(): Thread<Input, Output> {
    const thread = createThread<Input, Output>(o)
    all.add(thread)
    return thread
  }

  return {
    name: o.name,
    async start() {
      isStopped = false
    },
    async stop() {
      isStopped = true
      idle.length = 0
      await Promise.all([...all].map((thread) => thread.end()))
      all.clear()
    },
    run: (caller, input) =>
      gate.run(caller, async () => {
        if (isStopped) throw new ApiError('unavailable')
        const thread = idle.pop() ?? begin()
        let isUsable = false
        try {
          const outcome = await thread.run(input)
          isUsable = outcome.kind === 'done'
          return outcome
        } catch (error) {
          throw isStopped ? new ApiError('unavailable') : error
        } finally {
          if (isUsable && !isStopped) idle.push(thread)
          else {
            all.delete(thread)
            await thread.end()
          }
        }
      }),
  }
}

function createThread<Input, Output>(o: ThreadPoolOptions): Thread<Input, Output> {
  const worker = new Worker(o.module, {
    name: o.name,
    resourceLimits: o.resourceLimits,
    // It has no business with the process's configuration and its secrets.
    env: {},
    execArgv: [],
  })
  worker.unref()
  let settle: { resolve: (message: unknown) => void; reject: (error: Error) => void } | undefined
  worker.on('message', (message) => settle?.resolve(message))
  // Either may come alone; the first tells more.
  worker.on('error', (error) => settle?.reject(error))
  worker.on('exit', (code) => settle?.reject(new Error(`the thread ended with code ${code}`)))

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
    async run(input) {
      await ready
      worker.postMessage(input)
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
    end: () => worker.terminate(),
  }
}

function isOutOfMemory(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY'
}
