/**
 * Whose mail waits for another attempt because of the mailer itself: its login, its server or the way
 * to it. Of each mailer's class ten recipients are looked at, those who are tried next.
 */
import { concernsMailer, type FailureCategory } from '@postrider/mail'
import type { Tx } from '../../platform/db/index.ts'
import { dayOfUlid } from '../../platform/ids.ts'
import { discoverQueues, type QueueKey, type QueueWithClaims } from '../queue/claim/claim-store.ts'
import { queueIdOf } from '../queue/mailer-queue.ts'
import { findNextRetries, readLastFailures } from './observe-store.ts'

export interface WaitingReason extends QueueKey {
  readonly failedReason: string
  readonly providerError: string
  readonly category: string
  readonly nextInMs: number
}

const QUEUES_MAX = 1_000

/** One of each mailer; those that are tried next first. In a transaction whose plans are in order. */
export async function findBlamed(tx: Tx, buckets: readonly number[]): Promise<WaitingReason[]> {
  return await findBlamedOf(tx, await discoverQueues(tx, buckets))
}

/** The same, of queues that are known. */
export async function findBlamedOf(
  tx: Tx,
  queues: readonly QueueWithClaims[],
): Promise<WaitingReason[]> {
  const retries = await findNextRetries(tx, queues.slice(0, QUEUES_MAX))
  const dated = retries.map((one) => ({ ...one, day: dayOfUlid(one.refId) }))
  const failures = await readLastFailures(tx, dated)
  const blamed = failures.filter(({ category, providerError }) =>
    concernsMailer(category as FailureCategory, providerError),
  )
  const sorted = blamed.toSorted((a, b) => a.nextInMs - b.nextInMs)
  // The first of each stays.
  const byMailer = new Map(sorted.toReversed().map((one) => [queueIdOf(one), one]))
  return sorted.filter((one) => byMailer.get(queueIdOf(one)) === one)
}
