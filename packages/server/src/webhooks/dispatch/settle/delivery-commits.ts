/**
 * The commits of webhook requests, each shared by the streams that reach it together, and what a process
 * remembers between them.
 */
import { createGroupCommit, type Db, planByIndex, type Tx } from '../../../platform/db/index.ts'
import type { DeliverDeps } from '../deliver-batch.ts'
import { createBodyBudget } from '../request/body-budget.ts'
import { createLastRequests } from '../request/last-requests.ts'
import { createTargetCache } from '../request/target-cache.ts'
import { idleStreams } from '../stream-store.ts'
import { createPrefetch } from '../take/prefetch.ts'
import { createQueueCursor } from '../take/queue-cursor.ts'
import { type Take, type Taken, takeDeliveries } from '../take/take-deliveries.ts'
import { type Settled, type Settlement, settleDeliveries, settleHeld } from './settle-deliveries.ts'
import { lockForSettling } from './settle-store.ts'

/** One at a time: larger groups cost less, and a request waits for two of them at most. */
const GROUP_MAX = 128

export function createDeliveryCommits(
  db: Db,
): Pick<
  DeliverDeps,
  | 'take'
  | 'settle'
  | 'settleAndTake'
  | 'idlings'
  | 'queueCursor'
  | 'prefetch'
  | 'bodyBudget'
  | 'targets'
  | 'lastRequests'
> {
  // What is taken is on disk before it is sent.
  const turns = createGroupCommit({ db, itemsMax: GROUP_MAX, parallel: 1, run: takeTurns })
  // Beside them: a settlement that is lost is a repetition of the same body, so none waits for the disk.
  const settlements = createGroupCommit({
    db,
    itemsMax: GROUP_MAX,
    parallel: 1,
    run: takeTurns,
    isFlushed: false,
  })
  return {
    take: async (take) => taken(await turns.add({ take })),
    settle: async (settlement) => settled(await settlements.add({ settlement })),
    async settleAndTake(settlement, take) {
      const result = await turns.add({ settlement, take })
      return { settled: settled(result), taken: taken(result) }
    },
    idlings: createGroupCommit({ db, itemsMax: GROUP_MAX, run: idleStreams, isFlushed: false }),
    queueCursor: createQueueCursor(),
    prefetch: createPrefetch(),
    bodyBudget: createBodyBudget(),
    targets: createTargetCache(),
    lastRequests: createLastRequests(),
  }
}

function taken(result: TurnResult): Taken {
  if (result.taken === undefined) throw new Error('A turn has no answer to its take')
  return result.taken
}

function settled(result: TurnResult): Settled {
  if (result.settled === undefined) throw new Error('A turn has no answer to its settlement')
  return result.settled
}

/**
 * A turn of a stream: its last request is settled, and what it sends next is taken. Those of a group of
 * streams share one transaction, whichever half each of them needs: a busy stream both at once.
 */
export interface Turn {
  /** With a take beside it: of an accepted delivery. What a refused one leaves comes before what is new. */
  readonly settlement?: Settlement
  /** Of the same stream. */
  readonly take?: Take
}

interface TurnResult {
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
