/**
 * Looks every few seconds for what goes wrong, and makes alerts of what begins and ends. One process at a
 * time does it for all; of one that is killed another takes over when its turn is over.
 */
import { type Alert, alertsWaitingMax } from '@postrider/contract'
import type { Db, Tx } from '../platform/db/index.ts'
import type { Failpoints } from '../platform/failpoints.ts'
import { newId } from '../platform/ids.ts'
import type { Logger } from '../platform/log.ts'
import type { DiskGuard } from '../platform/process/disk-guard.ts'
import { createPeriodicTask, type PeriodicTask } from '../platform/work/periodic-task.ts'
import { holdUndeleted, type UsageCounts } from '../tenants/index.ts'
import { operator } from './alert.ts'
import { look } from './conditions.ts'
import { type AlertChanges, decideAlerts, type Told } from './decide-alerts.ts'
import { endEpisodes, endTurn, listEpisodes, saveEpisodes, takeTurn } from './episode-store.ts'
import { addDeliveries, dropOldDeliveries, listWanted } from './receiver-store.ts'

export interface WatchDeps {
  readonly db: Db
  readonly log: Logger
  readonly disk: Pick<DiskGuard, 'isOpen'>
  readonly usageCounts: UsageCounts
  readonly failpoints: Failpoints
  /** What must last before it is told has lasted so long (ALERT_AFTER). */
  readonly afterMs: number
  /** There is something to deliver. */
  readonly onTold: () => void
  readonly slowEveryMs?: number
  readonly leaseMs?: number
  readonly waitingMax?: number
  readonly rowsMax?: number
  readonly rowsPerTenantMax?: number
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
    const open = await listEpisodes(db)
    const isWithSlow = performance.now() - slowAt >= slowEveryMs
    const scope = {
      tenantIds: lookedFor.has(operator) ? null : [...lookedFor.keys()],
      open,
      isWithSlow,
      now: new Date(),
    }
    const onFailed = (kinds: readonly string[], error: unknown) =>
      log.warn({ err: error, kinds }, 'alerts.look_failed')
    const isWatched = lookedFor.size > 0
    const onTooMany = (kind: string, tenantId: string | undefined) =>
      log.warn(
        { kind, ...(tenantId === undefined ? {} : { tenant_id: tenantId }) },
        'alerts.too_many',
      )
    const sights = isWatched ? await look({ ...deps, onFailed, onTooMany }, scope) : []
    if (isWatched && isWithSlow) slowAt = performance.now()
    deps.failpoints.hit('alerts.after_look')
    const made = await db.transaction(async (tx) => {
      const now = await endTurn(tx, turn, intervalMs)
      if (now === undefined) return { told: [], dropped: [] }
      // Meanwhile a receiver may have been removed, with what it was told.
      const [wanted, episodes] = [await listWanted(tx), await listEpisodes(tx)]
      const of = { sights, episodes, wanted, afterMs: deps.afterMs, now }
      // Nobody is told of what goes on: it begins when somebody is.
      const changes = isWatched ? decideAlerts(of) : { saved: [], ended: episodes, told: [] }
      // What becomes of a tenant that is being deleted is told to nobody, and leaves no row behind.
      const isThere = await holdTenants(tx, changes)
      const told = changes.told.filter(
        ({ receiver, state, episode }) =>
          isThere(receiver) && (state === 'over' || isThere(episode.tenantId)),
      )
      await saveEpisodes(
        tx,
        changes.saved.filter(({ tenantId }) => isThere(tenantId)),
      )
      await endEpisodes(tx, changes.ended)
      await addDeliveries(tx, told.map(toDelivery))
      const dropped = await dropOldest(tx, told, deps.waitingMax ?? alertsWaitingMax)
      deps.failpoints.hit('alerts.before_commit')
      return { told, dropped }
    })
    for (const { tenantId, alerts } of made.dropped)
      log.warn({ tenant_id: tenantId, alerts, error: 'too many wait' }, 'alert.given_up')
    for (const { receiver, state, episode } of made.told)
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
    if (made.told.length > 0) deps.onTold()
    return made.told.length
  }

  return createPeriodicTask({
    ...{ name: 'alert watch', log, intervalMs, failed: 'alerts.not_watched' },
    round: () => round(),
  })
}

/** Tells of each tenant whether it may have rows; that stays so to the end of the transaction. */
async function holdTenants(
  tx: Tx,
  { saved, told }: AlertChanges,
): Promise<(tenantId: string) => boolean> {
  const ids = new Set([...saved, ...told.map(({ episode }) => episode)].map((one) => one.tenantId))
  for (const { receiver } of told) ids.add(receiver)
  ids.delete(operator)
  if (ids.size === 0) return () => true
  const there = new Set(await holdUndeleted(tx, [...ids]))
  return (tenantId) => tenantId === operator || there.has(tenantId)
}

async function dropOldest(tx: Tx, told: readonly Told[], max: number) {
  return dropOldDeliveries(tx, [...new Set(told.map(({ receiver }) => receiver))], max)
}

function toDelivery({ receiver: tenantId, state, at, episode }: Told) {
  const alert: Alert = {
    ...{ alert: episode.kind, state, subject: episode.subject },
    ...{ at: at.toISOString(), details: episode.details },
  }
  return { tenantId, deliveryId: newId('alr'), body: JSON.stringify(alert) }
}
