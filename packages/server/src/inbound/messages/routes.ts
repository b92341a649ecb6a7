/** Received messages: what became of each, and what it held (docs/reference/events.md#incoming-email). */
import {
  getInboundMessageAnswer,
  inboundAttachmentParams,
  inboundMessageParams,
  listInboundMessagesAnswer,
  listInboundMessagesQuery,
} from '@postrider/contract'
import { type ConcurrencyLimiter, enterLimiter } from '@postrider/runtime/concurrency-limiter'
import type { FastifyInstance } from 'fastify'
import { offerFile, streamInSlices } from '../../platform/http/file-answer.ts'
import { addOperation, addStreamOperation } from '../../platform/http/operation.ts'
import { mayReadContent } from '../../webhooks/index.ts'
import { findInboundMessage } from './find-message.ts'
import { listInboundMessages } from './list-messages.ts'
import { toInboundMessage } from './message-wire.ts'
import { type OpenRawDeps, openRaw } from './open-raw.ts'
import { type ReadAttachmentDeps, readAttachment } from './read-attachment.ts'

export interface InboundMessageRouteDeps extends OpenRawDeps, ReadAttachmentDeps {
  readonly publicUrl: string
  /** Of attachments, each with its whole message. */
  readonly attachmentLimiter: ConcurrencyLimiter
  readonly sendMsMax?: number
}

const TAG = 'Inbound mail'

export function inboundMessageRoutes(app: FastifyInstance, deps: InboundMessageRouteDeps): void {
  const { db, limiter, publicUrl } = deps

  addOperation(app, 'listInboundMessages', {
    summary: 'List received messages',
    description: 'Newest first, for as long as they are kept (`POSTRIDER_RETENTION`).',
    tag: TAG,
    query: listInboundMessagesQuery,
    answer: listInboundMessagesAnswer,
    scopes: ['read'],
    errors: ['rate_limited'],
    async handle({ tenant, query }) {
      const { tenantId } = tenant
      const shown = { db, publicUrl, mayReadContent: mayReadContent(tenant) }
      const page = await limiter.run(tenantId, () => listInboundMessages(shown, tenantId, query))
      return { message: 'Inbound Messages', ...page }
    },
  })

  addOperation(app, 'getInboundMessage', {
    summary: 'Get what became of a received message',
    tag: TAG,
    params: inboundMessageParams,
    answer: getInboundMessageAnswer,
    scopes: ['read'],
    async handle({ tenant, params }) {
      const found = await findInboundMessage(db, tenant.tenantId, params.inbound_id)
      const shown = { publicUrl, mayReadContent: mayReadContent(tenant) }
      return { message: 'Inbound Message', inbound_message: toInboundMessage(found, shown) }
    },
  })

  addStreamOperation(app, 'getRawInboundMessage', {
    summary: 'A received message as it was received',
    description:
      'Byte for byte, with the trace headers that were added on receipt. It is what somebody else has sent: nothing in it has been checked. Kept for `POSTRIDER_CONTENT_RETENTION`, then 410 `content_removed`.',
    tag: TAG,
    params: inboundMessageParams,
    contentTypes: ['message/rfc822'],
    answerHeaders: ['Content-Disposition'],
    scopes: ['content'],
    errors: ['rate_limited', 'content_removed'],
    async handle({ tenant: { tenantId }, params: { inbound_id }, reply }) {
      const { bytes, stream } = await openRaw(deps, tenantId, inbound_id)
      const filename = `${inbound_id}.eml`
      offerFile(reply, { type: 'message/rfc822', filename, fallback: 'message.eml' })
      reply.header('content-length', bytes)
      return stream
    },
  })

  addStreamOperation(app, 'getInboundAttachment', {
    summary: 'An attachment of a received message',
    description:
      'Decoded, by its place among `attachments` of the event. It is what somebody else has sent: nothing in it has been checked, its type is not told, and no browser should show it. Kept for `POSTRIDER_CONTENT_RETENTION`, then 410 `content_removed`.',
    tag: TAG,
    params: inboundAttachmentParams,
    contentTypes: ['application/octet-stream'],
    answerHeaders: ['Content-Disposition'],
    scopes: ['content'],
    errors: ['rate_limited', 'content_removed'],
    async handle({ tenant: { tenantId }, params: { inbound_id: inboundId, n }, reply }) {
      const leave = await enterLimiter(deps.attachmentLimiter, tenantId)
      try {
        const { filename, content } = await readAttachment(deps, tenantId, { inboundId, n })
        const fallback = `attachment-${n}`
        offerFile(reply, { type: 'application/octet-stream', filename, fallback })
        return streamInSlices(reply, content, leave, deps.sendMsMax)
      } catch (error) {
        leave()
        throw error
      }
    },
  })
}
