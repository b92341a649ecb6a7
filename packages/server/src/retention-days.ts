/**
 * The tables that are partitioned by day, and what keeps an old day from leaving
 * (docs/reference/running.md#retention, `POSTRIDER_RETENTION`). Like compose.ts it knows all capabilities.
 */
import { isInboundDayQueued } from './inbound/index.ts'
import type { Db } from './platform/db/index.ts'
import type { RetentionGroup } from './platform/db/partitions/retention.ts'
import { dayAt } from './platform/values/date-time.ts'
import { isDayQueued, wasQueuedLately } from './sending/index.ts'
import { isDeliveryDayOpen, isEventDayAwaited } from './webhooks/index.ts'

const events = ['webhooks_event']
const deliveries = ['webhooks_delivery', 'webhooks_attempt']
const emails = [
  'sending_email',
  'sending_recipient',
  'sending_own',
  'sending_rendering',
  'sending_attempt',
  'sending_link',
  'tracking_recipient',
  'tracking_hit',
  'sending_stopped',
  'feedback_fact',
  'feedback_recipient',
]
/** Leave earlier where `POSTRIDER_CONTENT_RETENTION` says so. */
const contents = ['sending_content']
const received = ['inbound_message']
const receivedContents = ['inbound_raw']
const unsubscribable = ['sending_unsubscribable']

/** A link for unsubscribing works for this long at least, since mail lies about in mailboxes. */
export const UNSUBSCRIBABLE_MS = 400 * 24 * 60 * 60_000

/** Their days are made ahead of time by every process; the janitor drops the old ones. */
export const partitionedTables: readonly string[] = [
  ...events,
  ...deliveries,
  ...emails,
  ...contents,
  ...received,
  ...receivedContents,
  ...unsubscribable,
]

/** Those of which nothing older than `POSTRIDER_CONTENT_RETENTION` stays without a reason. */
export const tablesOfContent: readonly string[] = [...contents, ...receivedContents]

/** Those of which nothing older than `POSTRIDER_RETENTION` stays without a reason. */
export const tablesOfRetention: readonly string[] = [
  ...events,
  ...deliveries,
  ...emails,
  ...received,
  ...tablesOfContent,
]

const DAY_MS = 24 * 60 * 60_000
const dayAfter = (day: string) => dayAt(Date.parse(day) + DAY_MS)

/** What leaves together, and when it may not yet. */
export function retentionDays(o: {
  readonly db: Db
  readonly webhookRetryForMs: number
  readonly retentionMs: number
  /** At most as long. */
  readonly contentRetentionMs: number
}): RetentionGroup[] {
  const { db, webhookRetryForMs, retentionMs, contentRetentionMs } = o
  // What was sent later than it was accepted is kept from then on: its links lead somewhere.
  const isEmailDayNeeded = async (day: string, ageMs: number) =>
    (await isDayQueued(db, day)) || (await wasQueuedLately(db, day, ageMs))
  return [
    { tables: events, isDayNeeded: (day) => isEventDayAwaited(db, day, webhookRetryForMs) },
    { tables: deliveries, isDayNeeded: (day) => isDeliveryDayOpen(db, day) },
    { tables: emails, isDayNeeded: (day) => isEmailDayNeeded(day, retentionMs) },
    {
      tables: contents,
      retentionMs: contentRetentionMs,
      isDayNeeded: (day) => isEmailDayNeeded(day, contentRetentionMs),
    },
    { tables: received, isDayNeeded: (day) => isInboundDayQueued(db, day) },
    {
      tables: receivedContents,
      retentionMs: contentRetentionMs,
      // What several routes share may have been stored just before midnight, and some of its messages after.
      isDayNeeded: async (day) =>
        (await isInboundDayQueued(db, day)) || (await isInboundDayQueued(db, dayAfter(day))),
    },
    { tables: unsubscribable, retentionMs: Math.max(retentionMs, UNSUBSCRIBABLE_MS) },
  ]
}
