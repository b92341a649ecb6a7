/** The two commits of a webhook request, each shared by the streams that reach it together. */
import { createGroupCommit, type Db } from '../../platform/db/index.ts'
import type { DeliverDeps } from './deliver-batch.ts'
import { freezeDeliveries } from './delivery-store.ts'
import { settleDeliveries } from './settlement-store.ts'

const GROUP_MAX = 64

export function createDeliveryCommits(db: Db): Pick<DeliverDeps, 'freezes' | 'settlements'> {
  return {
    freezes: createGroupCommit({ db, itemsMax: GROUP_MAX, run: freezeDeliveries }),
    // A lost acknowledgement is a repetition of the same body, so it need not be flushed at once.
    settlements: createGroupCommit({
      db,
      itemsMax: GROUP_MAX,
      synchronousCommit: 'off',
      run: settleDeliveries,
    }),
  }
}
