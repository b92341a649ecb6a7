/**
 * Looks every few seconds for what goes wrong, and makes alerts of what begins and ends. One process at a
 * time does it for all; of one that is killed another takes over when its turn is over.
 */
import type { Alert } from '@postrider/contract'
import type { Db } from '../platform/db/index.ts'
import type { Failpoints } from '../platform/failpoints.ts'
import { newId } from '../platform/ids.ts'
import type { Logger } from '../platform/log.ts'
import type { DiskGuard } from '../platform/process/disk-guard.ts'
import { createPeriodicTask, type PeriodicTask } from '../platform/work/periodic-task.ts'
import { keyOf, operator } from './alert.ts'
import { look } from './conditions.ts'
import { decideAlerts, type Told } from './decide-alerts.ts'
import { endEpisodes, endTurn, listEpisodes, saveEpisodes, takeTurn } from './episode-store.ts'
import { addDeliveries, listWanted } from './receiver-store.ts'

export interface WatchDeps {
  readonly db: Db
  readonly log: Logger
  readonly disk: Pick<DiskGuard, 'isOpen'>
  readonly failpoints: Failpoints
  /** What must last before it is told has lasted so long (ALERT_AFTER). */
  readonly afterMs: number
  /** There is something to deliver. */
  readonly onTold: () => void
  readonly slowEveryMs?: number
  readonly leaseMs?: number
  readonly rowsMax?: number
}

const INTERVAL_MS_MAX = 10_000
const INTERVAL_MS_MIN = 1_000
const SLOW_EVERY_MS = 60_000
/** Longer than the looks may take together. */
const LEASE_MS = 60_000

export function createAlertWatch(deps: WatchDeps): PeriodicTask {
  const { db, log, slowEveryMs = SLOW_EVERY_MS, leaseMs = LEASE_MS } = deps
  const intervalMs = Math.min(INTERVAL_MS_MAX, Math.max(INTERVAL_MS_MIN, deps.afterMs / 4))
  let slowAt = Number.NEGATIVE_INFINITY

  /** How many alerts it made. */
  async function round(): Promise<number> {
    const turn = await takeTurn(db, leaseMs)
    if (turn === undefined) return 0
    const lookedFor = await listWanted(db)
    const open = new Set((await listEpisodes(db)).map(keyOf))
    const isWithSlow = performance.now() - slowAt >= slowEveryMs
    const scope = {
      tenantIds: lookedFor.has(operator) ? null : [...lookedFor.keys()],
      isOpen: (kind: Alert['alert'], tenantId: string, subject: string) =>
        open.has(keyOf({ kind, tenantId, subject })),
      isWithSlow,
      now: new Date(),
    }
    const onFailed = (kinds: readonly string[], error: unknown) =>
      log.warn({ err: error, kinds }, 'alerts.look_failed')
    const isWatched = lookedFor.size > 0
    const sights = isWatched ? await look({ ...deps, onFailed }, scope) : []
    if (isWatched && isWithSlow) slowAt = performance.now()
    for (const { kind, isWhole } of sights) if (!isWhole) log.warn({ kind }, 'alerts.too_many')
    deps.failpoints.hit('alerts.after_look')
    const made = await db.transaction(async (tx) => {
      const now = await endTurn(tx, turn, intervalMs)
      if (now === undefined) return []
      // Meanwhile a receiver may have been removed, with what it was told.
      const [wanted, episodes] = [await listWanted(tx), await listEpisodes(tx)]
      const of = { sights, episodes, wanted, afterMs: deps.afterMs, now }
      // Nobody is told of what goes on: it begins when somebody is.
      const changes = isWatched ? decideAlerts(of) : { saved: [], ended: episodes, told: [] }
      await saveEpisodes(tx, changes.saved)
      await endEpisodes(tx, changes.ended)
      await addDeliveries(tx, changes.told.map(toDelivery))
      deps.failpoints.hit('alerts.before_commit')
      return changes.told
    })
    for (const { receiver, state, episode } of made)
      log.info(
        {
          tenant_id: episode.tenantId,
          kind: episode.kind,
          subject: episode.subject,
          state,
          receiver,
        },
        'alert.made',
      )
    if (made.length > 0) deps.onTold()
    return made.length
  }

  return createPeriodicTask({
    ...{ name: 'alert watch', log, intervalMs, failed: 'alerts.not_watched' },
    round: () => round(),
  })
}

function toDelivery({ receiver: tenantId, state, at, episode }: Told) {
  const alert: Alert = {
    ...{ alert: episode.kind, state, subject: episode.subject },
    ...{ at: at.toISOString(), details: episode.details },
  }
  return { tenantId, deliveryId: newId('alr'), body: JSON.stringify(alert) }
}
