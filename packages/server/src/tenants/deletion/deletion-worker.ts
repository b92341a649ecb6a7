/**
 * Removes everything of tenants that are being deleted (docs/reference/operator.md#deletion): table after table, in
 * pieces of a bounded size, with a rest as long as the piece took, so that others have the database at least half
 * of the time.
 *
 * Nothing is remembered between pieces: a process that goes on after another begins with the first table, and
 * finds it empty. The tenant's own row goes last, when a whole round has found nothing and what was under way at
 * the beginning has ended. A round that found something is followed by a rest: what other processes read of it
 * before, and still hold, they have forgotten by the next one.
 */
import { setTimeout } from 'node:timers/promises'
import {
  type Db,
  isForeignKeyViolation,
  isUndefinedTable,
  type Queryable,
} from '../../platform/db/index.ts'
import type { Logger } from '../../platform/log.ts'
import { createLoop, type Loop } from '../../platform/work/loop.ts'
import {
  claimDeletion,
  type Deletion,
  endDeletion,
  putOffDeletions,
  readAgeMs,
  renewDeletions,
} from './deletion-store.ts'
import { deleteRows, listLeaves } from './row-store.ts'

export interface DeletionDeps {
  readonly db: Db
  readonly log: Logger
  /** Every table with rows of tenants but their own, in the order in which they are emptied. */
  readonly tables: readonly string[]
  /** Removes members of a tenant, and people who are nobody's members then. Answers how many members went. */
  readonly removeMembers: (q: Queryable, tenantId: string, limit: number) => Promise<number>
  /** Shorter and smaller ones, for tests. */
  readonly settleMs?: number
  readonly piece?: number
}

const SWEEP_MS = 10_000
const PIECE = 1_000
const LEASE_MS = 60_000
const RENEW_MS = 15_000
/** Then the next tenant has its turn. */
const TURN_MS = 5 * 60_000
const REST_MS_MAX = 1_000
/**
 * Longer than a request lasts that was let in before (`requestMs` of platform/http), and its work; and than what
 * trackers hold in memory (createKnownCopies).
 */
const SETTLE_MS = 3 * 60_000

type RoundEnd = 'empty' | 'removed' | 'in use' | 'stopped'
/** Of a piece whose rows others refer to. */
const IN_USE = -1
const IN_USE_WAIT_MS = 1_000

export function createDeletionWorker(deps: DeletionDeps): Loop & { runOnce(): Promise<void> } {
  const { db, log, settleMs = SETTLE_MS } = deps

  async function pass(mayGoOn: () => boolean): Promise<void> {
    while (mayGoOn()) {
      const deletion = await db.transaction((tx) => claimDeletion(tx, LEASE_MS))
      if (deletion === undefined) return
      await serve(deletion, mayGoOn)
    }
  }

  async function serve(deletion: Deletion, mayGoOn: () => boolean): Promise<void> {
    const end = await removeRound(deps, deletion, mayGoOn)
    const leftMs = settleMs - (await readAgeMs(db, deletion))
    if (end === 'empty' && leftMs <= 0) {
      const isEnded = await db.transaction((tx) => endDeletion(tx, deletion))
      if (isEnded) log.info({ tenant_id: deletion.tenantId }, 'tenant.deleted')
      return
    }
    const waits = { empty: leftMs, removed: settleMs, 'in use': IN_USE_WAIT_MS, stopped: 0 }
    const waitMs = waits[end]
    await db.transaction((tx) => putOffDeletions(tx, [{ ...deletion, waitMs, isTry: false }]))
  }

  const loop = createLoop({
    ...{ name: 'tenant deletions', log, failed: 'tenant_deletion.failed', sweepMs: SWEEP_MS },
    pass,
  })
  return { ...loop, runOnce: () => pass(() => true) }
}

/** One look at every table. */
async function removeRound(
  deps: DeletionDeps,
  deletion: Deletion,
  mayGoOn: () => boolean,
): Promise<RoundEnd> {
  const { db, piece = PIECE } = deps
  const { tenantId } = deletion
  const startedMs = performance.now()
  let renewedMs = startedMs
  let end: RoundEnd = 'empty'

  /** False, when the turn is over. */
  async function rest(tookMs: number): Promise<boolean> {
    await setTimeout(Math.min(tookMs, REST_MS_MAX))
    if (performance.now() - renewedMs > RENEW_MS) {
      renewedMs = performance.now()
      await db.transaction((tx) => renewDeletions(tx, [deletion], LEASE_MS))
    }
    return mayGoOn() && performance.now() - startedMs < TURN_MS
  }

  /** False, when the turn is over. */
  async function empty(remove: () => Promise<number>): Promise<boolean> {
    for (;;) {
      const begunMs = performance.now()
      const removed = await remove()
      if (removed === IN_USE) end = 'in use'
      if (removed <= 0) return true
      if (end === 'empty') end = 'removed'
      if (!(await rest(performance.now() - begunMs))) return false
    }
  }

  if (!(await empty(() => deps.removeMembers(db, tenantId, piece)))) return 'stopped'
  for (const table of deps.tables)
    for (const leaf of await listLeaves(db, table)) {
      if (!mayGoOn()) return 'stopped'
      if (!(await empty(() => removePiece(deps, leaf, tenantId, piece)))) return 'stopped'
    }
  return end
}

async function removePiece(
  { db, log }: DeletionDeps,
  leaf: string,
  tenantId: string,
  limit: number,
): Promise<number> {
  try {
    return await deleteRows(db, leaf, tenantId, limit)
  } catch (error) {
    // Retention has dropped its day.
    if (isUndefinedTable(error)) return 0
    // Somebody was let in before, and has made a row that refers to this one. The next round finds both.
    if (!isForeignKeyViolation(error)) throw error
    log.warn({ err: error, tenant_id: tenantId, table: leaf }, 'tenant_deletion.row_in_use')
    return IN_USE
  }
}
