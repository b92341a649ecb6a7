/**
 * Threads that scan content, each bounded in memory and in the time that one content may take, so
 * that hostile content costs a thread and not the process. A thread that overran or died is replaced.
 *
 * Threads are started when they are needed and do not keep the process alive by themselves.
 */
import { Worker } from 'node:worker_threads'
import type { ScannedContent, ScanResult } from './content.ts'

/** `overran`: it took too long or too much memory. */
export type ThreadResult = ScanResult | { readonly kind: 'overran' }

export interface ScanThreads {
  /** Rejects when no thread can be had, or when stopped: nothing is known of the content then. */
  scan(content: ScannedContent): Promise<ThreadResult>
  stop(): Promise<void>
}

interface Job {
  readonly content: ScannedContent
  readonly resolve: (result: ThreadResult) => void
  readonly reject: (error: unknown) => void
}

interface Thread {
  readonly worker: Worker
  /** It has run: what ends it from then on is its work. */
  isOnline: boolean
  job: Job | undefined
  timer: NodeJS.Timeout | undefined
}

export function createScanThreads(o: {
  readonly threadsMax: number
  /** For one content, in the thread. */
  readonly timeoutMs: number
  readonly heapMbMax: number
}): ScanThreads {
  const threads = new Set<Thread>()
  const idle: Thread[] = []
  const waiting: Job[] = []
  let isStopped = false

  function start(): Thread {
    const worker = new Worker(new URL('./scan-thread.ts', import.meta.url), {
      resourceLimits: { maxOldGenerationSizeMb: o.heapMbMax, maxYoungGenerationSizeMb: 16 },
    })
    const thread: Thread = { worker, isOnline: false, job: undefined, timer: undefined }
    threads.add(thread)
    worker.once('online', () => {
      thread.isOnline = true
      // Starting a thread takes its time on a busy machine, and says nothing about the content.
      beginTimer(thread)
    })
    worker.on('message', (result: ScanResult) => {
      settle(thread, ({ resolve }) => resolve(result))
      idle.push(thread)
      thread.worker.unref()
      proceed()
    })
    worker.on('error', (error) => {
      settle(thread, thread.isOnline ? overran : ({ reject }) => reject(error))
    })
    worker.once('exit', () => {
      threads.delete(thread)
      if (idle.includes(thread)) idle.splice(idle.indexOf(thread), 1)
      settle(thread, overran)
      proceed()
    })
    return thread
  }

  function settle(thread: Thread, how: (job: Job) => void): void {
    clearTimeout(thread.timer)
    const { job } = thread
    thread.job = undefined
    if (job !== undefined) how(job)
  }

  function beginTimer(thread: Thread): void {
    thread.timer = setTimeout(() => {
      settle(thread, overran)
      void thread.worker.terminate()
    }, o.timeoutMs)
    if (thread.job === undefined) clearTimeout(thread.timer)
  }

  function proceed(): void {
    while (!isStopped && waiting.length > 0) {
      const thread = idle.pop() ?? (threads.size < o.threadsMax ? start() : undefined)
      const job = thread === undefined ? undefined : waiting.shift()
      if (thread === undefined || job === undefined) return
      thread.job = job
      thread.worker.ref()
      if (thread.isOnline) beginTimer(thread)
      thread.worker.postMessage(job.content)
    }
  }

  return {
    scan(content) {
      if (isStopped) return Promise.reject(new Error('the scanner is stopped'))
      const job = Promise.withResolvers<ThreadResult>()
      waiting.push({ content, resolve: job.resolve, reject: job.reject })
      proceed()
      return job.promise
    },
    async stop() {
      isStopped = true
      const stopped = new Error('the scanner is stopped')
      for (const job of waiting.splice(0)) job.reject(stopped)
      for (const thread of threads) settle(thread, ({ reject }) => reject(stopped))
      await Promise.all([...threads].map(({ worker }) => worker.terminate()))
    },
  }
}

function overran({ resolve }: Job): void {
  resolve({ kind: 'overran' })
}
