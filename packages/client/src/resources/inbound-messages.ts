/** Received messages: what became of each, and what it held (contract §4). */
import type {
  GetInboundMessageAnswer,
  InboundMessage,
  ListInboundMessagesAnswer,
  ListInboundMessagesQuery,
} from '@postrider/contract'
import { eachEntry, type PagedList, pagedList } from '../core/pages.ts'
import type { Open, RequestOptions, Send } from '../core/request.ts'

const listPath = '/v1/inbound/messages'
const path = `${listPath}/{inbound_id}`

export function listInboundMessages(
  send: Send,
  page: ListInboundMessagesQuery = {},
  options?: RequestOptions,
): PagedList<ListInboundMessagesAnswer, InboundMessage> {
  const { pageToken: first, ...rest } = page
  const pageAt = (pageToken: string | undefined): Promise<ListInboundMessagesAnswer> => {
    const query = pageToken === undefined ? rest : { ...rest, pageToken }
    return send({ method: 'GET', path: listPath, query }, options)
  }
  return pagedList(
    () => pageAt(first),
    () =>
      eachEntry(
        first,
        async (pageToken) => {
          const { inbound_messages: entries, nextPageToken } = await pageAt(pageToken)
          return { entries, nextPageToken }
        },
        options,
      ),
  )
}

export function getInboundMessage(
  send: Send,
  inboundId: string,
  options?: RequestOptions,
): Promise<GetInboundMessageAnswer> {
  return send({ method: 'GET', path, parameters: { inbound_id: inboundId } }, options)
}

export function getRawInboundMessage(
  open: Open,
  inboundId: string,
  options?: RequestOptions,
): Promise<ReadableStream<Uint8Array>> {
  const parameters = { inbound_id: inboundId }
  return open({ method: 'GET', path: `${path}/raw`, parameters }, options)
}

export function getInboundAttachment(
  open: Open,
  inboundId: string,
  n: number,
  options?: RequestOptions,
): Promise<ReadableStream<Uint8Array>> {
  const parameters = { inbound_id: inboundId, n: String(n) }
  return open({ method: 'GET', path: `${path}/attachments/{n}`, parameters }, options)
}
