/**
 * Applies what waits in the inbox, tenant by tenant in turns: one transaction for some callbacks, in which
 * they are read, applied and deleted. Several processes may do so at once: what one is at, the others
 * pass over.
 *
 * A transaction that the database refuses is divided, down to one callback, and that down to one
 * report: everything but what cannot be applied is. Such a callback is kept aside, with the problem.
 */
import {
  type Db,
  isConflict,
  isDatabaseAway,
  isStatementTimeout,
  readByIndex,
  transactByIndex,
} from '../platform/db/index.ts'
import type { Failpoints } from '../platform/failpoints.ts'
import type { Logger } from '../platform/log.ts'
import type { RelayAdapter } from '../relays/index.ts'
import { type Handled, type HandleReportsDeps, handleReports } from './handle-reports.ts'
import {
  boundRefused,
  deleteCallbacks,
  findWaiting,
  postponeCallback,
  refuseCallback,
  type StoredCallback,
  takeCallbacks,
  type WaitingCallback,
} from './inbox-store.ts'
import type { RelayReport } from './park-store.ts'

export interface ApplyCallbacksDeps extends HandleReportsDeps {
  readonly db: Db
  readonly log: Logger
  readonly failpoints: Failpoints
  readonly adapterOf: (kind: StoredCallback['kind']) => RelayAdapter
  /** After the commit. */
  readonly onHandled: (handled: Handled) => void
  readonly onRefused: (kind: StoredCallback['kind']) => void
}

export interface CallbackApplier {
  /** A bounded piece of what waits; answers how many callbacks that was. */
  runOnce(): Promise<number>
}

const TENANTS_MAX = 16
const OF_EACH_MAX = 8
const BATCH_BYTES_MAX = 512 * 1024
/** One is read while the database works on the other. */
const LANES = 2
/** Reports of one callback that are given up on before the rest of it is. */
const REFUSALS_MAX = 20
const CONFLICTS_MAX = 3
/** What took too long, a lock as a rule, is left alone for so long. */
const POSTPONED_MS = 30_000
/** Of one tenant; the newest. */
const REFUSED_MAX = 200

interface Part {
  readonly from: number
  readonly to: number
}

export function createCallbackApplier(deps: ApplyCallbacksDeps): CallbackApplier {
  const { db, log, failpoints } = deps
  /** Tenants have their turns in their order. */
  let after = ''

  async function findLines(): Promise<WaitingCallback[][]> {
    const o = { tenantsMax: TENANTS_MAX, ofEachMax: OF_EACH_MAX }
    const find = (from: string) => readByIndex(db, (tx) => findWaiting(tx, { after: from, ...o }))
    let found = await find(after)
    if (found.length === 0 && after !== '') found = await find('')
    after = found.at(-1)?.tenantId ?? ''
    return [...Map.groupBy(found, ({ tenantId }) => tenantId).values()]
  }

  /** Applies them all, or throws what kept it from that. */
  async function applyTogether(tenantId: string, batch: readonly WaitingCallback[]) {
    failpoints.hit('callback.before_apply')
    const { handled, count } = await transactByIndex(db, async (tx) => {
      const taken = await takeCallbacks(tx, tenantId, idsOf(batch))
      const reports = taken.flatMap((callback) => readReports(deps, callback))
      const handled = await handleReports(tx, deps, { tenantId, reports })
      await deleteCallbacks(tx, tenantId, idsOf(taken))
      failpoints.hit('callback.before_commit')
      return { handled, count: taken.length }
    })
    failpoints.hit('callback.after_commit')
    deps.onHandled(handled)
    return count
  }

  /** Of one tenant. */
  async function apply(batch: readonly WaitingCallback[]): Promise<number> {
    const [first] = batch
    if (first === undefined) return 0
    try {
      return await withoutConflict(() => applyTogether(first.tenantId, batch))
    } catch (error) {
      if (isDatabaseAway(error)) throw error
      if (batch.length === 1) return await applyAlone(first, error)
      const middle = batch.length >> 1
      return (await apply(batch.slice(0, middle))) + (await apply(batch.slice(middle)))
    }
  }

  /** What is left of it is kept aside. */
  async function applyAlone(key: WaitingCallback, error: unknown): Promise<number> {
    if (isPassing(error)) return await putOff(key)
    const problems: unknown[] = []
    const count = await countReports(key, problems)
    const parts: Part[] = count === 0 ? [] : [{ from: 0, to: count }]
    for (let part = parts.pop(); part !== undefined; part = parts.pop()) {
      if (problems.length >= REFUSALS_MAX) break
      const { from, to } = part
      try {
        await withoutConflict(() => applyPart(key, { from, to }))
      } catch (error) {
        if (isDatabaseAway(error)) throw error
        if (isPassing(error)) return await putOff(key)
        const middle = (from + to) >> 1
        if (to - from === 1) problems.push(error)
        else parts.push({ from: middle, to }, { from, to: middle })
      }
    }
    await settle(key, problems)
    return 1
  }

  async function putOff(key: WaitingCallback): Promise<number> {
    await postponeCallback(db, key, POSTPONED_MS)
    return 0
  }

  /** Repeated, it changes nothing: the callback stays until all of it is done. */
  async function applyPart({ tenantId, inboxId }: WaitingCallback, part: Part): Promise<void> {
    const handled = await transactByIndex(db, async (tx) => {
      const [callback] = await takeCallbacks(tx, tenantId, [inboxId])
      if (callback === undefined) return undefined
      const reports = readReports(deps, callback).slice(part.from, part.to)
      return await handleReports(tx, deps, { tenantId, reports })
    })
    if (handled !== undefined) deps.onHandled(handled)
  }

  async function countReports(
    { tenantId, inboxId }: WaitingCallback,
    problems: unknown[],
  ): Promise<number> {
    const [callback] = await transactByIndex(db, (tx) => takeCallbacks(tx, tenantId, [inboxId]))
    if (callback === undefined) return 0
    try {
      return readReports(deps, callback).length
    } catch (error) {
      problems.push(error)
      return 0
    }
  }

  async function settle(
    { tenantId, inboxId }: WaitingCallback,
    problems: readonly unknown[],
  ): Promise<void> {
    const [problem] = problems
    const kind = await transactByIndex(db, async (tx) => {
      const [callback] = await takeCallbacks(tx, tenantId, [inboxId])
      if (callback === undefined) return undefined
      if (problems.length === 0) {
        await deleteCallbacks(tx, tenantId, [inboxId])
        return undefined
      }
      const text = `${problems.length} of its reports: ${textOf(problem)}`
      await refuseCallback(tx, { tenantId, inboxId }, text)
      await boundRefused(tx, tenantId, REFUSED_MAX)
      return callback.kind
    })
    if (kind === undefined) return
    log.error({ err: problem, tenant_id: tenantId, inbox_id: inboxId }, 'callback.refused')
    deps.onRefused(kind)
  }

  return {
    async runOnce() {
      const batches = (await findLines()).flatMap(toBatches)
      const counts = await Promise.allSettled(
        Array.from({ length: LANES }, async () => {
          let count = 0
          for (let batch = batches.shift(); batch !== undefined; batch = batches.shift())
            count += await apply(batch)
          return count
        }),
      )
      return counts.reduce((sum, lane) => {
        if (lane.status === 'rejected') throw lane.reason
        return sum + lane.value
      }, 0)
    },
  }
}

/** Up to so many octets each; one callback in any case. */
function toBatches(line: readonly WaitingCallback[]): WaitingCallback[][] {
  const batches: WaitingCallback[][] = []
  let bytes = Number.POSITIVE_INFINITY
  for (const one of line) {
    bytes += one.bytes
    if (bytes <= BATCH_BYTES_MAX) batches.at(-1)?.push(one)
    else {
      batches.push([one])
      bytes = one.bytes
    }
  }
  return batches
}

function idsOf(callbacks: readonly { readonly inboxId: string }[]): string[] {
  return callbacks.map(({ inboxId }) => inboxId)
}

function readReports({ adapterOf }: ApplyCallbacksDeps, callback: StoredCallback): RelayReport[] {
  const { tenantId, kind: relay, receivedAtMicros, body } = callback
  const facts = adapterOf(relay).callbacks.read(body.toString())
  // It was read when it came: by an adapter of another version.
  if (facts === undefined) throw new Error('the callback is not what this provider sends')
  return facts.map((fact) => ({ tenantId, relay, receivedAtMicros, fact }))
}

/** Others held it up. */
function isPassing(error: unknown): boolean {
  return isStatementTimeout(error) || isConflict(error)
}

async function withoutConflict<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work()
    } catch (error) {
      if (!isConflict(error) || attempt >= CONFLICTS_MAX) throw error
    }
  }
}

const PROBLEM_LENGTH_MAX = 500

function textOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error)
  return text.slice(0, PROBLEM_LENGTH_MAX).toWellFormed().replaceAll('\u0000', '')
}
