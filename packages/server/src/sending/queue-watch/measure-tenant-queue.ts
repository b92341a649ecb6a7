/**
 * How much mail of one tenant, or of one mailer, is not finished, and what keeps it from going out. As with the
 * whole queue, no counter is kept with the rows: counts are exact up to 10,000, and estimated by a sample of
 * pages above that, never below what was counted.
 */
import { findHeldOf, findLate, type LateMailer, type MailerKey } from '../../mailers/index.ts'
import type { Tx } from '../../platform/db/index.ts'
import { bucketOf } from '../../platform/db/leases.ts'
import { isTestId } from '../../platform/ids.ts'
import { findHeldTenants } from '../../tenants/index.ts'
import type { QueueKey, QueueWithClaims } from '../queue/claim/claim-store.ts'
import { queueIdOf } from '../queue/mailer-queue.ts'
import { findBlamedOf, type WaitingReason } from './find-blamed.ts'
import { EXACT_MAX } from './measure-queue.ts'
import { countQueue } from './observe-store.ts'
import {
  countMailer,
  countTenant,
  discoverQueuesOf,
  type MailerCounts,
  sampleQueueOf,
} from './tenant-queue-store.ts'

export interface TenantQueue {
  /** In the send queue, whatever it waits for. */
  readonly waiting: number
  readonly due: number
  /** Not in the send queue: its time is ahead. */
  readonly scheduled: number
  /** Undefined: nothing is due. */
  readonly oldestDueMs: number | undefined
  /** The longest first. */
  readonly late: readonly LateMailer[]
  readonly held: number
  /** Not active, or of a tenant that sends nothing; and has mail. */
  readonly heldMailers: readonly MailerKey[]
  /** Undefined: the tenant is not suspended. */
  readonly suspendedSince: Date | undefined
  /** Whose mail waits for another attempt because of the mailer. */
  readonly failing: readonly WaitingReason[]
}

/** A tenant with mail of more mailers has its counts estimated. */
const QUEUES_MAX = 2_000
const SAMPLED_PAGES = 256

/** In a transaction whose plans are in order (`readInOrder`). */
export async function measureTenantQueue(
  tx: Tx,
  tenantId: string,
  exactMax = EXACT_MAX,
): Promise<TenantQueue> {
  const found = await discoverQueuesOf(tx, tenantId, QUEUES_MAX)
  const queues = found.filter(({ mailerId }) => !isTestId(mailerId))
  const [heldMailers, suspended, counted] = await Promise.all([
    findHeldOf(tx, once(queues)),
    findHeldTenants(tx, [tenantId]),
    countTenant(tx, tenantId, exactMax + 1),
  ])
  const ids = new Set(heldMailers.map(queueIdOf))
  const known = queues.map((queue) => ({ ...queue, isHeld: ids.has(queueIdOf(queue)) }))
  const { due, held } = await countQueue(tx, known, exactMax + 1)
  const isWhole = counted.waiting <= exactMax && found.length < QUEUES_MAX
  const of = {
    tenantId,
    heldMailers: heldMailers.map(({ mailerId }) => mailerId),
    pages: SAMPLED_PAGES,
  }
  const queued = isWhole ? undefined : await sampleQueueOf(tx, { ...of, table: 'sending_queue' })
  const later =
    counted.scheduled <= exactMax
      ? undefined
      : await sampleQueueOf(tx, { ...of, table: 'sending_scheduled' })
  const ages = oldestOf(known.filter(({ isHeld }) => !isHeld))
  return {
    waiting: atLeast(counted.waiting, queued?.waiting),
    due: atLeast(due, queued?.due),
    held: atLeast(held, queued?.held),
    scheduled: atLeast(counted.scheduled, later?.waiting),
    oldestDueMs: ages.find(({ dueForMs }) => dueForMs >= 0)?.dueForMs,
    late: await findLate(tx, ages),
    heldMailers,
    suspendedSince: suspended.get(tenantId)?.since,
    failing: await findBlamedOf(
      tx,
      known.filter(({ isHeld }) => !isHeld),
    ),
  }
}

/** One mailer's, counted the same way. */
export async function measureMailerQueue(
  tx: Tx,
  mailer: QueueKey,
  exactMax = EXACT_MAX,
): Promise<MailerCounts & { readonly held: number }> {
  const [isHeld, counted] = await Promise.all([
    findHeldOf(tx, [mailer]).then(({ length }) => length > 0),
    countMailer(tx, mailer, exactMax + 1),
  ])
  if (isHeld) return await heldOf(tx, mailer, counted, exactMax)
  if (counted.waiting <= exactMax) return { ...counted, held: 0 }
  const of = { ...mailer, heldMailers: [], pages: SAMPLED_PAGES }
  const sampled = await sampleQueueOf(tx, { ...of, table: 'sending_queue' })
  return {
    ...counted,
    waiting: atLeast(counted.waiting, sampled.waiting),
    due: counted.due <= exactMax ? counted.due : atLeast(counted.due, sampled.due),
    held: 0,
  }
}

/** Nothing is due of a mailer whose mail is held. */
async function heldOf(tx: Tx, mailer: QueueKey, { waiting }: MailerCounts, exactMax: number) {
  const classes = [false, true].map((isBulk) => ({
    ...{ ...mailer, isBulk, bucket: bucketOf(mailer.mailerId) },
    isHeld: true,
  }))
  const { held } = await countQueue(tx, classes, exactMax + 1)
  const nothing = { due: 0, oldestDueAt: null }
  if (waiting <= exactMax) return { ...nothing, waiting, held }
  const of = { ...mailer, heldMailers: [mailer.mailerId], pages: SAMPLED_PAGES }
  const sampled = await sampleQueueOf(tx, { ...of, table: 'sending_queue' })
  return {
    ...nothing,
    waiting: atLeast(waiting, sampled.waiting),
    held: atLeast(held, sampled.held),
  }
}

function atLeast(counted: number, estimated: number | undefined): number {
  return Math.max(counted, Math.round(estimated ?? 0))
}

function once(queues: readonly QueueWithClaims[]): MailerKey[] {
  return [...new Map(queues.map((queue) => [queueIdOf(queue), queue])).values()]
}

/** Of each mailer for how long its oldest mail has been due, the longest first. */
function oldestOf(queues: readonly QueueWithClaims[]) {
  const ages = new Map<string, QueueKey & { readonly dueForMs: number }>()
  for (const { tenantId, mailerId, waitMs } of queues) {
    const id = queueIdOf({ tenantId, mailerId })
    const dueForMs = -waitMs
    const other = ages.get(id)
    if (other === undefined || other.dueForMs < dueForMs)
      ages.set(id, { tenantId, mailerId, dueForMs })
  }
  return [...ages.values()].sort((a, b) => b.dueForMs - a.dueForMs)
}
