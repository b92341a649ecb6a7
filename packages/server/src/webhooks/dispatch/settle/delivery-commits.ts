/**
 * The commits of webhook requests, each shared by the streams that reach it together, and what a process
 * remembers between them.
 */
import { createGroupCommit, type Db } from '../../../platform/db/index.ts'
import type { DeliverDeps } from '../deliver-batch.ts'
import { createBodyBudget } from '../request/body-budget.ts'
import { createLastRequests } from '../request/last-requests.ts'
import { createTargetCache } from '../request/target-cache.ts'
import { restStreams } from '../stream-store.ts'
import { createPrefetch } from '../take/prefetch.ts'
import { createQueueCursor } from '../take/queue-cursor.ts'
import type { Taken } from '../take/take-deliveries.ts'
import { type TurnResult, takeTurns } from '../take/take-turns.ts'
import type { Settled } from './settle-deliveries.ts'

/** One at a time: larger groups cost less, and a request waits for two of them at most. */
const GROUP_MAX = 128

export function createDeliveryCommits(
  db: Db,
): Pick<
  DeliverDeps,
  | 'take'
  | 'settle'
  | 'settleAndTake'
  | 'rests'
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
    rests: createGroupCommit({ db, itemsMax: GROUP_MAX, run: restStreams, isFlushed: false }),
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
