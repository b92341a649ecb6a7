/**
 * Serves streams: which are known to have something to do, when each takes its next step, and what
 * follows from it. Who may start is decided in slots.ts.
 *
 * At most one step of a stream is under way here; a stream that another process serves at the same
 * time is kept right by its fence. The first event after idleness goes at once; while there is more,
 * requests of one stream start `lingerMs` apart. What backs off is left to the sweep, which reads the
 * database: an update of the webhook may end the wait early. A stream whose step fails unexpectedly
 * rests, the longer the more often, and holds no place.
 */
import { DatabaseUnavailableError } from '../../platform/db/index.ts'
import type { Logger } from '../../platform/log.ts'
import type { StepResult } from './deliver-batch.ts'
import type { DueStream } from './discover-streams.ts'
import { createSlots, type Pace, type SlotCounts, slotLimits } from './slots.ts'
import type { BucketedStream } from './stream-store.ts'

export interface ServeStreamsDeps {
  readonly log: Logger
  /** One step: what comes next of this stream is sent as one request, and settled. */
  readonly deliver: (stream: BucketedStream, signal: AbortSignal) => Promise<StepResult>
  readonly mayServe: (stream: BucketedStream) => boolean
  /** Steps under way at once. */
  readonly concurrency: number
  /** Least time between the starts of two requests of one stream. */
  readonly lingerMs: number
  /** How long requests under way may last after `close`. */
  readonly stopGraceMs: number
  /** Milliseconds of a clock that never jumps. */
  readonly monotonicMs: () => number
}

export interface StreamServer {
  /** It has something to do, or may have. */
  wake(stream: BucketedStream): void
  /** The same, as the database says. */
  find(stream: DueStream): void
  /** Resolves when nothing is in line, under way or waiting for a moment. */
  quiet(): Promise<void>
  /** Begins nothing any more. Resolves when what was under way is over. */
  close(): Promise<void>
  open(): void
  counts(): SlotCounts
}

/** What is to wait for longer is left to the sweep. */
const WAIT_MS_MAX = 1_000
const FAULT_REST_MS = 1_000
const FAULT_REST_MS_MAX = 60_000
/** The sweep finds again what is forgotten here. */
const ENTRIES_MAX = 100_000
const PACES_MAX = 10_000

/** A stream that is being served: in line, under way, or waiting for a moment. */
interface Entry {
  readonly tenantId: string
  readonly stream: BucketedStream
  pace: Pace
  /** Woken while its step was under way: it is looked at once more even when it found nothing. */
  isWoken: boolean
  timer?: NodeJS.Timeout
}

interface Rest {
  readonly untilMs: number
  /** In a row. None: it backs off, and the database may say otherwise any time. */
  readonly faults: number
}

export function createStreamServer(deps: ServeStreamsDeps): StreamServer {
  const { monotonicMs } = deps
  const slots = createSlots<Entry>({ limits: slotLimits(deps.concurrency), monotonicMs })
  const entries = new Map<string, Entry>()
  const rests = new Map<string, Rest>()
  /** Of streams that are not quick. */
  const paces = new Map<string, Pace>()
  const running = new Set<Promise<void>>()
  let quietListeners: (() => void)[] = []
  let handOver: NodeJS.Timeout | undefined
  let aborted = new AbortController()
  let isOpen = true

  const mayServe = (stream: BucketedStream) => isOpen && deps.mayServe(stream)

  function wake(stream: BucketedStream, waitMs = 0): void {
    const id = stream.webhookId
    const known = entries.get(id)
    if (known !== undefined) {
      known.isWoken = true
      return
    }
    if (!mayServe(stream) || isResting(id) || entries.size >= ENTRIES_MAX) return
    const entry: Entry = { tenantId: stream.tenantId, stream, pace: 'quick', isWoken: false }
    entries.set(id, entry)
    resume(entry, waitMs)
  }

  function isResting(id: string): boolean {
    const rest = rests.get(id)
    if (rest === undefined) return false
    const nowMs = monotonicMs()
    // Faults are counted on while no minute passes without one.
    if (nowMs >= rest.untilMs + (rest.faults > 0 ? FAULT_REST_MS_MAX : 0)) rests.delete(id)
    return nowMs < rest.untilMs
  }

  function resume(entry: Entry, waitMs: number): void {
    if (!mayServe(entry.stream)) forget(entry)
    else if (waitMs > 0) entry.timer = setTimeout(() => queue(entry), waitMs)
    else queue(entry)
  }

  function queue(entry: Entry): void {
    entry.pace = paces.get(entry.stream.webhookId) ?? 'quick'
    slots.join(entry)
    fill()
  }

  /** To be called after each change of the lines and of what is under way. */
  function fill(): void {
    clearTimeout(handOver)
    for (let entry = slots.next(); entry !== undefined; entry = slots.next()) start(entry)
    const inMs = slots.handOverInMs()
    if (inMs !== undefined) handOver = setTimeout(fill, Math.ceil(inMs))
  }

  function start(entry: Entry): void {
    const run: Promise<void> = serve(entry).finally(() => running.delete(run))
    running.add(run)
  }

  async function serve(entry: Entry): Promise<void> {
    entry.isWoken = false
    const startedMs = monotonicMs()
    const result = mayServe(entry.stream) ? await step(entry.stream) : undefined
    slots.leave(entry)
    if (result === undefined) forget(entry)
    else proceed(entry, result, startedMs)
    fill()
  }

  /** Undefined when it failed unexpectedly. */
  async function step(stream: BucketedStream): Promise<StepResult | undefined> {
    try {
      const result = await deps.deliver(stream, aborted.signal)
      rests.delete(stream.webhookId)
      return result
    } catch (error) {
      restAfterFault(stream, error)
      return undefined
    }
  }

  function proceed(entry: Entry, result: StepResult, startedMs: number): void {
    const id = entry.stream.webhookId
    if (result.kind === 'requested') {
      notePace(id, result.isFailing ? 'failing' : result.isSlow ? 'slow' : 'quick')
      resume(entry, deps.lingerMs - (monotonicMs() - startedMs))
    } else if (result.kind === 'idle') {
      if (entry.isWoken) resume(entry, 0)
      else forget(entry)
    } else if (result.waitMs <= WAIT_MS_MAX) {
      resume(entry, result.waitMs)
    } else {
      // Each event that is recorded meanwhile would ask again.
      rests.set(id, { untilMs: monotonicMs() + WAIT_MS_MAX, faults: 0 })
      forget(entry)
    }
  }

  /** The longest known is forgotten first: it then starts quick, once. */
  function notePace(id: string, pace: Pace): void {
    paces.delete(id)
    if (pace === 'quick') return
    paces.set(id, pace)
    const [oldest] = paces.keys()
    if (paces.size > PACES_MAX && oldest !== undefined) paces.delete(oldest)
  }

  /** Nobody else waits for a stream with a fault; without a database all wait, but not longer. */
  function restAfterFault(stream: BucketedStream, error: unknown): void {
    const isOutage = error instanceof DatabaseUnavailableError
    const faults = (rests.get(stream.webhookId)?.faults ?? 0) + (isOutage ? 0 : 1)
    const restMs = isOutage
      ? FAULT_REST_MS
      : Math.min(FAULT_REST_MS * 2 ** (faults - 1), FAULT_REST_MS_MAX)
    rests.set(stream.webhookId, { untilMs: monotonicMs() + restMs, faults })
    const fields = { err: error, tenant_id: stream.tenantId, webhook_id: stream.webhookId }
    if (isOutage) deps.log.warn(fields, 'webhook_stream.interrupted')
    else deps.log.error(fields, 'webhook_stream.failed')
  }

  function forget(entry: Entry): void {
    clearTimeout(entry.timer)
    entries.delete(entry.stream.webhookId)
    if (entries.size > 0) return
    for (const listener of quietListeners) listener()
    quietListeners = []
  }

  return {
    wake: (stream) => wake(stream),
    find(stream) {
      const id = stream.webhookId
      if (stream.isFailing) notePace(id, 'failing')
      else if (paces.get(id) === 'failing') notePace(id, 'quick')
      if (rests.get(id)?.faults === 0) rests.delete(id)
      wake(stream, stream.waitMs)
    },
    async quiet() {
      if (entries.size > 0) await new Promise<void>((resolve) => quietListeners.push(resolve))
    },
    async close() {
      isOpen = false
      clearTimeout(handOver)
      slots.clear()
      // A request that is under way may finish: its receiver has seen it.
      const grace = setTimeout(() => aborted.abort(), deps.stopGraceMs)
      await Promise.all(running)
      clearTimeout(grace)
      for (const entry of [...entries.values()]) forget(entry)
      rests.clear()
    },
    open() {
      isOpen = true
      aborted = new AbortController()
    },
    counts: () => slots.counts(),
  }
}
