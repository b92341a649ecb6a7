/**
 * Group commit: callers that arrive while a commit is in flight share the next one.
 *
 * One flush then serves many callers, which is what makes durable writes fast. Each caller
 * gets its own result, or its own error: a group that the database refuses is run again item by item, so
 * that one bad item fails alone; so is one that took too long, as a lock of one row may delay all. When the database is away, all callers of the group are told so, and nothing is
 * repeated: whether a lost commit happened is not known here. Items of two groups in flight have no order.
 */
import { createFairQueue } from '@postrider/runtime/fair-queue'
import { isConflict, isDatabaseAway, isStatementTimeout } from './errors.ts'
import type { Db, TransactionOptions, Tx } from './statement.ts'

export interface GroupCommit<I, R> {
  add(item: I): Promise<R>
  /** Resolves when nothing waits and nothing is in flight. */
  idle(): Promise<void>
}

interface Waiter<I, R> {
  /** As the turns name it; empty without turns. */
  readonly tenantId: string
  readonly item: I
  readonly resolve: (result: R) => void
  readonly reject: (error: unknown) => void
}

/** Two groups may lock the same rows in different orders. */
const conflictAttemptsMax = 3
/** Items of one group that may each take too long alone before the rest is told so too. */
const timeoutsMax = 2

export interface GroupCommitOptions<I, R> {
  readonly db: Db
  readonly itemsMax: number
  /** Of what one commit holds together: as many as fit, one in any case. */
  readonly size?: { readonly of: (item: I) => number; readonly max: number }
  /** Whose item it is. With it, tenants take turns in each group; without it, the first come is the first served. */
  readonly tenantOf?: (item: I) => string
  /** Commits in flight at once. Two, the default, do 1.6 times the work of one at 64 callers; three do less. */
  readonly parallel?: number
  run(tx: Tx, items: readonly I[]): Promise<readonly R[]>
  /** What a group did together, once it is committed. Must not throw. */
  readonly committed?: (results: readonly R[]) => void
  /** A commit is on disk before its items learn of it, which is the default. */
  readonly isFlushed?: boolean
}

export function createGroupCommit<I, R>(o: GroupCommitOptions<I, R>): GroupCommit<I, R> {
  const parallel = o.parallel ?? 2
  const { tenantOf } = o
  /** In the order in which they are committed. */
  let waiting: Waiter<I, R>[] = []
  /** With turns: those whose turn has not come. */
  const turns = createFairQueue<Waiter<I, R>>()
  let inFlight = 0
  let isScheduled = false
  let idleListeners: (() => void)[] = []

  function schedule() {
    if (isScheduled || inFlight >= parallel) return
    isScheduled = true
    // At the end of this turn of the event loop: callers woken by the same batch of sockets share a commit.
    setImmediate(() => {
      isScheduled = false
      startGroups()
    })
  }

  function startGroups() {
    while (inFlight < parallel && fillLine() > 0) {
      const count = countOfGroup()
      const group = waiting.slice(0, count)
      waiting = waiting.slice(count)
      inFlight += 1
      void settle(o, group).finally(() => {
        inFlight -= 1
        if (fillLine() > 0) return startGroups()
        if (inFlight > 0) return
        for (const listener of idleListeners) listener()
        idleListeners = []
      })
    }
  }

  /** As many as a group may hold: what comes later has its turn before the rest. Answers how many there are. */
  function fillLine(): number {
    while (waiting.length < o.itemsMax) {
      const next = turns.take()
      if (next === undefined) break
      waiting.push(next)
    }
    return waiting.length
  }

  function countOfGroup(): number {
    const count = Math.min(waiting.length, o.itemsMax)
    if (o.size === undefined) return count
    let size = 0
    for (const [i, { item }] of waiting.slice(0, count).entries()) {
      size += o.size.of(item)
      if (i > 0 && size > o.size.max) return i
    }
    return count
  }

  return {
    add: (item) =>
      new Promise<R>((resolve, reject) => {
        const waiter = { tenantId: tenantOf?.(item) ?? '', item, resolve, reject }
        if (tenantOf === undefined) waiting.push(waiter)
        else turns.add(waiter)
        schedule()
      }),
    idle: () => {
      if (waiting.length === 0 && turns.size === 0 && inFlight === 0) return Promise.resolve()
      return new Promise((resolve) => idleListeners.push(resolve))
    },
  }
}

/** Never rejects: every waiter has its answer when this ends. Answers what a single item failed with. */
async function settle<I, R>(
  o: GroupCommitOptions<I, R>,
  group: readonly Waiter<I, R>[],
  attempt = 1,
): Promise<unknown> {
  let results: readonly R[]
  try {
    results = await commitGroup(o, group)
  } catch (error) {
    if (group.length === 1 && isConflict(error) && attempt < conflictAttemptsMax)
      return settle(o, group, attempt + 1)
    if (group.length === 1 || isDatabaseAway(error)) {
      for (const waiter of group) waiter.reject(error)
      return error
    }
    await settleOneByOne(o, group)
    return undefined
  }
  for (const [index, waiter] of group.entries()) waiter.resolve(results[index] as R)
  o.committed?.(results)
  return undefined
}

async function settleOneByOne<I, R>(
  o: GroupCommitOptions<I, R>,
  group: readonly Waiter<I, R>[],
): Promise<void> {
  let timeouts = 0
  for (const [index, waiter] of group.entries()) {
    const error = await settle(o, [waiter])
    if (isStatementTimeout(error)) timeouts += 1
    if (timeouts < timeoutsMax) continue
    for (const rest of group.slice(index + 1)) rest.reject(error)
    return
  }
}

function commitGroup<I, R>(
  o: GroupCommitOptions<I, R>,
  group: readonly Waiter<I, R>[],
): Promise<readonly R[]> {
  const items = group.map((waiter) => waiter.item)
  const isFlushed = o.isFlushed ?? true
  const options: TransactionOptions = isFlushed ? {} : { synchronousCommit: 'off' }
  return o.db.transaction(async (tx) => {
    const results = await o.run(tx, items)
    if (results.length !== group.length)
      throw new Error(`Group commit: ${results.length} results for ${group.length} items`)
    return results
  }, options)
}
