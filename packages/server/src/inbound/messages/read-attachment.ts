/** A message as its parser reads it, and one attachment of it: it is read anew for each. */
import type { MessageParser, ParsedAttachment, ParsedMessage } from '@postrider/mail'
import { type Db, readByIndex } from '../../platform/db/index.ts'
import { ApiError } from '../../platform/errors.ts'
import { findInboundMessage, receivedContentRemoved } from './find-message.ts'
import { loadMessage } from './message-store.ts'

export interface ReadAttachmentDeps {
  readonly db: Db
  readonly parser: Pick<MessageParser, 'parse'>
}

export async function readParsed(
  { db, parser }: ReadAttachmentDeps,
  tenantId: string,
  inboundId: string,
): Promise<ParsedMessage> {
  await findInboundMessage(db, tenantId, inboundId)
  const message = await readByIndex(db, (tx) => loadMessage(tx, { tenantId, inboundId }))
  if (message === undefined) throw receivedContentRemoved()
  // Not in the line of the tenant's messages that are still to be reported.
  return await parser.parse(`${tenantId} attachments`, message.raw)
}

export async function readAttachment(
  deps: ReadAttachmentDeps,
  tenantId: string,
  { inboundId, n }: { readonly inboundId: string; readonly n: number },
): Promise<ParsedAttachment> {
  const { attachments } = await readParsed(deps, tenantId, inboundId)
  const attachment = attachments[n]
  if (attachment === undefined) throw new ApiError('not_found')
  return attachment
}
