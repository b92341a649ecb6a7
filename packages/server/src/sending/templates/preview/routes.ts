/**
 * The preview of a template in a browser (docs/reference/templates.md#preview): a stored version with its sample
 * data, or what a form holds, in a page like that of an email. People alone get it, under `/ui/api`.
 */
import {
  type PreviewTemplateDraftBody,
  previewTemplateDraftBody,
  type TemplatePreview,
  templateParams,
  templateVersionMax,
} from '@postrider/contract'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { ApiError } from '../../../platform/errors.ts'
import { isSessionCall } from '../../../platform/http/sessions/session.ts'
import { pageOfHtml, pageOfText, previewHeaders } from '../../content/preview/mail-page.ts'
import type { TemplateDeps } from '../change-template.ts'
import { previewDraft, previewTemplate } from '../preview-template.ts'

const tenant = Type.Optional(Type.String({ maxLength: 64 }))
const ofVersion = Type.Object(
  {
    tenant,
    version: Type.Optional(Type.Integer({ minimum: 1, maximum: templateVersionMax })),
  },
  { additionalProperties: false },
)
const ofDraft = Type.Object({ tenant }, { additionalProperties: false })

const read = { auth: 'tenant', scopes: ['send', 'read'], mayNameTenantInQuery: true } as const

export function templatePreviewRoute(app: FastifyInstance, deps: TemplateDeps): void {
  app.get<{ Params: { template_id: string }; Querystring: { version?: number } }>(
    '/v1/templates/:template_id/preview',
    {
      // A frame cannot set the header that names the tenant.
      config: read,
      schema: { hide: true, params: templateParams, querystring: ofVersion },
      exposeHeadRoute: false,
    },
    async (request, reply) => {
      if (!isSessionCall(request)) throw new ApiError('not_found')
      const key = { tenantId: request.tenant.tenantId, templateId: request.params.template_id }
      const preview = await previewTemplate(deps, key, { version: request.query.version })
      reply.headers(previewHeaders)
      return await pageOf(preview)
    },
  )
  app.register(async (scope) => draftRoute(scope, deps))
}

/** A form whose target is the frame posts the draft: a frame with it would else be a part of the page around it. */
function draftRoute(app: FastifyInstance, deps: TemplateDeps): void {
  app.addContentTypeParser(
    'text/plain',
    { parseAs: 'buffer' },
    async (request: FastifyRequest, body: Buffer) =>
      app.jsonReader.read(request.tenant.tenantId, fieldOf(body)),
  )
  app.post<{ Body: PreviewTemplateDraftBody }>(
    '/v1/templates/preview/page',
    {
      config: { ...read, isFormRead: true },
      schema: { hide: true, querystring: ofDraft, body: previewTemplateDraftBody },
    },
    async (request, reply) => {
      if (!isSessionCall(request)) throw new ApiError('not_found')
      const preview = await previewDraft(deps, request.tenant.tenantId, request.body)
      reply.headers(previewHeaders)
      return await pageOf(preview)
    },
  )
}

async function pageOf({ html, text }: TemplatePreview): Promise<string> {
  return html === null ? pageOfText(text ?? '') : await pageOfHtml(html)
}

const FIELD = 'draft='

/** A form of the type `text/plain` with this field alone: `draft={…}`, and the end of the line. */
function fieldOf(body: Buffer): Buffer {
  if (body.toString('latin1', 0, FIELD.length) !== FIELD) throw new ApiError('invalid_json')
  return body.subarray(FIELD.length)
}
