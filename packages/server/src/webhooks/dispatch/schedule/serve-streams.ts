/**
 * Serves streams: which are known to have something to do, when each takes its next step, and what
 * follows from it. Who may start is decided in `fair-scheduler.ts`.
 *
 * At most one step of a stream is under way here; a stream that another process serves at the same
 * time is kept right by its fence. The first event after idleness goes at once; while there is more,
 * requests of one stream start `lingerMs` apart. What backs off is left to the sweep, which reads the
 * database: an update of the webhook may end the wait early. A stream whose step fails unexpectedly
 * backs off, the longer the more often, and holds no place.
 */
import { DatabaseUnavailableError } from '../../../platform/db/index.ts'
import type { Logger } from '../../../platform/log.ts'
import type { StepResult } from '../deliver-batch.ts'
import type { BucketedStream } from '../stream-store.ts'
import { BACK_OFF_MS, type BackoffCache, createBackoffCache } from './backoff-cache.ts'
import { type BucketHandover, createBucketHandover } from './bucket-handover.ts'
import type { DueStream } from './discover-streams.ts'
import { createEndpointHealth } from './endpoint-health.ts'
import {
  createFairScheduler,
  type EndpointClass,
  type FairScheduler,
  type SchedulerCounts,
  schedulerLimits,
} from './fair-scheduler.ts'
import { createTenantLimiter } from './tenant-limiter.ts'

export interface ServeStreamsDeps {
  readonly log: Logger
  /**
   * One step: what comes next of this stream is sent as one request, and settled. After a request that
   * was accepted quickly, another one may follow within the step when `mayGoOn` says so; the result
   * then tells of the last one only.
   */
  readonly deliver: (
    stream: BucketedStream,
    signal: AbortSignal,
    mayGoOn: () => boolean,
  ) => Promise<StepResult>
  readonly mayServe: (stream: BucketedStream) => boolean
  /** Steps under way at once. */
  readonly concurrency: number
  /** Least time between the starts of two requests of one stream. */
  readonly lingerMs: number
  /** The longest that one request may take. */
  readonly requestMs: number
  /** How long requests under way may last after `close`. */
  readonly stopGraceMs: number
  /** Milliseconds of a clock that never jumps. */
  readonly monotonicMs: () => number
  /** A bucket that is to be given back is free. */
  readonly onFree: () => void
}

export interface StreamServer extends Pick<BucketHandover, 'isFree'> {
  /** It has something to do, or may have. */
  wake(stream: BucketedStream): void
  /** The same, as the database says. */
  find(stream: DueStream): void
  /** Resolves when no stream waits and none is under way. */
  quiet(): Promise<void>
  /** Begins nothing any more. Resolves when what was under way is over. */
  close(): Promise<void>
  open(): void
  /** These buckets, and no others, are to be free soon. */
  giveBack(buckets: ReadonlySet<number>): void
  counts(): SchedulerCounts
}

/** The sweep finds again what has no place here. */
const ENTRIES_MAX = 100_000

/** A stream that is being served: waiting for a place, under way, or waiting for a moment. */
interface Entry {
  readonly tenantId: string
  readonly stream: BucketedStream
  endpointClass: EndpointClass
  /** Of the request under way. */
  startedMs: number
  /** Woken while its step was under way: it is looked at once more even when it found nothing. */
  isWoken: boolean
  timer?: NodeJS.Timeout
}

export function createStreamServer(deps: ServeStreamsDeps): StreamServer {
  const { monotonicMs, lingerMs } = deps
  const scheduler = createFairScheduler<Entry>(schedulerLimits(deps.concurrency))
  const handover = createBucketHandover(deps)
  const endpointHealth = createEndpointHealth()
  const backoffs = createBackoffCache(monotonicMs)
  const entries = createEntries()
  const steps = createStepRunner(deps, handover, backoffs)
  const gate = createGate(deps, handover, scheduler)

  function wake(stream: BucketedStream, waitMs = 0): void {
    const { webhookId } = stream
    const known = entries.get(webhookId)
    if (known !== undefined) known.isWoken = true
    else if (
      gate.mayServe(stream) &&
      !backoffs.isBackingOff(webhookId) &&
      entries.hasPlaceFor(stream)
    )
      resume(entries.add(stream, endpointHealth.of(webhookId)), waitMs)
  }

  function resume(entry: Entry, waitMs: number): void {
    if (!gate.mayServe(entry.stream)) entries.forget(entry)
    else if (waitMs > 0) entry.timer = setTimeout(() => queue(entry), waitMs)
    else queue(entry)
  }

  function queue(entry: Entry): void {
    entry.endpointClass = endpointHealth.of(entry.stream.webhookId)
    scheduler.join(entry)
    fill()
  }

  /** To be called after each change of the lines and of what is under way. */
  function fill(): void {
    for (let entry = scheduler.next(); entry !== undefined; entry = scheduler.next()) {
      if (gate.mayBegin(entry)) steps.track(serve(entry))
      else {
        scheduler.leave(entry)
        entries.forget(entry)
      }
    }
  }

  async function serve(entry: Entry): Promise<void> {
    entry.isWoken = false
    entry.startedMs = monotonicMs()
    const result = await steps.run(entry, gate.mayGoOn)
    scheduler.leave(entry)
    if (result === undefined) entries.forget(entry)
    else proceed(entry, result)
    fill()
  }

  function proceed(entry: Entry, result: StepResult): void {
    const { webhookId } = entry.stream
    if (result.kind === 'requested') endpointHealth.note(webhookId, result)
    const waitMs = waitAfter(result, entry, lingerMs - (monotonicMs() - entry.startedMs))
    if (waitMs === undefined) {
      if (result.kind === 'wait') backoffs.backOff(webhookId)
      entries.forget(entry)
    } else resume(entry, waitMs)
  }

  return {
    wake: (stream) => wake(stream),
    find(stream) {
      if (stream.isFailing) endpointHealth.noteFailing(stream.webhookId)
      backoffs.endBackOff(stream.webhookId)
      wake(stream, stream.waitMs)
    },
    quiet: entries.empty,
    async close() {
      gate.close()
      scheduler.clear()
      await steps.settle()
      entries.clear()
      backoffs.clear()
    },
    open() {
      gate.open()
      steps.open()
    },
    giveBack: handover.close,
    isFree: handover.isFree,
    counts: () => scheduler.counts(),
  }
}

/** What may be served, and what of it may begin a request now. Open until it is closed. */
function createGate(
  deps: Pick<ServeStreamsDeps, 'mayServe' | 'monotonicMs' | 'lingerMs'>,
  handover: BucketHandover,
  scheduler: Pick<FairScheduler<Entry>, 'isAnyWaitingFor'>,
) {
  const { monotonicMs, lingerMs } = deps
  let isOpen = true

  const mayServe = (stream: BucketedStream) => isOpen && deps.mayServe(stream)
  const mayBegin = (entry: Entry) => mayServe(entry.stream) && handover.mayBegin(entry)

  return {
    mayServe,
    mayBegin,
    /**
     * One more request within the step: only of what is known to be quick, and while nobody waits for
     * its place. Those who wait have their turn first.
     */
    mayGoOn(entry: Entry): boolean {
      const nowMs = monotonicMs()
      const isDue = nowMs - entry.startedMs >= lingerMs
      if (
        !isDue ||
        entry.endpointClass !== 'quick' ||
        !mayBegin(entry) ||
        scheduler.isAnyWaitingFor(entry)
      )
        return false
      entry.startedMs = nowMs
      return true
    },
    close(): void {
      isOpen = false
    },
    open(): void {
      isOpen = true
    },
  }
}

/** Until its next step. Undefined: it is left to the sweep, or until it is woken. */
function waitAfter(
  result: StepResult,
  { isWoken }: Entry,
  lingerLeftMs: number,
): number | undefined {
  if (result.kind === 'requested') return lingerLeftMs
  if (result.kind === 'idle') return isWoken ? 0 : undefined
  return result.waitMs <= BACK_OFF_MS ? result.waitMs : undefined
}

/** The streams that are being served, as many as there is room for. */
function createEntries() {
  const entries = new Map<string, Entry>()
  const tenantLimiter = createTenantLimiter(ENTRIES_MAX, 1)
  let emptyListeners: (() => void)[] = []

  function forget(entry: Entry): void {
    clearTimeout(entry.timer)
    entries.delete(entry.stream.webhookId)
    tenantLimiter.leave(entry.tenantId)
    if (entries.size > 0) return
    for (const listener of emptyListeners) listener()
    emptyListeners = []
  }

  return {
    get: (webhookId: string) => entries.get(webhookId),
    hasPlaceFor: ({ tenantId }: BucketedStream) => tenantLimiter.hasPlaceFor(tenantId),
    add(stream: BucketedStream, endpointClass: EndpointClass): Entry {
      const { tenantId, webhookId } = stream
      const entry: Entry = { tenantId, stream, endpointClass, startedMs: 0, isWoken: false }
      entries.set(webhookId, entry)
      tenantLimiter.enter(tenantId)
      return entry
    },
    forget,
    clear(): void {
      for (const entry of [...entries.values()]) forget(entry)
    },
    /** Resolves when no stream is served. */
    async empty(): Promise<void> {
      if (entries.size > 0) await new Promise<void>((resolve) => emptyListeners.push(resolve))
    },
  }
}

/** Runs steps; a step that fails unexpectedly makes its stream back off. */
function createStepRunner(
  deps: Pick<ServeStreamsDeps, 'deliver' | 'log' | 'stopGraceMs'>,
  handover: BucketHandover,
  backoffs: BackoffCache,
) {
  const running = new Set<Promise<void>>()
  let aborted = new AbortController()

  function reportFault(stream: BucketedStream, error: unknown): void {
    const isOutage = error instanceof DatabaseUnavailableError
    backoffs.fault(stream.webhookId, isOutage)
    const fields = { err: error, tenant_id: stream.tenantId, webhook_id: stream.webhookId }
    if (isOutage) deps.log.warn(fields, 'webhook_stream.interrupted')
    else deps.log.error(fields, 'webhook_stream.failed')
  }

  return {
    /** Undefined when it failed unexpectedly. */
    async run(entry: Entry, mayGoOn: (entry: Entry) => boolean): Promise<StepResult | undefined> {
      const { stream } = entry
      handover.add(entry)
      try {
        const result = await deps.deliver(stream, aborted.signal, () => mayGoOn(entry))
        backoffs.forget(stream.webhookId)
        return result
      } catch (error) {
        reportFault(stream, error)
        return undefined
      } finally {
        handover.remove(entry)
      }
    },
    track(serving: Promise<void>): void {
      const run: Promise<void> = serving.finally(() => running.delete(run))
      running.add(run)
    },
    /** A request that is under way may finish: its receiver has seen it. */
    async settle(): Promise<void> {
      const grace = setTimeout(() => aborted.abort(), deps.stopGraceMs)
      await Promise.all(running)
      clearTimeout(grace)
    },
    open(): void {
      aborted = new AbortController()
    },
  }
}
