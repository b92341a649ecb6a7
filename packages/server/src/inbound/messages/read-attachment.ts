/** One attachment of a message, which is read anew for it. */
import type { MessageParser, ParsedAttachment } from '@postrider/mail'
import { type Db, readByIndex } from '../../platform/db/index.ts'
import { ApiError } from '../../platform/errors.ts'
import { findInboundMessage } from './find-message.ts'
import { loadMessage } from './message-store.ts'

export interface ReadAttachmentDeps {
  readonly db: Db
  readonly parser: Pick<MessageParser, 'parse'>
}

export async function readAttachment(
  { db, parser }: ReadAttachmentDeps,
  tenantId: string,
  { inboundId, n }: { readonly inboundId: string; readonly n: number },
): Promise<ParsedAttachment> {
  await findInboundMessage(db, tenantId, inboundId)
  const message = await readByIndex(db, (tx) => loadMessage(tx, { tenantId, inboundId }))
  if (message === undefined) throw new ApiError('not_found')
  // Not in the line of the tenant's messages that are still to be reported.
  const { attachments } = await parser.parse(`${tenantId} attachments`, message.raw)
  const attachment = attachments[n]
  if (attachment === undefined) throw new ApiError('not_found')
  return attachment
}
