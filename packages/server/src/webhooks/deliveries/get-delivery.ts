/**
 * getWebhookDelivery (docs/reference/webhooks.md#deliveries): one delivery with its attempts and its request.
 *
 * The body is not stored: it is written anew from the immutable events by the function that wrote
 * what was sent, and is therefore the same, byte for byte. Of a very large one the beginning is shown,
 * and no more than that is read.
 */
import {
  shownAttemptsMax,
  shownBodyBytesMax,
  type WebhookDeliveryDetail,
} from '@postrider/contract'
import { type Db, readByIndex, type Tx } from '../../platform/db/index.ts'
import { ApiError } from '../../platform/errors.ts'
import { isId, timeOfUlid } from '../../platform/ids.ts'
import { dayAt } from '../../platform/values/date-time.ts'
import { serializeRequest } from '../events/event.ts'
import { isContent } from '../log/shown-event.ts'
import { toWebhookDelivery } from './delivery-wire.ts'
import {
  findDelivery,
  findMode,
  type RecordedDelivery,
  readAttempts,
  readBodies,
  readMembers,
  readWebhookUrls,
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
  { tenantId, mayReadContent }: Caller,
  deliveryId: string,
): Promise<WebhookDeliveryDetail> {
  const delivery = await loadDelivery(db, tenantId, deliveryId)
  const [members, urls, attempts, rebuilt] = await readByIndex(db, (tx) =>
    Promise.all([
      readMembers(tx, tenantId, [delivery]),
      readWebhookUrls(tx, tenantId, [delivery]),
      readAttempts(tx, tenantId, [delivery], shownAttemptsMax),
      rebuildBody(tx, tenantId, delivery),
    ]),
  )
  const isHidden = !mayReadContent && [...members.values()].some(isContent)
  const body = isHidden ? HIDDEN : rebuilt
  const made = attempts.get(deliveryId) ?? []
  return {
    ...toWebhookDelivery(delivery, members, urls, made),
    request: { headers: [...(made.at(-1)?.header_names ?? [])], ...body },
  }
}

export interface Caller {
  readonly tenantId: string
  /** What receivers were sent of received mail. */
  readonly mayReadContent: boolean
}

type ShownBody = Pick<WebhookDeliveryDetail['request'], 'body' | 'body_hidden' | 'body_truncated'>

const HIDDEN: ShownBody = { body: null, body_hidden: true, body_truncated: false }

async function rebuildBody(tx: Tx, tenantId: string, d: RecordedDelivery): Promise<ShownBody> {
  const [mode, bodies] = await Promise.all([
    findMode(tx, tenantId, d),
    readBodies(tx, tenantId, d, shownBodyBytesMax),
  ])
  if (mode === undefined || bodies.length < d.eventIds.length)
    return { body: null, body_hidden: false, body_truncated: false }
  const events = bodies.flatMap((body) => (body === null ? [] : [{ body }]))
  const bytes = Buffer.from(serializeRequest(mode, events, d.webhookId))
  if (bytes.length <= shownBodyBytesMax)
    return { body: bytes.toString(), body_hidden: false, body_truncated: false }
  // A character that is cut in the middle is left out.
  const beginning = bytes.subarray(0, shownBodyBytesMax)
  const body = new TextDecoder('utf-8', { ignoreBOM: true }).decode(beginning, { stream: true })
  return { body, body_hidden: false, body_truncated: true }
}
