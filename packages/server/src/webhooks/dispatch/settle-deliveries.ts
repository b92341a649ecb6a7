/**
 * Settles the requests of a group in one transaction: the attempt, what becomes of the delivery and how
 * its stream goes on.
 *
 * It need not be flushed at once: what is lost of it in a crash is a repetition of the same bytes. A
 * divided delivery leaves as it is recorded, and its halves take their place in the same transaction.
 */
import type { Tx } from '../../platform/db/index.ts'
import type { DeliveryStep } from './decide-delivery.ts'
import {
  type RefusedRow,
  type SettledDelivery,
  settleDelivered,
  settleRefused,
} from './settle-store.ts'
import { planByIndex, type StreamKey } from './stream-store.ts'
import { insertOpen, type NewOpenDelivery } from './take-store.ts'

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

/** Per settlement, false when the delivery is no longer its stream's: then nothing is written of it. */
export async function settleDeliveries(
  tx: Tx,
  settlements: readonly Settlement[],
): Promise<boolean[]> {
  const delivered: (SettledDelivery & { n: number; endsProbe: boolean })[] = []
  const refused: (RefusedRow & { n: number; halves: readonly NewOpenDelivery[] })[] = []
  // In the order of the streams: two groups that meet wait for each other in one direction only.
  const inOrder = settlements
    .map((settlement, n) => ({ settlement, n }))
    .sort((a, b) => (a.settlement.webhookId < b.settlement.webhookId ? -1 : 1))
  for (const { settlement, n } of inOrder) {
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
  const [, deliveredPlaces, refusedPlaces] = await Promise.all([
    planByIndex(tx),
    settleDelivered(tx, delivered),
    settleRefused(tx, refused),
  ])
  const isSettled = new Array<boolean>(settlements.length).fill(false)
  for (const place of deliveredPlaces) isSettled[delivered[place]?.n ?? -1] = true
  const halves: NewOpenDelivery[] = []
  for (const place of refusedPlaces) {
    const row = refused[place]
    if (row === undefined) continue
    isSettled[row.n] = true
    halves.push(...row.halves)
  }
  if (halves.length > 0) await insertOpen(tx, halves)
  return isSettled
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
