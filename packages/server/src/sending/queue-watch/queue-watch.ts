/**
 * Watches the send queue every few seconds, whether metrics are read or not: a scrape costs nothing.
 *
 * Each process measures the buckets that it owns, so the sum over all processes is the whole, and
 * one process tells of a mailer. A mailer's queue is late when two looks in a row find it late, and
 * has caught up when two in a row do not: one warn line when that begins, one line when it is over.
 */

import type { Service } from '@postrider/runtime/service'
import type { LateMailer } from '../../mailers/index.ts'
import { type BucketLeases, type Db, readInOrder } from '../../platform/db/index.ts'
import { bucketOf } from '../../platform/db/leases.ts'
import type { Logger } from '../../platform/log.ts'
import type { Metrics } from '../../platform/metrics.ts'
import { describeDuration } from '../../platform/values/duration.ts'
import { createLoop } from '../../platform/work/loop.ts'
import { queueIdOf } from '../queue/mailer-queue.ts'
import { EXACT_MAX, measureQueue, type QueueFigures } from './measure-queue.ts'
import { countQueues } from './observe-store.ts'

export interface QueueWatch extends Service {
  runOnce(): Promise<void>
  /** For probes, which are public: no ids. Undefined when no queue is late. */
  detail(): string | undefined
}

const INTERVAL_MS = 15_000
/** Where it takes long it is done less often: a twentieth of one connection's time at most. */
const REST_FACTOR = 20
const STATEMENT_TIMEOUT_MS = 5_000
/** In one look. The others are reported by the next. */
const TOLD_MAX = 20

const NOTHING: QueueFigures = { due: 0, waiting: 0, held: 0, oldestDueMs: 0, late: [] }

interface Episode extends LateMailer {
  readonly sinceMs: number
}

export interface QueueWatchDeps {
  readonly db: Db
  readonly leases: Pick<BucketLeases, 'owned'>
  readonly metrics: Metrics
  readonly log: Logger
  /** How far rows are counted one by one. */
  readonly exactMax?: number
  /** Milliseconds of a clock that never jumps. */
  readonly monotonicMs?: () => number
}

export function createQueueWatch(deps: QueueWatchDeps): QueueWatch {
  const { db, log, exactMax = EXACT_MAX } = deps
  const monotonicMs = deps.monotonicMs ?? (() => performance.now())
  const show = createGauges(deps.metrics, exactMax)
  const episodes = new Map<string, Episode>()
  let before: ReadonlySet<string> = new Set()

  async function runOnce(): Promise<void> {
    const owned = deps.leases.owned()
    // What this process no longer owns, another one tells of.
    for (const [id, { mailerId }] of episodes)
      if (!owned.has(bucketOf(mailerId))) episodes.delete(id)
    // Without a database too.
    const figures = owned.size === 0 ? NOTHING : await measure([...owned])
    const late = new Map(figures.late.map((one) => [queueIdOf(one), one]))
    for (const [id, episode] of episodes)
      if (!late.has(id) && !before.has(id)) {
        episodes.delete(id)
        log.info({ ...namesOf(episode), duration_ms: sinceOf(episode) }, 'send_queue.caught_up')
      }
    const begun = [...late].filter(([id]) => before.has(id) && !episodes.has(id))
    await tellOf(begun.slice(0, TOLD_MAX))
    before = new Set(late.keys())
    show(figures, episodes.size)
  }

  async function measure(buckets: readonly number[]): Promise<QueueFigures> {
    return await readInOrder(db, async (tx) => {
      const [, figures] = await Promise.all([
        tx.query(`set local statement_timeout = ${STATEMENT_TIMEOUT_MS}`),
        measureQueue(tx, buckets, exactMax),
      ])
      return figures
    })
  }

  async function tellOf(begun: readonly (readonly [string, LateMailer])[]): Promise<void> {
    if (begun.length === 0) return
    const queues = begun.flatMap(([, { tenantId, mailerId }]) =>
      [false, true].map((isBulk) => ({
        ...{ tenantId, mailerId, isBulk, bucket: bucketOf(mailerId) },
        isHeld: false,
      })),
    )
    const counts = await readInOrder(db, (tx) => countQueues(tx, queues, EXACT_MAX))
    for (const [id, one] of begun) {
      const due = counts
        .filter((queue) => queueIdOf(queue) === id)
        .reduce((sum, queue) => sum + queue.due, 0)
      episodes.set(id, { ...one, sinceMs: monotonicMs() - one.dueForMs })
      log.warn({ ...namesOf(one), oldest_due_ms: Math.round(one.dueForMs), due }, 'send_queue.late')
    }
  }

  function sinceOf({ sinceMs }: Episode): number {
    return Math.round(monotonicMs() - sinceMs)
  }

  const loop = createLoop({
    ...{ name: 'send queue watch', log, failed: 'send_queue.not_observed' },
    ...{ sweepMs: INTERVAL_MS, restFactor: REST_FACTOR, backOffMs: INTERVAL_MS },
    pass: runOnce,
  })

  return {
    ...loop,
    runOnce,
    detail() {
      if (episodes.size === 0) return undefined
      const age = describeDuration(Math.max(...[...episodes.values()].map(sinceOf)))
      const mailers = episodes.size === 1 ? '1 mailer' : `${episodes.size} mailers`
      return `late: ${mailers}, the oldest due mail for ${age}; see postrider mailer list`
    },
  }
}

function namesOf({ tenantId, mailerId, host }: LateMailer): Record<string, unknown> {
  return { tenant_id: tenantId, mailer_id: mailerId, host }
}

function createGauges(
  metrics: Metrics,
  exactMax: number,
): (figures: QueueFigures, late: number) => void {
  const queue = metrics.gauge(
    'send_queue',
    `Recipients in the send queue of the mailers that this process serves: due, waiting for a time to come, or held because their mailer is not active or their tenant is suspended; estimated by a sample above ${exactMax}`,
    ['state'],
  )
  const oldest = metrics.gauge(
    'send_queue_oldest_due_seconds',
    'For how long the oldest due mail has been due; 0 when none is',
  )
  const lates = metrics.gauge(
    'send_queues_late',
    'Mailers whose oldest due mail has been due for over a minute, and for over twice what their limits explain',
  )
  return (figures, late) => {
    for (const state of ['due', 'waiting', 'held'] as const) queue.set({ state }, figures[state])
    oldest.set(figures.oldestDueMs / 1_000)
    lates.set(late)
  }
}
