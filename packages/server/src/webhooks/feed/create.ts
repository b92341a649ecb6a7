/** Makes streamEvents: the reader of this process, its open streams, and their route. */
import { streamsPerKeyMax, streamsPerProcessMax, streamsPerTenantMax } from '@postrider/contract'
import { createConcurrencyLimiter } from '@postrider/runtime/concurrency-limiter'
import type { Service } from '@postrider/runtime/service'
import type { Db } from '../../platform/db/index.ts'
import type { HttpApp } from '../../platform/http/app.ts'
import type { Logger } from '../../platform/log.ts'
import type { Metrics } from '../../platform/metrics.ts'
import { createFeedHub } from './feed-hub.ts'
import { createFrameMemory, FRAME_MEMORY, type FrameMemoryLimits } from './frame-memory.ts'
import { feedRoutes } from './routes.ts'
import { createStreamCounts, type StreamLimits } from './stream-counts.ts'

export interface FeedDeps {
  readonly db: Db
  readonly log: Logger
  readonly metrics: Metrics
  readonly config: { readonly databasePool: number }
  /** Smaller ones, for tests. */
  readonly streamLimits?: StreamLimits
  readonly frameMemory?: FrameMemoryLimits
}

const LIMITS: StreamLimits = {
  perKeyMax: streamsPerKeyMax,
  perTenantMax: streamsPerTenantMax,
  max: streamsPerProcessMax,
}

export interface Feed {
  readonly services: readonly Service[]
  readonly routes: (app: HttpApp) => void
}

export function createFeed(deps: FeedDeps): Feed {
  const { db, log, metrics, streamLimits = LIMITS } = deps
  const memory = createFrameMemory(deps.frameMemory ?? FRAME_MEMORY)
  const hub = createFeedHub({ db, log, memory })
  const counts = createStreamCounts(streamLimits)
  metrics.gaugeRead('event_streams', 'Event streams that are open', () => counts.open)
  const gaps = metrics.counter(
    'event_stream_gaps_total',
    'Gaps that event streams told, because their readers were too slow',
    [],
  )
  const catchUps = createConcurrencyLimiter({
    name: 'stream-reads-at-once',
    // Streams that come back are many after a restart. They wait; others keep their connections.
    atOnceMax: Math.max(1, Math.floor(deps.config.databasePool * 0.25)),
    atOncePerCallerMax: 2,
    waitingPerCallerMax: streamLimits.perTenantMax,
  })
  return {
    services: [hub],
    routes: (app) =>
      feedRoutes(app, {
        db,
        log,
        hub,
        counts,
        memory,
        limiter: catchUps,
        onGap: () => gaps.inc({}),
      }),
  }
}
