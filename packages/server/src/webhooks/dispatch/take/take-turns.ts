/**
 * A turn of a stream: its last request is settled, and what it sends next is taken. Those of a group of
 * streams share one transaction, whichever half each of them needs: a busy stream both at once.
 */
import { planByIndex, type Tx } from '../../../platform/db/index.ts'
import {
  type Settled,
  type Settlement,
  settleDeliveries,
  settleHeld,
} from '../settle/settle-deliveries.ts'
import { lockForSettling } from '../settle/settle-store.ts'
import { type Take, type Taken, takeDeliveries } from './take-deliveries.ts'

export interface Turn {
  /** With a take beside it: of an accepted delivery. What a refused one leaves comes before what is new. */
  readonly settlement?: Settlement
  /** Of the same stream. */
  readonly take?: Take
}

export interface TurnResult {
  readonly settled: Settled | undefined
  readonly taken: Taken | undefined
}

/** By place in `turns`. */
export async function takeTurns(tx: Tx, turns: readonly Turn[]): Promise<TurnResult[]> {
  const settlements = turns.flatMap((turn) => turn.settlement ?? [])
  const takes = turns.flatMap((turn) => turn.take ?? [])
  const [settled, taken] = await settleAndTake(tx, settlements, takes)
  const nextSettled = settled.values()
  const nextTaken = taken.values()
  return turns.map(({ settlement, take }) => ({
    settled: settlement && nextSettled.next().value,
    taken: take && nextTaken.next().value,
  }))
}

async function settleAndTake(
  tx: Tx,
  settlements: readonly Settlement[],
  takes: readonly Take[],
): Promise<[Settled[], Taken[]]> {
  if (settlements.length === 0) return [[], await takeDeliveries(tx, takes)]
  if (takes.length === 0) return [await settleDeliveries(tx, settlements), []]
  const [, held] = await Promise.all([planByIndex(tx), lockForSettling(tx, settlements)])
  // In one write: the statements of a connection run in the order in which they are issued.
  return Promise.all([settleHeld(tx, settlements, held), takeDeliveries(tx, takes)])
}
