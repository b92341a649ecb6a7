/**
 * The dispatcher: serves the streams of the buckets whose lease this process holds.
 *
 * At most one request per stream is in flight here; a stream that another process serves at the
 * same time is kept right by its fence (delivery-store.ts). Streams wait in turn for one of
 * `concurrency` places. Wake-ups are hints: a sweep finds every active stream within a second.
 * A stream whose step fails unexpectedly rests, the longer the more often, and holds no place.
 */
import { DatabaseUnavailableError } from '../../platform/db/index.ts'
import type { BucketLeases } from '../../platform/db/leases.ts'
import type { Service } from '../../platform/service.ts'
import { type DeliverDeps, deliverBatch, type StepResult } from './deliver-batch.ts'
import { type BucketedStream, discoverStreams } from './stream-store.ts'
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
const STOP_GRACE_MS = 5_000
const FAULT_REST_MS = 1_000
const FAULT_REST_MS_MAX = 60_000

/** A stream that is being served: in line, running, or waiting for a moment. */
interface Entry {
  readonly stream: BucketedStream
  /** Woken while it ran: it is looked at once more even when it found nothing. */
  isWoken: boolean
  timer?: NodeJS.Timeout
}

interface Fault {
  readonly count: number
  readonly restUntilMs: number
}

export function createDispatcher(deps: DispatcherDeps): Dispatcher {
  const entries = new Map<string, Entry>()
  const faults = new Map<string, Fault>()
  const line: Entry[] = []
  const running = new Set<Promise<void>>()
  let quietListeners: (() => void)[] = []
  let abort = new AbortController()
  let sweepTimer: NodeJS.Timeout | undefined
  let sweeping: Promise<void> | undefined
  let isSweepDue = false
  let stopping: Promise<void> | undefined
  let unsubscribe = (): void => undefined
  let isStarted = false
  /** Takes on work: before `start` too, for `runOnce`; not from `stop` on. */
  let isOpen = true

  const mayServe = (stream: BucketedStream) => isOpen && deps.leases.owned().has(stream.bucket)

  function wake(stream: BucketedStream): void {
    if (!mayServe(stream)) return
    const id = stream.webhookId
    const known = entries.get(id)
    if (known !== undefined) {
      known.isWoken = true
      return
    }
    if ((faults.get(id)?.restUntilMs ?? 0) > performance.now()) return
    const entry: Entry = { stream, isWoken: false }
    entries.set(id, entry)
    queue(entry)
  }

  function queue(entry: Entry): void {
    line.push(entry)
    fill()
  }

  function fill(): void {
    while (running.size < deps.concurrency) {
      const entry = line.shift()
      if (entry === undefined) return
      const run: Promise<void> = serve(entry).finally(() => {
        running.delete(run)
        fill()
      })
      running.add(run)
    }
  }

  async function serve(entry: Entry): Promise<void> {
    const { stream } = entry
    if (!mayServe(stream)) return forget(entry)
    entry.isWoken = false
    const startedMs = performance.now()
    try {
      const result = await deliverBatch(deps, stream, abort.signal)
      faults.delete(stream.webhookId)
      proceed(entry, result, startedMs)
    } catch (error) {
      rest(stream, error)
      forget(entry)
    }
  }

  function proceed(entry: Entry, result: StepResult, startedMs: number): void {
    if (result.kind === 'requested') {
      resume(entry, deps.lingerMs - (performance.now() - startedMs))
    } else if (result.kind === 'idle') {
      if (entry.isWoken) resume(entry, 0)
      else forget(entry)
    } else if (result.waitMs <= SWEEP_MS) {
      resume(entry, result.waitMs)
    } else {
      // Left to the sweep: an update of the webhook may end the wait early.
      forget(entry)
    }
  }

  function resume(entry: Entry, waitMs: number): void {
    if (!mayServe(entry.stream)) forget(entry)
    else if (waitMs <= 0) queue(entry)
    else entry.timer = setTimeout(() => queue(entry), waitMs)
  }

  function forget(entry: Entry): void {
    clearTimeout(entry.timer)
    entries.delete(entry.stream.webhookId)
    if (entries.size > 0) return
    for (const listener of quietListeners) listener()
    quietListeners = []
  }

  /** Nobody else waits for a stream with a fault; without a database all wait, but not longer. */
  function rest(stream: BucketedStream, error: unknown): void {
    const isOutage = error instanceof DatabaseUnavailableError
    const count = (faults.get(stream.webhookId)?.count ?? 0) + (isOutage ? 0 : 1)
    const restMs = isOutage
      ? FAULT_REST_MS
      : Math.min(FAULT_REST_MS * 2 ** (count - 1), FAULT_REST_MS_MAX)
    faults.set(stream.webhookId, { count, restUntilMs: performance.now() + restMs })
    const fields = { err: error, tenant_id: stream.tenantId, webhook_id: stream.webhookId }
    if (isOutage) deps.log.warn(fields, 'webhook_stream.interrupted')
    else deps.log.error(fields, 'webhook_stream.failed')
  }

  async function sweep(): Promise<void> {
    const buckets = [...deps.leases.owned()]
    const found = buckets.length === 0 ? [] : await discoverStreams(deps.db, buckets)
    const active = new Set(found.map((stream) => stream.webhookId))
    for (const id of faults.keys()) if (!active.has(id)) faults.delete(id)
    for (const stream of found) wake(stream)
  }

  function sweepForever(): void {
    clearTimeout(sweepTimer)
    if (!isStarted) return
    isSweepDue = sweeping !== undefined
    if (isSweepDue) return
    sweeping = sweep()
      .catch((error: unknown) => deps.log.warn({ err: error }, 'webhook_sweep.failed'))
      .finally(() => {
        sweeping = undefined
        if (isSweepDue) sweepForever()
        else if (isStarted) sweepTimer = setTimeout(sweepForever, SWEEP_MS)
      })
  }

  async function finish(): Promise<void> {
    unsubscribe()
    clearTimeout(sweepTimer)
    await sweeping
    line.length = 0
    // What runs takes itself out; what waits has nothing under way.
    const grace = setTimeout(() => abort.abort(), STOP_GRACE_MS)
    // A request that is under way may finish: its receiver has seen it.
    await Promise.all(running)
    clearTimeout(grace)
    for (const entry of [...entries.values()]) forget(entry)
    faults.clear()
  }

  // More buckets, more streams. What is no longer ours ends with its next step.
  deps.leases.onChange(sweepForever)

  return {
    name: 'dispatcher',
    async start() {
      if (isStarted) return
      isStarted = true
      await stopping
      if (!isStarted) return
      isOpen = true
      abort = new AbortController()
      unsubscribe = deps.wakeups.onWake((streams) => streams.forEach(wake))
      sweepForever()
    },
    stop() {
      isStarted = false
      isOpen = false
      stopping ??= finish().finally(() => {
        stopping = undefined
      })
      return stopping
    },
    async runOnce() {
      await sweep()
      if (entries.size > 0) await new Promise<void>((resolve) => quietListeners.push(resolve))
    },
  }
}
