/**
 * getWebhookDelivery (contract §3, §5): one delivery with its attempts and its request.
 *
 * The body is not stored: it is written anew from the immutable events by the function that wrote
 * what was sent, and is therefore the same, byte for byte.
 */
import { shownAttemptsMax, type WebhookDeliveryDetail } from '@postrider/contract'
import { dayAt } from '../../platform/date-time.ts'
import type { Db, Tx } from '../../platform/db/index.ts'
import { ApiError } from '../../platform/errors.ts'
import { isId, timeOfUlid } from '../../platform/ids.ts'
import { serializeRequest } from '../event.ts'
import { toWebhookDelivery } from './delivery-wire.ts'
import { readByIndex } from './read-by-index.ts'
import {
  findDelivery,
  findMode,
  type RecordedDelivery,
  readAttempts,
  readBodies,
  readMembers,
} from './record-store.ts'

/** Of another tenant: not found, like one that never was, and like what is no id. */
export async function loadDelivery(
  db: Db,
  tenantId: string,
  deliveryId: string,
): Promise<RecordedDelivery> {
  const delivery = isId('dlv', deliveryId)
    ? await readByIndex(db, (tx) =>
        findDelivery(tx, { tenantId, deliveryId, day: dayAt(timeOfUlid(deliveryId).getTime()) }),
      )
    : undefined
  if (delivery === undefined) throw new ApiError('not_found')
  return delivery
}

export async function getDelivery(
  { db }: { readonly db: Db },
  tenantId: string,
  deliveryId: string,
): Promise<WebhookDeliveryDetail> {
  const delivery = await loadDelivery(db, tenantId, deliveryId)
  const [members, attempts, body] = await readByIndex(db, (tx) =>
    Promise.all([
      readMembers(tx, tenantId, [delivery]),
      readAttempts(tx, tenantId, [delivery], shownAttemptsMax),
      rebuildBody(tx, tenantId, delivery),
    ]),
  )
  const made = attempts.get(deliveryId) ?? []
  return {
    ...toWebhookDelivery(delivery, members, made),
    request: { headers: [...(made.at(-1)?.header_names ?? [])], body },
  }
}

async function rebuildBody(tx: Tx, tenantId: string, d: RecordedDelivery): Promise<string | null> {
  const [mode, bodies] = await Promise.all([findMode(tx, tenantId, d), readBodies(tx, tenantId, d)])
  const events = d.eventIds.flatMap((eventId) => bodies.get(eventId) ?? [])
  if (mode === undefined || events.length < d.eventIds.length) return null
  return serializeRequest(mode, events, d.webhookId)
}
