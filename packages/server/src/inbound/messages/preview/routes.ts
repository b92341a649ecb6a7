/**
 * The preview of a received message in a browser (docs/reference/inbound.md#preview): its HTML, in the page that
 * previews of sent mail have. People alone get it, under `/ui/api`.
 */
import { inboundMessageParams } from '@postrider/contract'
import type { ParsedMessage } from '@postrider/mail'
import { type ConcurrencyLimiter, enterLimiter } from '@postrider/runtime/concurrency-limiter'
import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import { ApiError } from '../../../platform/errors.ts'
import { isSessionCall } from '../../../platform/http/sessions/session.ts'
import { pageOfHtml, pageOfText, previewHeaders } from '../../../sending/index.ts'
import { type ReadAttachmentDeps, readParsed } from '../read-attachment.ts'

const query = Type.Object(
  { tenant: Type.Optional(Type.String({ maxLength: 64 })) },
  { additionalProperties: false },
)

export function inboundPreviewRoute(
  app: FastifyInstance,
  deps: ReadAttachmentDeps & { readonly attachmentLimiter: ConcurrencyLimiter },
): void {
  app.get<{ Params: { inbound_id: string } }>(
    '/v1/inbound/messages/:inbound_id/preview',
    {
      // A frame cannot set the header that names the tenant.
      config: { auth: 'tenant', scopes: ['content'], mayNameTenantInQuery: true },
      schema: { hide: true, params: inboundMessageParams, querystring: query },
      exposeHeadRoute: false,
    },
    async (request, reply) => {
      if (!isSessionCall(request)) throw new ApiError('not_found')
      const { tenantId } = request.tenant
      const leave = await enterLimiter(deps.attachmentLimiter, tenantId)
      try {
        const page = await pageOf(await readParsed(deps, tenantId, request.params.inbound_id))
        reply.headers(previewHeaders)
        return page
      } finally {
        leave()
      }
    },
  )
}

async function pageOf({ html, text }: ParsedMessage): Promise<string> {
  return html === '' ? pageOfText(text) : await pageOfHtml(html)
}
