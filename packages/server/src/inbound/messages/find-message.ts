/** A tenant's message by its id; what is not one is not found. */
import type { Db } from '../../platform/db/index.ts'
import { ApiError } from '../../platform/errors.ts'
import { isId } from '../../platform/ids.ts'
import { findMessage, type StoredMessage } from '../message-store.ts'

export async function findInboundMessage(
  db: Db,
  tenantId: string,
  inboundId: string,
): Promise<StoredMessage> {
  const found = isId('in', inboundId) ? await findMessage(db, { tenantId, inboundId }) : undefined
  if (found === undefined) throw new ApiError('not_found')
  return found
}
