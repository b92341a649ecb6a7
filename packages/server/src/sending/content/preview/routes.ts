/**
 * The preview of an email in a browser (docs/reference/sending.md#preview): its HTML, in a page
 * that runs nothing, loads nothing from elsewhere and has no origin. People alone get it, under `/ui/api`.
 */
import { emailLengthMax, emailParams } from '@postrider/contract'
import type { ConcurrencyLimiter } from '@postrider/runtime/concurrency-limiter'
import type { FastifyInstance } from 'fastify'
import { type Static, Type } from 'typebox'
import type { Queryable } from '../../../platform/db/index.ts'
import { ApiError } from '../../../platform/errors.ts'
import { isSessionCall } from '../../../platform/http/sessions/session.ts'
import { getContent } from '../get-content.ts'
import { pageOfHtml, pageOfText, previewHeaders } from './mail-page.ts'

const query = Type.Object(
  {
    tenant: Type.Optional(Type.String({ maxLength: 64 })),
    email: Type.Optional(Type.String({ maxLength: emailLengthMax })),
  },
  { additionalProperties: false },
)

export function previewRoute(
  app: FastifyInstance,
  { db, limiter }: { readonly db: Queryable; readonly limiter: ConcurrencyLimiter },
): void {
  app.get<{ Params: { ref_id: string }; Querystring: Static<typeof query> }>(
    '/v1/email/:ref_id/preview',
    {
      // A frame cannot set the header that names the tenant.
      config: { auth: 'tenant', scopes: ['content'], mayNameTenantInQuery: true },
      schema: { hide: true, params: emailParams, querystring: query },
      exposeHeadRoute: false,
    },
    async (request, reply) => {
      if (!isSessionCall(request)) throw new ApiError('not_found')
      const { tenantId } = request.tenant
      const { parts } = await limiter.run(tenantId, () =>
        getContent(db, tenantId, request.params.ref_id, request.query.email),
      )
      const html = parts.find(({ type }) => type === 'text/html')?.value
      const text = parts.find(({ type }) => type === 'text/plain')?.value ?? ''
      reply.headers(previewHeaders)
      return html === undefined ? pageOfText(text) : await pageOfHtml(html)
    },
  )
}
