/**
 * The preview of a stored template in a browser (docs/reference/templates.md#preview): a version with its sample
 * data, in a page like that of an email. People alone get it, under `/ui/api`.
 */
import { templateParams, templateVersionMax } from '@postrider/contract'
import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import { ApiError } from '../../../platform/errors.ts'
import { isSessionCall } from '../../../platform/http/sessions/session.ts'
import { pageOfText, previewHeaders } from '../../content/preview/mail-page.ts'
import type { TemplateDeps } from '../change-template.ts'
import { previewTemplate } from '../preview-template.ts'

const query = Type.Object(
  {
    tenant: Type.Optional(Type.String({ maxLength: 64 })),
    version: Type.Optional(Type.Integer({ minimum: 1, maximum: templateVersionMax })),
  },
  { additionalProperties: false },
)

export function templatePreviewRoute(app: FastifyInstance, deps: TemplateDeps): void {
  app.get<{ Params: { template_id: string }; Querystring: { version?: number } }>(
    '/v1/templates/:template_id/preview',
    {
      // A frame cannot set the header that names the tenant.
      config: { auth: 'tenant', scopes: ['send', 'read'], mayNameTenantInQuery: true },
      schema: { hide: true, params: templateParams, querystring: query },
      exposeHeadRoute: false,
    },
    async (request, reply) => {
      if (!isSessionCall(request)) throw new ApiError('not_found')
      const key = { tenantId: request.tenant.tenantId, templateId: request.params.template_id }
      const { html, text } = await previewTemplate(deps, key, { version: request.query.version })
      reply.headers(previewHeaders)
      return html ?? pageOfText(text ?? '')
    },
  )
}
