/**
 * What `postrider doctor` finds in the send queue: how much mail waits, in which state and for how
 * long; whose queue is late; and of mail that waits for another attempt because of its mailer, why.
 */

import { LATE_AFTER_MS } from '../mailers/index.ts'
import { type Db, readInOrder, type Tx } from '../platform/db/index.ts'
import { bucketCount } from '../platform/db/leases.ts'
import { describeDuration } from '../platform/values/duration.ts'
import {
  findBlamed,
  measureQueue,
  type QueueFigures,
  type WaitingReason,
} from '../sending/index.ts'
import type { Finding } from './examine-work.ts'

const everyBucket = Array.from({ length: bucketCount }, (_, bucket) => bucket)
const NEXT = 'see postrider mailer list, postrider mailer test'

export async function examineSendQueue(db: Db): Promise<Finding[]> {
  return await readInOrder(db, async (tx: Tx) => {
    const figures = await measureQueue(tx, everyBucket)
    return [describeQueue(figures), describeRetries(await findBlamed(tx, everyBucket))]
  })
}

function describeQueue(figures: QueueFigures): Finding {
  const check = 'send queue'
  const { due, waiting, held, oldestDueMs, late } = figures
  const [longest] = late
  if (due + waiting + held === 0) return { check, state: 'ok', detail: 'empty' }
  const age = due === 0 ? '' : ` (the oldest for ${describeDuration(oldestDueMs)})`
  const counts = `${due} due${age}, ${waiting} waiting for a later time, ${held} held`
  if (longest === undefined) return { check, state: 'ok', detail: counts }
  const others = late.length === 1 ? '' : ` and ${late.length - 1} more`
  const { mailerId, tenantId, host, dueForMs } = longest
  const who = `${mailerId} of ${tenantId} (${host}), due for ${describeDuration(dueForMs)}${others}`
  const since = describeDuration(LATE_AFTER_MS)
  const detail = `${counts}; late (more than ${since}): ${who}: ${NEXT}`
  return { check, state: 'warning', detail }
}

function describeRetries(blamed: readonly WaitingReason[]): Finding {
  const check = 'retries'
  const [first] = blamed
  if (first === undefined)
    return { check, state: 'ok', detail: 'no mail waits because its mailer fails' }
  const { mailerId, tenantId, failedReason, providerError, nextInMs } = first
  const others = blamed.length === 1 ? '' : `, and that of other mailers (${blamed.length - 1})`
  const words = providerError === '' ? failedReason : `${failedReason} (${providerError})`
  const next = nextInMs < 1 ? 'now' : `in ${describeDuration(nextInMs)}`
  const detail = `mail of ${mailerId} of ${tenantId} waits for another attempt${others}: ${words}; next attempt ${next}: ${NEXT}`
  return { check, state: 'warning', detail }
}
