/**
 * Applies one callback part by part, each in a transaction of its own: a very large one, or one that
 * the database refuses as a whole. A part that is refused is halved, down to one report, so that
 * everything but what cannot be applied is; a callback with such a report is kept aside, with the
 * problem.
 *
 * It stays in the inbox until all of it is done. Another process that begins with it meanwhile, or after a
 * crash, meets what was applied.
 */
import {
  type Db,
  isConflict,
  isDatabaseAway,
  isStatementTimeout,
  isWithoutPartition,
  transactByIndex,
} from '../../platform/db/index.ts'
import { refusalOf } from '../../platform/errors.ts'
import type { Logger } from '../../platform/log.ts'
import type { CallbackReader, RelayAdapter, RelayFact } from '../../relays/index.ts'
import {
  boundRefused,
  type CallbackKey,
  deleteCallbacks,
  holdCallback,
  postponeCallback,
  refuseCallback,
  type StoredCallback,
  takeCallbacks,
} from '../intake/inbox-store.ts'
import { type Handled, type HandleReportsDeps, handleReports } from './handle-reports.ts'
import type { RelayReport } from './unmatched-store.ts'

export interface ApplyPartsDeps extends HandleReportsDeps {
  readonly db: Db
  readonly log: Logger
  readonly adapterOf: (kind: StoredCallback['kind']) => RelayAdapter
  readonly reader: Pick<CallbackReader, 'read'>
  /** After the commit. */
  readonly onHandled: (handled: Handled) => void
  readonly onRefused: (kind: StoredCallback['kind']) => void
}

/** A second or two of work. */
export const reportsTogetherMax = 2_000
/** Reports of one callback that are given up on before the rest of it is. */
const REFUSALS_MAX = 20
const CONFLICTS_MAX = 3
/** What took too long, a lock as a rule, is left alone for so long. */
const POSTPONED_MS = 30_000
/** Of one tenant; the newest. */
const REFUSED_MAX = 200

/** Answers 1 when it is done with, else 0. Throws when the database is away. */
export async function applyInParts(deps: ApplyPartsDeps, key: CallbackKey): Promise<number> {
  const { db } = deps
  const [callback] = await transactByIndex(db, (tx) =>
    takeCallbacks(tx, key.tenantId, [key.inboxId]),
  )
  if (callback === undefined) return 0
  const problems: unknown[] = []
  const parts = await readInParts(deps, callback, problems)
  if (parts === 'later') return await putOff(db, key)
  for (const open of parts) {
    if (problems.length >= REFUSALS_MAX) break
    if (!(await applyReports(deps, key, open(), problems))) return 0
  }
  await settle(deps, callback, problems)
  return 1
}

/** False when a lock was busy: the callback is deferred. */
async function applyReports(
  deps: ApplyPartsDeps,
  key: CallbackKey,
  reports: RelayReport[],
  problems: unknown[],
): Promise<boolean> {
  const parts = [reports]
  for (let part = parts.pop(); part !== undefined; part = parts.pop()) {
    if (problems.length >= REFUSALS_MAX) break
    try {
      await applyPart(deps, key, part)
    } catch (error) {
      if (isDatabaseAway(error)) throw error
      if (isPassing(error)) {
        await putOff(deps.db, key)
        return false
      }
      const middle = part.length >> 1
      if (part.length > 1) parts.push(part.slice(middle), part.slice(0, middle))
      // Retention has taken the email's day meanwhile: nothing follows from it any more.
      else if (!isWithoutPartition(error)) problems.push(error)
    }
  }
  return true
}

/** Others held it up. */
export function isPassing(error: unknown): boolean {
  return isStatementTimeout(error) || isConflict(error)
}

/** What was applied of it changes nothing when it is repeated. */
export async function putOff(db: Db, key: CallbackKey): Promise<number> {
  await postponeCallback(db, key, POSTPONED_MS)
  return 0
}

/** What opens each part; `later` when no thread had the time to read it. */
async function readInParts(
  { reader }: Pick<ApplyPartsDeps, 'reader'>,
  callback: StoredCallback,
  problems: unknown[],
): Promise<readonly (() => RelayReport[])[] | 'later'> {
  try {
    const { tenantId, kind, body } = callback
    const read = await reader.read(tenantId, kind, body)
    // It was read when it came: by an adapter of another version.
    if (read === undefined) throw new Error('the callback is not what this provider sends')
    return read.parts.map((open) => () => toReports(callback, open()))
  } catch (error) {
    if (refusalOf(error) !== undefined) return 'later'
    problems.push(error)
    return []
  }
}

export function toReports(
  { tenantId, kind: relay, receivedAtMicros }: StoredCallback,
  facts: readonly RelayFact[],
): RelayReport[] {
  return facts.map((fact) => ({ tenantId, relay, receivedAtMicros, fact }))
}

async function applyPart(
  deps: ApplyPartsDeps,
  key: CallbackKey,
  reports: readonly RelayReport[],
): Promise<void> {
  const { tenantId } = key
  const handled = await withoutConflict(() =>
    transactByIndex(deps.db, async (tx) =>
      (await holdCallback(tx, key))
        ? await handleReports(tx, deps, { tenantId, reports })
        : undefined,
    ),
  )
  if (handled !== undefined) deps.onHandled(handled)
}

async function settle(
  { db, log, onRefused }: ApplyPartsDeps,
  { tenantId, inboxId, kind }: StoredCallback,
  problems: readonly unknown[],
): Promise<void> {
  const [problem] = problems
  const isRefused = await transactByIndex(db, async (tx) => {
    if (!(await holdCallback(tx, { tenantId, inboxId }))) return false
    if (problems.length === 0) {
      await deleteCallbacks(tx, tenantId, [inboxId])
      return false
    }
    const text = `${problems.length} of its reports: ${textOf(problem)}`
    await refuseCallback(tx, { tenantId, inboxId }, text)
    await boundRefused(tx, tenantId, REFUSED_MAX)
    return true
  })
  if (!isRefused) return
  log.error({ err: problem, tenant_id: tenantId, inbox_id: inboxId }, 'callback.refused')
  onRefused(kind)
}

/** The same again, as long as others were only in the way. */
export async function withoutConflict<T>(work: () => Promise<T>): Promise<T> {
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
