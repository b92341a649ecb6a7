/**
 * listWebhookDeliveries (docs/reference/webhooks.md#deliveries): newest first over open and settled
 * deliveries.
 *
 * A page is one bounded piece of work, whatever is asked for: it looks at a bounded number of
 * deliveries and of events in them, and holds a bounded number of events and attempts. Where a
 * bound is met first it is shorter, or even empty, and its token goes on from there.
 */
import {
  type ListWebhookDeliveriesQuery,
  listedAttemptsMax,
  type WebhookDelivery,
} from '@postrider/contract'
import { type Db, readByIndex, type Tx } from '../../platform/db/index.ts'
import { pageTokenAfter, readPage } from '../../platform/http/paging.ts'
import { readStartAndEnd } from '../../platform/http/read-span.ts'
import { soughtId, soughtUlid, timeOfUlid, ulidAtTime } from '../../platform/ids.ts'
import { dayAt, type TimeSpan } from '../../platform/values/date-time.ts'
import { toWebhookDelivery } from './delivery-wire.ts'
import {
  type EventKey,
  eventIdsOfEmail,
  isRareStatus,
  type PageBounds,
  type PageRequest,
  type RecordedAttempt,
  type RecordedDelivery,
  readAttempts,
  readMembers,
  readPageOfDeliveries,
  readWebhookUrls,
} from './record-store.ts'

const LIST = 'webhook_deliveries'
const DELIVERY_ID = /^dlv_[0-7][0-9A-HJKMNP-TV-Z]{25}$/

/** A few tens of milliseconds of work, most of it 2 µs for each event that is looked up. */
const PAGE_BOUNDS = { rowsMax: 2_000, membersMax: 20_000, weightMax: 10_000 } as const
/** Of what receivers said, in a page: it is held until its reader has taken it. */
const TEXT_OCTETS_MAX = 2 * 1024 * 1024
/** Comparing ids costs a tenth of looking events up. */
const BY_ID = 10
/** An email with more events is looked for in each delivery instead. */
const EVENTS_OF_EMAIL_MAX = 20_000
const DAY_MS = 86_400_000
export interface ListDeps {
  readonly db: Db
  /** Smaller ones, for tests. */
  readonly pageBounds?: PageBounds
  readonly textOctetsMax?: number
}

interface DeliveriesPage {
  deliveries: WebhookDelivery[]
  nextPageToken?: string
}

export async function listDeliveries(
  { db, pageBounds = PAGE_BOUNDS, textOctetsMax = TEXT_OCTETS_MAX }: ListDeps,
  tenantId: string,
  query: ListWebhookDeliveriesQuery,
): Promise<DeliveriesPage> {
  const page = readPage(query, LIST, DELIVERY_ID)
  const range = rangeOf(readStartAndEnd(query), page.before)
  const { status, event } = query
  const webhookId = query.webhook_id === undefined ? undefined : soughtId('wh', query.webhook_id)
  const refId = subjectOf(query)
  return await readByIndex(db, async (tx) => {
    const eventsOfEmail = await keysOfEvents(tx, tenantId, { refId, event })
    if (eventsOfEmail?.length === 0) return { deliveries: [] }
    const { deliveries, nextBefore } = await readPageOfDeliveries(tx, {
      tenantId,
      ...range,
      status,
      webhookId,
      event,
      refId,
      eventsOfEmail,
      pageSize: page.limit,
      attemptsShown: listedAttemptsMax,
      ...boundsOf(query, pageBounds, eventsOfEmail !== undefined, page.limit),
    })
    const [members, urls, attempts] = await Promise.all([
      readMembers(tx, tenantId, deliveries),
      readWebhookUrls(tx, tenantId, deliveries),
      readAttempts(tx, tenantId, deliveries, listedAttemptsMax),
    ])
    const shown = withinOctets(deliveries, attempts, textOctetsMax)
    const next = shown.length < deliveries.length ? shown.at(-1)?.deliveryId : nextBefore
    return {
      deliveries: shown.map((d) =>
        toWebhookDelivery(d, members, urls, attempts.get(d.deliveryId) ?? []),
      ),
      ...(next === undefined ? {} : { nextPageToken: pageTokenAfter(page, next) }),
    }
  })
}

/** As many as hold this much text, but one at least. */
function withinOctets(
  deliveries: readonly RecordedDelivery[],
  attempts: ReadonlyMap<string, readonly RecordedAttempt[]>,
  octetsMax: number,
): readonly RecordedDelivery[] {
  let octets = 0
  const end = deliveries.findIndex(({ deliveryId }, at) => {
    for (const { error, response } of attempts.get(deliveryId) ?? [])
      octets += Buffer.byteLength(error ?? '') + Buffer.byteLength(response ?? '')
    return at > 0 && octets > octetsMax
  })
  return end === -1 ? deliveries : deliveries.slice(0, end)
}

/** What the events are of; what no event is of, where nothing can be found. */
export function subjectOf({
  ref_id: refId,
  inbound_id: inboundId,
}: Pick<ListWebhookDeliveriesQuery, 'ref_id' | 'inbound_id'>): string | undefined {
  if (refId !== undefined && inboundId !== undefined) return soughtUlid('')
  if (inboundId !== undefined) return soughtId('in', inboundId)
  return refId === undefined ? undefined : soughtUlid(refId)
}

function boundsOf(
  {
    status,
    event,
    webhook_id: webhookId,
    ref_id: refId,
    inbound_id: inboundId,
  }: ListWebhookDeliveriesQuery,
  bounds: PageBounds,
  isById: boolean,
  pageSize: number,
): PageBounds {
  if (isById)
    return { ...bounds, rowsMax: bounds.rowsMax * BY_ID, membersMax: bounds.membersMax * BY_ID }
  if (event !== undefined || refId !== undefined || inboundId !== undefined) return bounds
  // Their events are not looked at.
  const rows = { ...bounds, membersMax: Number.MAX_SAFE_INTEGER }
  // Each one that is looked at is shown then; one more tells whether there is another.
  const isExact =
    webhookId === undefined && (status === undefined || status === 'open' || isRareStatus(status))
  return isExact ? { ...rows, rowsMax: pageSize + 1 } : rows
}

/** Ids carry the time at which they were made, and with it their day. */
function rangeOf({ from, to }: TimeSpan, before: string | undefined) {
  const end = `dlv_${ulidAtTime(toMillis(to))}`
  return {
    ids: {
      from: `dlv_${ulidAtTime(toMillis(from))}`,
      before: before === undefined || before > end ? end : before,
    },
    days: { from: dayAt(toMillis(from)), to: dayAt(toMillis(to)) },
  }
}

/** The first whole one at or after it. */
function toMillis(micros: bigint): number {
  return Number((micros + 999n) / 1000n)
}

async function keysOfEvents(
  tx: Tx,
  tenantId: string,
  { refId, event }: Pick<PageRequest, 'refId' | 'event'>,
): Promise<EventKey[] | undefined> {
  if (refId === undefined) return undefined
  const limit = EVENTS_OF_EMAIL_MAX + 1
  const notBefore = dayBefore(refId)
  const eventIds = await eventIdsOfEmail(tx, { tenantId, refId, event, notBefore, limit })
  if (eventIds.length === limit) return undefined
  // Recorded, so delivered, no earlier than its id was made; a day for clocks that differ.
  return eventIds.map((eventId) => ({ eventId, notBefore: dayBefore(eventId) }))
}

function dayBefore(id: string): string {
  return dayAt(timeOfUlid(id).getTime() - DAY_MS)
}
