/**
 * The dispatcher: serves the streams of the buckets whose lease this process holds.
 *
 * At most one request per stream is in flight here; a stream that another process serves at the
 * same time is kept right by its fence (stream-store.ts). Streams wait in turn for one of
 * `concurrency` places. Wake-ups are hints: a sweep finds every active stream within a second.
 */
import type { BucketLeases } from '../platform/db/leases.ts'
import type { Service } from '../platform/service.ts'
import { type DeliverDeps, deliverBatch, type StepResult } from './deliver-batch.ts'
import { discoverStreams, type StreamKey } from './stream-store.ts'
import type { Wakeups } from './wakeups.ts'

export interface DispatcherDeps extends DeliverDeps {
  readonly leases: BucketLeases
  readonly wakeups: Wakeups
  readonly concurrency: number
  /** Least time between the starts of two requests of one stream. */
  readonly lingerMs: number
}

export interface Dispatcher extends Service {
  /** Finds the active streams and does what is due, until nothing is. For tests. */
  runOnce(): Promise<void>
}

const SWEEP_MS = 1_000
const FAULT_PAUSE_MS = 1_000
const STOP_GRACE_MS = 5_000

interface Entry {
  readonly key: StreamKey
  readonly bucket: number
  state: 'ready' | 'running' | 'waiting'
  /** Woken while it ran: it is looked at once more even when it found nothing. */
  isWoken: boolean
  timer?: NodeJS.Timeout
}

export function createDispatcher(deps: DispatcherDeps): Dispatcher {
  const entries = new Map<string, Entry>()
  const ready: Entry[] = []
  const running = new Set<Promise<void>>()
  let abort = new AbortController()
  let sweepTimer: NodeJS.Timeout | undefined
  let sweeping: Promise<void> | undefined
  let unsubscribe = (): void => undefined
  let isStarted = false

  function wake(key: StreamKey, bucket: number): void {
    if (abort.signal.aborted || !deps.leases.owned().has(bucket)) return
    const known = entries.get(key.webhookId)
    if (known !== undefined) {
      known.isWoken = true
      return
    }
    const entry: Entry = { key, bucket, state: 'ready', isWoken: false }
    entries.set(key.webhookId, entry)
    ready.push(entry)
    fill()
  }

  function fill(): void {
    while (running.size < deps.concurrency) {
      const entry = ready.shift()
      if (entry === undefined) return
      const run: Promise<void> = runEntry(entry).finally(() => {
        running.delete(run)
        fill()
      })
      running.add(run)
    }
  }

  async function runEntry(entry: Entry): Promise<void> {
    entry.state = 'running'
    entry.isWoken = false
    const startedMs = performance.now()
    try {
      const result = await deliverBatch(deps, entry.key, abort.signal)
      proceed(entry, result, startedMs)
    } catch (error) {
      deps.log.error({ err: error, webhook_id: entry.key.webhookId }, 'webhook_stream.failed')
      pause(entry, FAULT_PAUSE_MS)
    }
  }

  function proceed(entry: Entry, result: StepResult, startedMs: number): void {
    const isOver = abort.signal.aborted || !deps.leases.owned().has(entry.bucket)
    if (isOver || (result.kind === 'idle' && !entry.isWoken)) forget(entry)
    else if (result.kind === 'wait') pause(entry, result.waitMs)
    else if (result.kind === 'requested')
      pause(entry, deps.lingerMs - (performance.now() - startedMs))
    else pause(entry, 0)
  }

  /** Back in line after `waitMs`. A long wait is left to the sweep: an update may end it early. */
  function pause(entry: Entry, waitMs: number): void {
    if (abort.signal.aborted || waitMs > SWEEP_MS) {
      forget(entry)
      return
    }
    entry.state = 'waiting'
    const resume = () => {
      entry.state = 'ready'
      ready.push(entry)
      fill()
    }
    if (waitMs <= 0) resume()
    else entry.timer = setTimeout(resume, waitMs)
  }

  function forget(entry: Entry): void {
    clearTimeout(entry.timer)
    entries.delete(entry.key.webhookId)
  }

  async function sweep(): Promise<void> {
    const buckets = [...deps.leases.owned()]
    if (buckets.length === 0) return
    for (const found of await discoverStreams(deps.db, buckets)) wake(found, found.bucket)
  }

  function sweepForever(): void {
    clearTimeout(sweepTimer)
    if (!isStarted || sweeping !== undefined) return
    sweeping = sweep()
      .catch((error: unknown) => deps.log.warn({ err: error }, 'webhook_sweep.failed'))
      .finally(() => {
        sweeping = undefined
        if (isStarted) sweepTimer = setTimeout(sweepForever, SWEEP_MS)
      })
  }

  deps.leases.onChange(sweepForever)

  return {
    name: 'dispatcher',
    async start() {
      if (isStarted) return
      isStarted = true
      abort = new AbortController()
      unsubscribe = deps.wakeups.onWake((streams) => {
        for (const stream of streams) wake(stream, stream.bucket)
      })
      sweepForever()
    },
    async stop() {
      isStarted = false
      unsubscribe()
      clearTimeout(sweepTimer)
      await sweeping
      clearTimeout(sweepTimer)
      ready.length = 0
      for (const entry of entries.values()) clearTimeout(entry.timer)
      // A request that is under way may finish: its receiver has seen it.
      const finished = Promise.all(running)
      const grace = setTimeout(() => abort.abort(), STOP_GRACE_MS)
      await finished
      clearTimeout(grace)
      abort.abort()
      entries.clear()
      await deps.settlements.idle()
    },
    async runOnce() {
      await sweep()
      while (running.size > 0) await Promise.all(running)
    },
  }
}
