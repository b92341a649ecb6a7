/**
 * Applies what waits in the inbox, tenant by tenant in turns: one transaction for some callbacks, in which
 * they are read, applied and deleted. Several processes may do so at once: what one is at, the others
 * pass over.
 *
 * A transaction that the database refuses is divided, down to one callback, and that into its parts.
 */
import { isDatabaseAway, readByIndex, transactByIndex } from '../../platform/db/index.ts'
import type { Failpoints } from '../../platform/failpoints.ts'
import { callbackInPlaceBytesMax } from '../../relays/index.ts'
import {
  deleteCallbacks,
  findWaiting,
  type StoredCallback,
  takeCallbacks,
  type WaitingCallback,
} from '../intake/inbox-store.ts'
import {
  type ApplyPartsDeps,
  applyInParts,
  isPassing,
  putOff,
  reportsTogetherMax,
  toReports,
  withoutConflict,
} from './apply-parts.ts'
import { handleReports } from './handle-reports.ts'
import type { RelayReport } from './unmatched-store.ts'

export interface ApplyCallbacksDeps extends ApplyPartsDeps {
  readonly failpoints: Failpoints
}

export interface CallbackApplier {
  /** A bounded piece of what waits; answers how many callbacks that was. */
  runOnce(mayGoOn?: () => boolean): Promise<number>
}

const TENANTS_MAX = 16
const OF_EACH_MAX = 8
const BATCH_BYTES_MAX = 512 * 1024
/** One is read while the database works on the other. */
const BATCHES_AT_ONCE = 2

export function createCallbackApplier(deps: ApplyCallbacksDeps): CallbackApplier {
  const { db, failpoints } = deps
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

  /** Answers how many it has applied, or that the first is too large. Throws what kept it from that. */
  async function applyTogether(
    tenantId: string,
    batch: readonly WaitingCallback[],
  ): Promise<number | 'large'> {
    failpoints.hit('callback.before_apply')
    const applied = await transactByIndex(db, async (tx) => {
      const taken = await takeCallbacks(tx, tenantId, idsOf(batch))
      const { callbacks, reports } = readSome(deps, taken)
      if (callbacks.length === 0) return { count: taken.length === 0 ? 0 : ('large' as const) }
      const handled = await handleReports(tx, deps, { tenantId, reports })
      await deleteCallbacks(tx, tenantId, idsOf(callbacks))
      failpoints.hit('callback.before_commit')
      return { count: callbacks.length, handled }
    })
    failpoints.hit('callback.after_commit')
    if (applied.handled !== undefined) deps.onHandled(applied.handled)
    return applied.count
  }

  /** Of one tenant. */
  async function apply(batch: readonly WaitingCallback[]): Promise<number> {
    const [first] = batch
    if (first === undefined) return 0
    try {
      const count = await withoutConflict(() => applyTogether(first.tenantId, batch))
      if (count !== 'large') return count
    } catch (error) {
      if (isDatabaseAway(error)) throw error
      const middle = batch.length >> 1
      if (middle > 0)
        return (await apply(batch.slice(0, middle))) + (await apply(batch.slice(middle)))
      if (isPassing(error)) return await putOff(db, first)
    }
    return await applyInParts(deps, first)
  }

  return {
    async runOnce(mayGoOn = () => true) {
      const batches = (await findLines()).flatMap(toBatches)
      const appliers = Array.from({ length: BATCHES_AT_ONCE }, async () => {
        let count = 0
        for (let batch = batches.shift(); batch !== undefined && mayGoOn(); batch = batches.shift())
          count += await apply(batch)
        return count
      })
      let done = 0
      for (const applied of await Promise.allSettled(appliers)) {
        if (applied.status === 'rejected') throw applied.reason
        done += applied.value
      }
      return done
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

/** The first of them, up to so many reports: the rest comes again. */
function readSome(deps: ApplyCallbacksDeps, taken: readonly StoredCallback[]) {
  const callbacks: StoredCallback[] = []
  const reports: RelayReport[] = []
  for (const callback of taken) {
    // Read in a thread, and not within a transaction.
    if (callback.body.length > callbackInPlaceBytesMax) break
    const more = readReports(deps, callback)
    if (reports.length + more.length > reportsTogetherMax) break
    callbacks.push(callback)
    reports.push(...more)
  }
  return { callbacks, reports }
}

/** Throws what a reader throws that meets what it does not expect. */
function readReports(
  { adapterOf }: Pick<ApplyCallbacksDeps, 'adapterOf'>,
  callback: StoredCallback,
): RelayReport[] {
  const facts = adapterOf(callback.kind).callbacks.read(callback.body.toString())
  // It was read when it came: by an adapter of another version.
  if (facts === undefined) throw new Error('the callback is not what this provider sends')
  return toReports(callback, facts)
}

function idsOf(callbacks: readonly { readonly inboxId: string }[]): string[] {
  return callbacks.map(({ inboxId }) => inboxId)
}
