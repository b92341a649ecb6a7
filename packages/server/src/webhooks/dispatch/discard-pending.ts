/**
 * What waits for a webhook that is switched off or deleted is no longer sent (contract §5): its
 * events stay in the log and are had by replay.
 *
 * The caller holds the tenant's lock, so nothing new is queued meanwhile. A request that is under
 * way ends as it does; it is not settled.
 */
import type { Tx } from '../../platform/db/index.ts'
import { deleteAllPending } from '../event-store.ts'
import { discardOpenDelivery } from './delivery-store.ts'
import { resetStream, type StreamKey } from './stream-store.ts'

export async function discardPending(tx: Tx, key: StreamKey): Promise<void> {
  // The stream's row first, as settling does: a request is either settled or discarded.
  await discardOpenDelivery(tx, key)
  await deleteAllPending(tx, key)
  await resetStream(tx, key)
}
