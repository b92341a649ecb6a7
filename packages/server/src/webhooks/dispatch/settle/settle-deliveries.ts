/**
 * Settles the requests of a group in one transaction: the attempt, what becomes of the delivery and how
 * its stream goes on. A stream that another transaction holds is left out: a lock of one delays no
 * other.
 *
 * It need not be flushed at once: what is lost of it in a crash is a repetition of the same bytes. A
 * divided delivery leaves as it is recorded, and its halves take their place in the same transaction.
 */
import { planByIndex, type Tx } from '../../../platform/db/index.ts'
import type { StreamKey } from '../stream-store.ts'
import { existingStreams, insertOpen, type NewOpenDelivery } from '../take/take-store.ts'
import type { DeliveryStep } from './decide-delivery.ts'
import {
  lockForSettling,
  type RefusedRow,
  type SettledDelivery,
  settleDelivered,
  settleRefused,
} from './settle-store.ts'

export interface Settlement extends StreamKey {
  readonly deliveryId: string
  /** `fail_count` of the stream when the request was made. */
  readonly failCount: number
  /** Of the stream when the request was made. */
  readonly epoch: number
  /** Before this request. */
  readonly isParked: boolean
  /** As in `SettledDelivery`. */
  readonly attempt: string
  readonly step: DeliveryStep
  /** Of a divided delivery. */
  readonly halves: readonly NewOpenDelivery[]
}

/**
 * False when the delivery is no longer its stream's: then nothing is written of it. `locked`: nothing is
 * written of it yet.
 */
export type Settled = boolean | 'locked'

export async function settleDeliveries(
  tx: Tx,
  settlements: readonly Settlement[],
): Promise<Settled[]> {
  const [, held] = await Promise.all([planByIndex(tx), lockForSettling(tx, settlements)])
  return settleHeld(tx, settlements, held)
}

/** Of those whose streams are held (by place). Its statements are issued at once, save for what is rare. */
export async function settleHeld(
  tx: Tx,
  settlements: readonly Settlement[],
  held: ReadonlySet<number>,
): Promise<Settled[]> {
  const delivered: (SettledDelivery & { n: number; endsProbe: boolean })[] = []
  const refused: (RefusedRow & { n: number; halves: readonly NewOpenDelivery[] })[] = []
  const isSettled = new Array<Settled>(settlements.length).fill(false)
  for (const [n, settlement] of settlements.entries()) {
    if (!held.has(n)) continue
    const { tenantId, webhookId, deliveryId, epoch, attempt, step } = settlement
    if (step.kind === 'delivered')
      delivered.push({
        n,
        tenantId,
        webhookId,
        deliveryId,
        epoch,
        attempt,
        endsProbe: step.endsProbe,
      })
    else refused.push({ n, ...refusalOf(settlement, step), halves: settlement.halves })
  }
  const [deliveredPlaces, refusedPlaces] = await Promise.all([
    settleDelivered(tx, delivered),
    settleRefused(tx, refused),
  ])
  for (const place of deliveredPlaces) isSettled[delivered[place]?.n ?? -1] = true
  const halves: NewOpenDelivery[] = []
  for (const place of refusedPlaces) {
    const row = refused[place]
    if (row === undefined) continue
    isSettled[row.n] = true
    halves.push(...row.halves)
  }
  if (halves.length > 0) await insertOpen(tx, halves)
  if (held.size < settlements.length) await noteLocked(tx, settlements, held, isSettled)
  return isSettled
}

/** Of those that could not be locked: a stream that is gone will never be free again. */
async function noteLocked(
  tx: Tx,
  settlements: readonly Settlement[],
  held: ReadonlySet<number>,
  isSettled: Settled[],
): Promise<void> {
  for (const n of await existingStreams(tx, settlements)) if (!held.has(n)) isSettled[n] = 'locked'
}

function refusalOf(s: Settlement, step: Exclude<DeliveryStep, { kind: 'delivered' }>): RefusedRow {
  return {
    tenantId: s.tenantId,
    webhookId: s.webhookId,
    deliveryId: s.deliveryId,
    epoch: s.epoch,
    attempt: s.attempt,
    failCount: s.failCount,
    step: step.kind,
    waitMs: step.kind === 'divided' ? 0 : step.waitMs,
    ...backOffOf(step),
    isRefusedAnew:
      !s.isParked && (step.kind === 'parked' || (step.kind === 'exhausted' && step.isReceiverUp)),
    batchBytesMax: step.kind === 'divided' ? step.batchBytesMax : undefined,
    dividedInto: s.halves.length === 0 ? undefined : s.halves.map((half) => half.deliveryId),
  }
}

function backOffOf(
  step: Exclude<DeliveryStep, { kind: 'delivered' }>,
): Pick<RefusedRow, 'isReceiverUp' | 'backOffMs'> {
  if (step.kind === 'retry') return { isReceiverUp: false, backOffMs: step.waitMs }
  if (step.kind === 'exhausted') return { isReceiverUp: step.isReceiverUp, backOffMs: step.waitMs }
  return { isReceiverUp: true, backOffMs: step.kind === 'parked' ? (step.backOffMs ?? 0) : 0 }
}
