/**
 * getWebhookStatus, pauseWebhook and resumeWebhook (docs/reference/webhooks.md#pausing). While a webhook is
 * paused nothing is sent and everything is kept; resumed, it gets what waited, in its order. The operator's
 * commands do the same to any webhook (operate-streams.ts).
 */
import { replayedEventsMax, type WebhookStatus, webhookBacklogMax } from '@postrider/contract'
import { type Db, readByIndex } from '../../platform/db/index.ts'
import { bucketOf } from '../../platform/db/leases.ts'
import { ApiError } from '../../platform/errors.ts'
import { ulidAtTime } from '../../platform/ids.ts'
import { dayAt } from '../../platform/values/date-time.ts'
import { pauseStreamRow, resumeStreamRow } from '../dispatch/operate/operate-store.ts'
import { stateOf } from '../dispatch/operate/operate-streams.ts'
import type { Wakeups } from '../dispatch/schedule/wakeups.ts'
import type { StreamKey } from '../dispatch/stream-store.ts'
import { readDurations, readStatus, type StatusRow } from './status-store.ts'

const HOUR_MS = 3_600_000
const OPEN_MAX = 1_000
/** Of the tenant, that are looked at for the times of requests. */
const DELIVERIES_MAX = 2_000

export async function getWebhookStatus(
  { db }: { readonly db: Db },
  key: StreamKey,
): Promise<WebhookStatus> {
  const sinceMs = Date.now() - HOUR_MS
  const since = { deliveryId: `dlv_${ulidAtTime(sinceMs)}`, day: dayAt(sinceMs) }
  const [row, durations] = await readByIndex(db, (tx) =>
    Promise.all([
      readStatus(tx, key, {
        ...{ openMax: OPEN_MAX, pendingMax: webhookBacklogMax, replayedMax: replayedEventsMax },
      }),
      readDurations(tx, key, { ...since, deliveriesMax: DELIVERIES_MAX }),
    ]),
  )
  if (row === undefined) throw new ApiError('webhook_not_found')
  const sorted = durations.toSorted((a, b) => a - b)
  return {
    state: stateShown(row),
    backlog: Math.min(webhookBacklogMax, row.pending + row.inOpen),
    replaying: row.replaying,
    oldest_pending_at: toText(earlier(row.oldestAt, row.oldestOpenAt)),
    p50_ms: quantile(sorted, 0.5),
    p95_ms: quantile(sorted, 0.95),
    paused_at: toText(row.pausedAt),
    failing_since: toText(row.failingSince),
    next_attempt_at: toText(row.nextAttemptAt),
    last_ok_at: toText(row.lastOkAt),
  }
}

export async function pauseWebhook(
  deps: { readonly db: Db },
  key: StreamKey,
): Promise<WebhookStatus> {
  if ((await pauseStreamRow(deps.db, key)) === undefined) throw new ApiError('webhook_not_found')
  return getWebhookStatus(deps, key)
}

/** Also of one that is not paused: it is tried at once, as after the end of a back-off. */
export async function resumeWebhook(
  deps: { readonly db: Db; readonly wakeups: Pick<Wakeups, 'wake'> },
  key: StreamKey,
): Promise<WebhookStatus> {
  const resumed = await resumeStreamRow(deps.db, key)
  if (resumed === undefined || resumed.isActive === null) throw new ApiError('webhook_not_found')
  deps.wakeups.wake([{ ...key, bucket: bucketOf(key.webhookId) }])
  return getWebhookStatus(deps, key)
}

function stateShown(row: StatusRow): WebhookStatus['state'] {
  const state = stateOf(row)
  // Its subscription is there.
  return state === 'deleted' ? 'inactive' : state
}

/** Nearest rank. */
function quantile(sorted: readonly number[], part: number): number | null {
  return sorted[Math.ceil(sorted.length * part) - 1] ?? null
}

function earlier(a: Date | null, b: Date | null): Date | null {
  if (a === null || b === null) return a ?? b
  return a < b ? a : b
}

function toText(at: Date | null): string | null {
  return at === null ? null : at.toISOString()
}
