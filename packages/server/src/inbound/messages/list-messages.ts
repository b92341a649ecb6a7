/** A tenant's received messages, newest first, page by page; or the one that is asked for. */
import type { InboundMessage, ListInboundMessagesQuery } from '@postrider/contract'
import { type Db, readByIndex, readInOrder } from '../../platform/db/index.ts'
import { cutPage, readPage } from '../../platform/http/paging.ts'
import { soughtId, ulidAtTime } from '../../platform/ids.ts'
import { findMessage, listMessages } from './message-store.ts'
import { type ShownMessage, toInboundMessage } from './message-wire.ts'

const INBOUND_ID = /^in_[0-7][0-9A-HJKMNP-TV-Z]{25}$/
/** What is stored now has a lower id. */
const AHEAD_MS = 86_400_000

export async function listInboundMessages(
  { db, ...shown }: ShownMessage & { readonly db: Db },
  tenantId: string,
  query: ListInboundMessagesQuery,
): Promise<{ inbound_messages: InboundMessage[]; nextPageToken?: string }> {
  const page = readPage(query, 'inbound_messages', INBOUND_ID)
  const { inbound_id: inboundId } = query
  if (inboundId !== undefined) {
    const key = { tenantId, inboundId: soughtId('in', inboundId) }
    const found = await readByIndex(db, (tx) => findMessage(tx, key))
    return { inbound_messages: found === undefined ? [] : [toInboundMessage(found, shown)] }
  }
  const before = page.before ?? `in_${ulidAtTime(Date.now() + AHEAD_MS)}`
  const found = await readInOrder(db, (tx) =>
    listMessages(tx, { tenantId, before, limit: page.limit + 1 }),
  )
  const { rows, ...next } = cutPage(found, page, ({ inboundId }) => inboundId)
  return { inbound_messages: rows.map((row) => toInboundMessage(row, shown)), ...next }
}
