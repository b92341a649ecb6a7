/**
 * Measures the waiting events every few seconds, whether metrics are read or not: a scrape costs nothing, and
 * a database that is slow is not made slower by it.
 *
 * Each process counts the buckets that it owns, so the sum over all processes is the whole. Exact
 * while that is little work; beyond, the planner's estimate for the table, divided by buckets.
 *
 * A webhook that has failed for five days is named in the log, once by each process that serves it.
 */

import type { Service } from '@postrider/runtime/service'
import { type Db, estimateRows, planByIndex, type Tx } from '../../../platform/db/index.ts'
import { type BucketLeases, bucketCount } from '../../../platform/db/leases.ts'
import type { Logger } from '../../../platform/log.ts'
import type { Metrics } from '../../../platform/metrics.ts'
import { createLoop } from '../../../platform/work/loop.ts'
import {
  countOpen,
  countPending,
  type DormantStream,
  listDormant,
  observeStreams,
  openStatuses,
  type StreamFigures,
  streamConditions,
} from './observe-store.ts'

export interface Backlog extends Service {
  runOnce(): Promise<void>
}

const INTERVAL_MS = 15_000
/** Where it takes long it is done less often: a twentieth of one connection's time at most. */
const REST_FACTOR = 20
const STATEMENT_TIMEOUT_MS = 5_000
const EXACT_MAX = 10_000
const DORMANT_NAMED_MAX = 1_000

interface Figures {
  readonly pending: number
  /** By status. */
  readonly open: ReadonlyMap<string, number>
  readonly streams: readonly StreamFigures[]
  readonly dormant: readonly DormantStream[]
}

const NOTHING: Figures = { pending: 0, open: new Map(), streams: [], dormant: [] }

export function createBacklog(deps: {
  readonly db: Db
  readonly leases: Pick<BucketLeases, 'owned'>
  readonly metrics: Metrics
  readonly log: Logger
  /** How far rows are counted one by one. */
  readonly exactMax?: number
}): Backlog {
  const exactMax = deps.exactMax ?? EXACT_MAX
  const show = createGauges(deps.metrics, exactMax)
  let dormant: ReadonlySet<string> = new Set()

  async function runOnce(): Promise<void> {
    const buckets = [...deps.leases.owned()]
    // Without a database too: what this process no longer owns, another one counts.
    const figures = buckets.length === 0 ? NOTHING : await measure(deps.db, buckets, exactMax)
    show(figures)
    nameDormant(figures.dormant)
  }

  function nameDormant(found: readonly DormantStream[]): void {
    for (const { tenantId, webhookId, failingSince } of found)
      if (!dormant.has(webhookId))
        deps.log.warn(
          { tenant_id: tenantId, webhook_id: webhookId, failing_since: failingSince },
          'webhook_stream.dormant',
        )
    dormant = new Set(found.map((stream) => stream.webhookId))
  }

  const loop = createLoop({
    ...{ name: 'webhook backlog', log: deps.log, failed: 'webhook_backlog.failed' },
    ...{ sweepMs: INTERVAL_MS, restFactor: REST_FACTOR, backOffMs: INTERVAL_MS },
    pass: runOnce,
  })

  return { ...loop, runOnce }
}

function createGauges(metrics: Metrics, exactMax: number): (figures: Figures) => void {
  const estimated = `estimated by the planner's statistics above ${exactMax}`
  const pending = metrics.gauge(
    'webhook_events_pending',
    `Events that wait for their first webhook request, of the webhooks that this process serves; ${estimated}`,
  )
  const ages = metrics.gauge(
    'webhook_pending_age_seconds',
    'Age of the oldest event that waits for its first webhook request, by the state of its webhook; 0 when none waits',
    ['state'],
  )
  const open = metrics.gauge(
    'webhook_deliveries_open',
    `Webhook deliveries that are not settled: pending (first request under way), retrying, or parked (one event that was refused); ${estimated}`,
    ['status'],
  )
  const streams = metrics.gauge(
    'webhook_streams',
    'Webhooks with something to deliver: active, failing (also by refusing every event), dormant (failing for over five days) or paused by the operator',
    ['state'],
  )
  return (figures) => {
    pending.set(figures.pending)
    for (const status of openStatuses) open.set({ status }, figures.open.get(status) ?? 0)
    for (const state of streamConditions) {
      const found = figures.streams.find((one) => one.state === state)
      ages.set({ state }, found?.oldestS ?? 0)
      streams.set({ state }, found?.streams ?? 0)
    }
  }
}

async function measure(db: Db, buckets: readonly number[], exactMax: number): Promise<Figures> {
  return await db.transaction(async (tx) => {
    const share = buckets.length / bucketCount
    const [, , streams, pending, open, dormant] = await Promise.all([
      tx.query(`set local statement_timeout = ${STATEMENT_TIMEOUT_MS}`),
      planByIndex(tx),
      observeStreams(tx, buckets),
      countPending(tx, buckets, exactMax + 1),
      countOpen(tx, buckets, exactMax + 1),
      listDormant(tx, buckets, DORMANT_NAMED_MAX),
    ])
    const openCounted = [...open.values()].reduce((sum, n) => sum + n, 0)
    const openAll = await completed(tx, 'webhooks_open', { counted: openCounted, exactMax, share })
    return {
      streams,
      dormant,
      pending: await completed(tx, 'webhooks_pending', { counted: pending, exactMax, share }),
      open: new Map(
        [...open].map(([status, n]) => [status, Math.round((n * openAll) / openCounted)]),
      ),
    }
  })
}

/** What was counted, or, when that was not all, the estimate; never less than was counted. */
async function completed(
  tx: Tx,
  table: 'webhooks_pending' | 'webhooks_open',
  o: { readonly counted: number; readonly exactMax: number; readonly share: number },
): Promise<number> {
  if (o.counted <= o.exactMax) return o.counted
  return Math.max(o.counted, Math.round((await estimateRows(tx, table)) * o.share))
}
