/**
 * What an operator does to the stream of one webhook: look, pause, resume, replay.
 *
 * Paused: nothing is sent and everything is kept, for as long as the event log keeps it. Resumed: it
 * is tried at once, as one that has not failed, and so is what is parked. Dispatchers that run see either with their next look
 * at the stream, within a second.
 */
import type { Queryable } from '../../../platform/db/index.ts'
import { ApiError } from '../../../platform/errors.ts'
import {
  type ReplayDeps,
  type ReplaySelection,
  replayEvents,
} from '../../deliveries/replay-events.ts'
import {
  findStreamOwner,
  findWebhook,
  listStreamRows,
  type PausedStream,
  pauseStreamRow,
  type ResumedStream,
  resumeStreamRow,
  type StreamRow,
} from './operate-store.ts'

/** `parked`: nothing but events that were refused one by one, which are tried again later. */
export type StreamState = StreamRow['condition'] | 'parked' | 'inactive' | 'deleted'

export interface ListedStream {
  readonly webhook_id: string
  readonly tenant_id: string
  /** Null when the webhook is deleted. */
  readonly event: string | null
  /** The mailer or inbound route whose own webhook it is. */
  readonly owner: string | null
  /** Scheme, host and port of its URL, which may hold secrets elsewhere; null when it is deleted. */
  readonly origin: string | null
  readonly state: StreamState
  /** Null when it is deleted. What is recorded while it is false is not queued. */
  readonly active: boolean | null
  /** Counted up to `pendingMax`. */
  readonly events_pending: number
  readonly deliveries_open: number
  readonly deliveries_parked: number
  readonly oldest_pending_at: string | null
  readonly failing_since: string | null
  /** Requests in a row; of a receiver that refuses everything, events. */
  readonly failures: number
  readonly next_attempt_at: string | null
  readonly last_ok_at: string | null
  readonly paused_at: string | null
}

export const pendingMax = 10_000
const PAGE = 200

/** Every stream, or those of a tenant, or those that fail, by tenant and webhook. */
export async function listStreams(
  { db }: { readonly db: Queryable },
  filter: { readonly tenantId?: string; readonly isFailing?: boolean } = {},
): Promise<ListedStream[]> {
  const { tenantId, isFailing = false } = filter
  const all: StreamRow[] = []
  for (;;) {
    const after = all.at(-1)
    const o = { tenantId, isFailing, after, limit: PAGE, countMax: pendingMax }
    const page = await listStreamRows(db, o)
    all.push(...page)
    if (page.length < PAGE) return all.map(toListed)
  }
}

function toListed(row: StreamRow): ListedStream {
  return {
    webhook_id: row.webhookId,
    tenant_id: row.tenantId,
    event: row.event,
    owner: row.owner === '' ? null : row.owner,
    origin: row.url === null ? null : new URL(row.url).origin,
    state: stateOf(row),
    active: row.isActive,
    events_pending: row.pending,
    deliveries_open: row.open,
    deliveries_parked: row.parked,
    oldest_pending_at: toText(row.oldestAt),
    failing_since: toText(row.failingSince),
    failures: row.failCount,
    next_attempt_at: toText(row.nextAttemptAt),
    last_ok_at: toText(row.lastOkAt),
    paused_at: toText(row.pausedAt),
  }
}

export function stateOf({
  condition,
  isActive,
  parked,
}: Pick<StreamRow, 'condition' | 'isActive' | 'parked'>): StreamState {
  if (condition === 'paused') return 'paused'
  if (isActive === null) return 'deleted'
  if (!isActive) return 'inactive'
  return condition === 'idle' && parked > 0 ? 'parked' : condition
}

function toText(at: Date | null): string | null {
  return at === null ? null : at.toISOString()
}

/** The tenant of a stream, whose webhook may be deleted. */
export async function ownerOfStream(
  { db }: { readonly db: Queryable },
  webhookId: string,
): Promise<string> {
  const tenantId = await findStreamOwner(db, webhookId)
  if (tenantId === undefined) throw new ApiError('not_found')
  return tenantId
}

export async function pauseStream(
  { db }: { readonly db: Queryable },
  webhookId: string,
): Promise<PausedStream> {
  const paused = await pauseStreamRow(db, { webhookId })
  if (paused !== undefined) return paused
  await ownerOfStream({ db }, webhookId)
  throw new ApiError('conflict', {
    message: `${webhookId} is deleted: its remaining events are discarded, not sent`,
  })
}

export async function resumeStream(
  { db }: { readonly db: Queryable },
  webhookId: string,
): Promise<ResumedStream> {
  const resumed = await resumeStreamRow(db, { webhookId })
  if (resumed === undefined) throw new ApiError('not_found')
  return resumed
}

/** As the tenant may by the API, for this webhook alone, however often. */
export async function replayStream(
  deps: ReplayDeps,
  webhookId: string,
  selection: Omit<ReplaySelection, 'webhook_id'>,
): Promise<{
  readonly tenantId: string
  readonly replayed: number
  /** Then they wait for the end of the pause. */
  readonly pausedAt: Date | null
}> {
  const webhook = await findWebhook(deps.db, webhookId)
  if (webhook === undefined) throw new ApiError('not_found')
  const { tenantId, isActive, pausedAt } = webhook
  if (!isActive) throw new ApiError('conflict', { message: `${webhookId} is not active` })
  const o = { ...selection, webhook_id: webhookId }
  const { replayed } = await replayEvents(deps, tenantId, o)
  return { tenantId, pausedAt, replayed }
}
