/**
 * listWebhookDeliveries (contract §2, §3, §5): newest first over open and settled deliveries.
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
import { dayAt, type TimeSpan } from '../../platform/date-time.ts'
import type { Db } from '../../platform/db/index.ts'
import { pageTokenAfter, readPage } from '../../platform/http/paging.ts'
import { timeOfUlid, ulidAtTime } from '../../platform/ids.ts'
import { toWebhookDelivery } from './delivery-wire.ts'
import { readSelection } from './read-selection.ts'
import {
  type EventPlace,
  eventIdsOfEmail,
  type PageBounds,
  readAttempts,
  readMembers,
  readPageOfDeliveries,
} from './record-store.ts'

const LIST = 'webhook_deliveries'
const DELIVERY_ID = /^dlv_[0-7][0-9A-HJKMNP-TV-Z]{25}$/

/** A few tens of milliseconds of work. */
const PAGE_BOUNDS = { rowsMax: 2_000, membersMax: 50_000, weightMax: 10_000 } as const
/** An email with more events is looked for in each delivery instead. */
const EVENTS_OF_EMAIL_MAX = 20_000
const DAY_MS = 86_400_000

export interface ListDeps {
  readonly db: Db
  /** Smaller ones, for tests. */
  readonly pageBounds?: PageBounds
}

export async function listDeliveries(
  { db, pageBounds = PAGE_BOUNDS }: ListDeps,
  tenantId: string,
  query: ListWebhookDeliveriesQuery,
): Promise<{ deliveries: WebhookDelivery[]; nextPageToken?: string }> {
  const { limit: pageSize, before } = readPage(query, LIST, DELIVERY_ID)
  const span = readSelection(query)
  const isFiltered =
    query.status !== undefined || query.event !== undefined || query.ref_id !== undefined
  const page = await readPageOfDeliveries(db, {
    tenantId,
    ...rangeOf(span, before),
    status: query.status,
    event: query.event,
    refId: query.ref_id,
    eventsOfEmail: await placesOfEvents(db, tenantId, query),
    pageSize,
    attemptsShown: listedAttemptsMax,
    ...pageBounds,
    // Without a filter each one that is looked at is shown; one more tells whether there is another.
    ...(isFiltered ? {} : { rowsMax: pageSize + 1 }),
  })
  const [members, attempts] = await Promise.all([
    readMembers(db, tenantId, page.deliveries),
    readAttempts(db, tenantId, page.deliveries, listedAttemptsMax),
  ])
  return {
    deliveries: page.deliveries.map((d) =>
      toWebhookDelivery(d, members, attempts.get(d.deliveryId) ?? []),
    ),
    ...(page.nextBefore === undefined
      ? {}
      : { nextPageToken: pageTokenAfter(LIST, page.nextBefore) }),
  }
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

async function placesOfEvents(
  db: Db,
  tenantId: string,
  { ref_id: refId, event }: ListWebhookDeliveriesQuery,
): Promise<EventPlace[] | undefined> {
  if (refId === undefined) return undefined
  const limit = EVENTS_OF_EMAIL_MAX + 1
  const notBefore = dayBefore(refId)
  const eventIds = await eventIdsOfEmail(db, { tenantId, refId, event, notBefore, limit })
  if (eventIds.length === limit) return undefined
  // Recorded, so delivered, no earlier than its id was made; a day for clocks that differ.
  return eventIds.map((eventId) => ({ eventId, notBefore: dayBefore(eventId) }))
}

function dayBefore(id: string): string {
  return dayAt(timeOfUlid(id).getTime() - DAY_MS)
}
