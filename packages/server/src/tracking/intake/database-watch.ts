/**
 * Knows whether the database is away. While it is, a probe asks it now and then and finds out when it
 * is back.
 */
import type { Db } from '../../platform/db/index.ts'
import type { Logger } from '../../platform/log.ts'

export interface DatabaseWatch {
  readonly isAway: boolean
  /** It did not do what it was asked for. */
  goAway(reason: unknown): void
  start(): void
  /** Nothing is asked, and nothing changes any more. */
  stop(): void
}

const PROBE_MS = 250
const PROBE_MS_MAX = 5_000
/** Back for less than that, it was not. */
const BRIEF_MS = 2 * PROBE_MS_MAX
/** One that hangs tells nothing, and must not take all connections. */
const PROBES_MAX = 2

export function createDatabaseWatch(deps: {
  readonly db: Pick<Db, 'query'>
  readonly log: Logger
  readonly onBack: () => void
}): DatabaseWatch {
  let isAway = false
  let isStopped = false
  let backAt = Number.NEGATIVE_INFINITY
  let probes = 0
  let probeMs = PROBE_MS
  let probeTimer: NodeJS.Timeout | undefined

  function goAway(reason: unknown): void {
    if (isAway || isStopped) return
    isAway = true
    // One that answers and does no work (a full disk, a standby) is asked less and less often.
    const isBrief = performance.now() - backAt < BRIEF_MS
    probeMs = isBrief ? Math.min(probeMs * 2, PROBE_MS_MAX) : PROBE_MS
    deps.log.warn({ err: reason }, 'tracking.database_away')
    probeTimer = setInterval(probe, probeMs)
  }

  function probe(): void {
    if (probes >= PROBES_MAX) return
    probes += 1
    deps.db
      .query('select 1')
      .then(comeBack, () => undefined)
      .finally(() => {
        probes -= 1
      })
  }

  function comeBack(): void {
    if (!isAway) return
    isAway = false
    backAt = performance.now()
    clearInterval(probeTimer)
    deps.onBack()
  }

  return {
    get isAway() {
      return isAway
    },
    goAway,
    start() {
      isStopped = false
    },
    stop() {
      isStopped = true
      clearInterval(probeTimer)
    },
  }
}
