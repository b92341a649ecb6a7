/** A tenant's message by its id; what is not one is not found. */
import { type Db, readByIndex } from '../../platform/db/index.ts'
import { ApiError } from '../../platform/errors.ts'
import { isId } from '../../platform/ids.ts'
import { findMessage, type StoredMessage } from './message-store.ts'

/** Of a message whose record is there, or was a moment ago. */
export function receivedContentRemoved(): ApiError {
  return new ApiError('content_removed', {
    message:
      'The content of this message was removed: it is kept for POSTRIDER_CONTENT_RETENTION only. What became of the message, and its event, are still there',
  })
}

export async function findInboundMessage(
  db: Db,
  tenantId: string,
  inboundId: string,
): Promise<StoredMessage> {
  const key = { tenantId, inboundId }
  const found = isId('in', inboundId)
    ? await readByIndex(db, (tx) => findMessage(tx, key))
    : undefined
  if (found === undefined) throw new ApiError('not_found')
  return found
}
