/**
 * The commits of webhook requests, each shared by the streams that reach it together, and what a process
 * remembers between them.
 */
import { createGroupCommit, type Db } from '../../platform/db/index.ts'
import type { DeliverDeps } from './deliver-batch.ts'
import { createLowWater } from './low-water.ts'
import { settleDeliveries } from './settle-deliveries.ts'
import { restStreams } from './stream-store.ts'
import { takeDeliveries } from './take-deliveries.ts'
import { createTargetCache } from './target-cache.ts'

/** One at a time of each kind: larger groups cost less, and a step waits for two of them at most. */
const GROUP_MAX = 128

export function createDeliveryCommits(
  db: Db,
): Pick<DeliverDeps, 'takes' | 'settlements' | 'rests' | 'lowWater' | 'targets'> {
  return {
    takes: createGroupCommit({ db, itemsMax: GROUP_MAX, lanes: 1, run: takeDeliveries }),
    // A lost acknowledgement is a repetition of the same body, so it need not be flushed at once.
    settlements: createGroupCommit({
      db,
      itemsMax: GROUP_MAX,
      lanes: 1,
      synchronousCommit: 'off',
      run: settleDeliveries,
    }),
    rests: createGroupCommit({
      db,
      itemsMax: GROUP_MAX,
      synchronousCommit: 'off',
      run: restStreams,
    }),
    lowWater: createLowWater(),
    targets: createTargetCache(),
  }
}
