/**
 * Retention: day partitions leave when every row in them is older than `POSTRIDER_RETENTION`
 * (docs/reference/running.md#retention), a bounded number a round, by one process at a time.
 *
 * Tables that refer to each other leave day by day together, and a day of which something is
 * unfinished stays until that has ended.
 */

import type { Service } from '@postrider/runtime/service'
import type { Clock } from '../../clock.ts'
import type { Logger } from '../../log.ts'
import type { Metrics } from '../../metrics.ts'
import { createLoop } from '../../work/loop.ts'
import { type DayPartition, dropPartitions, type PartitionDropper } from './partitions-drop.ts'

/** Tables whose rows of one day belong together. */
export interface RetentionGroup {
  readonly tables: readonly string[]
  /** Where it is not that of all others. */
  readonly retentionMs?: number
  /** Whether something unfinished refers to that past day. Once it says no, it stays so. */
  isDayNeeded?(day: string): Promise<boolean>
}

export interface RetentionRound {
  /** Names of partitions. */
  readonly dropped: readonly string[]
  /** Still read by somebody; gone on with in the next round. */
  readonly waiting: readonly string[]
  readonly needed: readonly string[]
  /** Not got to in this round. */
  readonly left: number
}

export interface Retention extends Service {
  /** `busy`: another process is at it. */
  runOnce(): Promise<RetentionRound | 'busy'>
}

const INTERVAL_MS = 10 * 60_000
/** When a lock was busy, or more is left than one round takes. */
const SOON_MS = 60_000
const DROPS_MAX = 100

export interface RetentionDeps {
  readonly databaseUrl: string
  /** Throws when this program must not touch the database any more. */
  readonly check?: () => void
  readonly retentionMs: number
  readonly groups: readonly RetentionGroup[]
  readonly clock: Pick<Clock, 'now'>
  readonly log: Logger
  readonly metrics: Metrics
  readonly dropsMax?: number
  readonly lockTimeoutMs?: number
}

export function createRetention(deps: RetentionDeps): Retention {
  const { log } = deps
  const dropOld = createDropping(deps)
  const overdue = deps.metrics.gauge(
    'partitions_overdue',
    'Day partitions older than the retention that are still there: needed by unfinished work, or waiting for a long transaction or the next round',
    ['reason'],
  )

  async function runOnce(mayGoOn = () => true): Promise<RetentionRound | 'busy'> {
    deps.check?.()
    const o = {
      url: deps.databaseUrl,
      log,
      ...(deps.lockTimeoutMs === undefined ? {} : { lockTimeoutMs: deps.lockTimeoutMs }),
    }
    const round = await dropPartitions(o, (dropper) => dropOld(dropper, mayGoOn))
    const counts = round === 'busy' ? undefined : round
    overdue.set({ reason: 'needed' }, counts?.needed.length ?? 0)
    overdue.set({ reason: 'waiting' }, (counts?.waiting.length ?? 0) + (counts?.left ?? 0))
    return round
  }

  const loop = createLoop({
    ...{ name: 'retention', log, failed: 'retention.failed' },
    ...{ sweepMs: INTERVAL_MS, backOffMs: SOON_MS },
    async pass(mayGoOn) {
      const round = await runOnce(mayGoOn)
      if (round !== 'busy' && round.waiting.length + round.left > 0) loop.wake(SOON_MS)
    },
  })

  return { ...loop, runOnce: () => runOnce() }
}

/** Drops what is old and not needed, up to so many partitions in a round. */
function createDropping(deps: RetentionDeps) {
  const { log, dropsMax = DROPS_MAX } = deps
  const droppedTotal = deps.metrics.counter(
    'partitions_dropped_total',
    'Day partitions that retention has dropped',
    ['table'],
  )
  for (const table of deps.groups.flatMap((group) => group.tables)) droppedTotal.inc({ table }, 0)

  function ageOf(group: RetentionGroup): number {
    return group.retentionMs ?? deps.retentionMs
  }

  async function dropOld(
    dropper: PartitionDropper,
    mayGoOn: () => boolean,
  ): Promise<RetentionRound> {
    const old: DayPartition[] = []
    const now = deps.clock.now()
    for (const [ageMs, groups] of Map.groupBy(deps.groups, ageOf)) {
      const tables = groups.flatMap((group) => group.tables)
      old.push(...(await dropper.listOlderThan({ tables, ageMs, now })))
    }
    const isNeeded = createNeedCheck(deps.groups)
    const dropped: string[] = []
    const waiting: string[] = []
    const needed: string[] = []
    const locked = new Set<string>()
    let left = 0
    for (const partition of old) {
      if (!mayGoOn() || dropped.length >= dropsMax || locked.has(partition.table)) left += 1
      else if (await isNeeded(partition)) needed.push(partition.name)
      else if (await dropOne(dropper, partition)) dropped.push(partition.name)
      else {
        // A table can have one partition between attached and detached.
        locked.add(partition.table)
        waiting.push(partition.name)
      }
    }
    return { dropped, waiting, needed, left }
  }

  async function dropOne(dropper: PartitionDropper, partition: DayPartition): Promise<boolean> {
    const startedMs = performance.now()
    const result = await dropper.drop(partition)
    const fields = {
      table: partition.table,
      partition: partition.name,
      day: partition.day,
      bytes: partition.bytes,
      duration_ms: Math.round(performance.now() - startedMs),
    }
    log.info(fields, result === 'dropped' ? 'day_partition.dropped' : 'day_partition.held_up')
    if (result === 'dropped') droppedTotal.inc({ table: partition.table })
    return result === 'dropped'
  }

  return dropOld
}

/** Asks once for each group and day. What is on its way out is past the question. */
function createNeedCheck(groups: readonly RetentionGroup[]) {
  const answers = new Map<string, Promise<boolean>>()
  return async ({ table, day, state }: DayPartition): Promise<boolean> => {
    const group = groups.findIndex(({ tables }) => tables.includes(table))
    const ask = groups[group]?.isDayNeeded
    if (ask === undefined || state !== 'attached') return false
    const key = `${group} ${day}`
    const answer = answers.get(key) ?? ask(day)
    answers.set(key, answer)
    return await answer
  }
}
