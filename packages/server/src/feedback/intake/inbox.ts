/**
 * Stores callbacks as they came: many in one commit. Also what a simulator would have called back
 * with. The worker of this process is woken after the commit; in another process, its sweep finds them.
 */
import type { RelayKind } from '@postrider/contract'
import type { Clock } from '../../platform/clock.ts'
import { createGroupCommit, type Db } from '../../platform/db/index.ts'
import { newUlid } from '../../platform/ids.ts'
import { insertCallbacks, type StoredCallback } from './inbox-store.ts'

export interface FeedbackInbox {
  /** Resolves when it is committed. */
  store(callback: {
    readonly tenantId: string
    readonly kind: RelayKind
    readonly body: string | Buffer
  }): Promise<void>
  onStored(listener: () => void): () => void
}

/** Of up to 4 MiB each. */
const GROUP_MAX = 16

export function createFeedbackInbox(deps: {
  readonly db: Db
  readonly clock: Pick<Clock, 'nowMicros'>
}): FeedbackInbox {
  const listeners = new Set<() => void>()
  const group = createGroupCommit<StoredCallback, undefined>({
    db: deps.db,
    itemsMax: GROUP_MAX,
    async run(tx, callbacks) {
      await insertCallbacks(tx, callbacks)
      return callbacks.map(() => undefined)
    },
  })
  return {
    async store({ tenantId, kind, body }) {
      await group.add({
        tenantId,
        kind,
        inboxId: newUlid(),
        receivedAtMicros: deps.clock.nowMicros(),
        body: typeof body === 'string' ? Buffer.from(body) : body,
      })
      for (const listener of listeners) listener()
    },
    onStored(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
  }
}
