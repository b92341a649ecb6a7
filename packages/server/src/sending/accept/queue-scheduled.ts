/** Puts what was to be sent later into the queue, just before it is due. */
import type { Db } from '../../platform/db/index.ts'
import { dayOfUlid } from '../../platform/ids.ts'
import { setStatuses } from '../attempt/attempt-store.ts'
import { isAnyDue, MOVED_MAX, moveDue } from './schedule-store.ts'

/** The rest of what is due in one second waits for the next look. */
const PIECES_MAX = 50
const QUEUED = { status: 'queued', attempt: 0, failedReason: '' }

/** Of these buckets; one probe where nothing is due. */
export async function queueScheduled(db: Db, buckets: readonly number[]): Promise<void> {
  if (!(await isAnyDue(db, buckets))) return
  for (let i = 0; i < PIECES_MAX; i++) {
    const moved = await db.transaction(async (tx) => {
      const keys = await moveDue(tx, buckets)
      await setStatuses(
        tx,
        keys.map((key) => ({ ...key, ...QUEUED, day: dayOfUlid(key.refId) })),
      )
      return keys.length
    })
    if (moved < MOVED_MAX) return
  }
}
