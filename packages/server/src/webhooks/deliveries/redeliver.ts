/**
 * redeliver (docs/reference/webhooks.md#replay): the events of one delivery are sent again, to the webhook
 * that takes such events now, whatever its toggles say.
 *
 * Of a delivery that is still open they are on their way: it is not doubled, but tried at once
 * instead of when its wait is over, byte for byte as before.
 */

import { eventNames } from '@postrider/contract'
import { readByIndex } from '../../platform/db/index.ts'
import { bucketOf } from '../../platform/db/leases.ts'
import { allTime } from '../../platform/values/date-time.ts'
import { loadDelivery } from './get-delivery.ts'
import type { RecordedDelivery } from './record-store.ts'
import { queueAgain, type ReplayDeps, requireActive } from './replay-events.ts'
import { expedite, findDestinationsOf } from './replay-store.ts'

export async function redeliver(
  deps: ReplayDeps,
  tenantId: string,
  deliveryId: string,
): Promise<{ replayed: number }> {
  const delivery = await loadDelivery(deps.db, tenantId, deliveryId)
  const destinations = await readByIndex(deps.db, (tx) =>
    findDestinationsOf(tx, tenantId, delivery),
  )
  // All of it has left the log.
  if (destinations.events === 0) return { replayed: 0 }
  requireActive(destinations)
  if (await tryNow(deps, tenantId, delivery)) return { replayed: delivery.eventIds.length }
  const filter = {
    tenantId,
    names: eventNames,
    span: allTime,
    isUndelivered: false,
    webhookIds: destinations.webhookIds,
  }
  const events = delivery.eventIds.map((eventId, i) => ({
    eventId,
    day: delivery.eventDays[i] ?? '',
  }))
  const charge = async (queued: number) => deps.replayBudget?.use(tenantId, queued)
  return { replayed: await queueAgain(deps, filter, events, charge) }
}

async function tryNow(
  { db, wakeups }: ReplayDeps,
  tenantId: string,
  { deliveryId, webhookId, finishedAt }: RecordedDelivery,
): Promise<boolean> {
  if (finishedAt !== null) return false
  const isOpen = await db.transaction((tx) => expedite(tx, tenantId, deliveryId))
  if (isOpen) wakeups.wake([{ tenantId, webhookId, bucket: bucketOf(webhookId) }])
  return isOpen
}
