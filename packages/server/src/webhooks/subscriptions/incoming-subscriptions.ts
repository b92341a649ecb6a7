/**
 * Changes the incoming webhooks of many routes at once, in the transaction that changes what they
 * belong to: a constant number of statements, however many there are. Each is changed as
 * changeSubscription and deleteSubscription change one.
 */
import type { Tx } from '../../platform/db/index.ts'
import { bucketOf } from '../../platform/db/leases.ts'
import type { BucketedStream } from '../dispatch/stream-store.ts'
import { type Owners, removeIncoming, updateIncomingUrls } from './incoming-store.ts'
import { restartStreams } from './subscription-store.ts'

/** The streams to be woken after the commit. */
export async function deleteIncoming(tx: Tx, owners: Owners): Promise<BucketedStream[]> {
  const webhookIds = await removeIncoming(tx, owners)
  return restart(tx, owners, webhookIds, { isDeleted: true })
}

/** To another URL. */
export async function moveIncoming(tx: Tx, owners: Owners, url: string): Promise<BucketedStream[]> {
  const webhookIds = await updateIncomingUrls(tx, owners, url)
  return restart(tx, owners, webhookIds, { isDeleted: false })
}

/** The streams last, because recording waits for them. */
async function restart(
  tx: Tx,
  { tenantId }: Owners,
  webhookIds: readonly string[],
  { isDeleted }: { readonly isDeleted: boolean },
): Promise<BucketedStream[]> {
  if (webhookIds.length === 0) return []
  await restartStreams(tx, { tenantId, webhookIds }, { isSameReceiver: false, isDeleted })
  return webhookIds.map((webhookId) => ({ tenantId, webhookId, bucket: bucketOf(webhookId) }))
}
