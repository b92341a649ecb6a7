/** The operations on stored templates (docs/reference/templates.md). */
import {
  createTemplateAnswer,
  createTemplateBody,
  deleteTemplateAnswer,
  deleteTemplateQuery,
  getTemplateAnswer,
  getTemplateQuery,
  listTemplatesAnswer,
  listTemplatesQuery,
  previewTemplateAnswer,
  previewTemplateBody,
  previewTemplateDraftAnswer,
  previewTemplateDraftBody,
  templateParams,
  updateTemplateAnswer,
  updateTemplateBody,
} from '@postrider/contract'
import type { FastifyInstance } from 'fastify'
import { addOperation } from '../../platform/http/operation.ts'
import { createTemplate, type TemplateDeps, updateTemplate } from './change-template.ts'
import { deleteTemplate } from './delete-template.ts'
import { previewDraft, previewTemplate } from './preview-template.ts'
import { getTemplate, listTemplates, toTemplate } from './read-template.ts'

const tag = 'Templates'
/** A program that sends may look at what it sends. */
const READERS = ['send', 'read'] as const

export function templateRoutes(app: FastifyInstance, deps: TemplateDeps): void {
  changeRoutes(app, deps)
  const { db } = deps
  addOperation(app, 'listTemplates', {
    summary: 'List the templates',
    description: 'Newest first, each with its newest version, without content.',
    tag,
    scopes: READERS,
    query: listTemplatesQuery,
    answer: listTemplatesAnswer,
    async handle({ tenant, query }) {
      return { message: 'Templates', ...(await listTemplates(db, tenant.tenantId, query)) }
    },
  })

  addOperation(app, 'getTemplate', {
    summary: 'Get a template, with its versions',
    description: 'The newest version, or the one that `version` names, and a list of all versions.',
    tag,
    scopes: READERS,
    params: templateParams,
    query: getTemplateQuery,
    answer: getTemplateAnswer,
    async handle({ tenant, params, query }) {
      const key = { tenantId: tenant.tenantId, templateId: params.template_id }
      return { message: 'Template', ...(await getTemplate(db, key, query.version)) }
    },
  })

  previewRoutes(app, deps)
}

function changeRoutes(app: FastifyInstance, deps: TemplateDeps): void {
  addOperation(app, 'createTemplate', {
    summary: 'Store a template',
    description:
      'Subject and content are Liquid templates, rendered as those of sendEmail with `template_data`. What Liquid refuses is 400, with line and column, under the path of its part. `sample_data` is for previews; a template that cannot be rendered with it is refused, too. The name is unique in the account. Subject, content and sample data have at most 512 KiB together.',
    tag,
    scopes: ['send'],
    body: createTemplateBody,
    answer: createTemplateAnswer,
    errors: ['template_exists', 'too_many_templates', 'rate_limited'],
    async handle({ tenant, body }) {
      const template = await createTemplate(deps, tenant.tenantId, body)
      return { message: 'Template Created', template: toTemplate(template) }
    },
  })

  addOperation(app, 'updateTemplate', {
    summary: 'Change a template: make its next version',
    description:
      'What is left out stays as it is. Another subject, other content or sample data make a new version, which sendEmail takes from then on; older versions stay and can be named. Another name alone, or a repetition, makes none. Mail that was accepted before is sent as it was rendered. A template that somebody else changes at the same time: 409 `conflict`.',
    tag,
    scopes: ['send'],
    params: templateParams,
    body: updateTemplateBody,
    answer: updateTemplateAnswer,
    errors: ['conflict', 'template_exists', 'too_many_templates', 'rate_limited'],
    async handle({ tenant, params, body }) {
      const key = { tenantId: tenant.tenantId, templateId: params.template_id }
      const { template, isNewVersion } = await updateTemplate(deps, key, body)
      const message = isNewVersion ? 'Template Updated' : 'Template Has No New Version'
      return { message, template: toTemplate(template) }
    },
  })

  addOperation(app, 'deleteTemplate', {
    summary: 'Delete a template, or one of its versions',
    description:
      'The template leaves with all versions, and its name is free. Accepted mail, also what waits for its `send_at` or is retried, holds what was rendered and is sent as before. From the answer on, sendEmail with its id is 422 `no_template`. With `version`, this version alone leaves; the newest one cannot: 409 `conflict`.',
    tag,
    scopes: ['send'],
    params: templateParams,
    query: deleteTemplateQuery,
    answer: deleteTemplateAnswer,
    errors: ['conflict'],
    async handle({ tenant, params, query: { version } }) {
      const key = { tenantId: tenant.tenantId, templateId: params.template_id }
      await deleteTemplate(deps, key, version)
      const what = version === undefined ? 'Template' : `Version ${version}`
      return { message: `${what} Deleted: accepted mail is sent as it was rendered` }
    },
  })
}

function previewRoutes(app: FastifyInstance, deps: TemplateDeps): void {
  addOperation(app, 'previewTemplateDraft', {
    summary: 'Show a template that is not stored',
    description:
      'Takes the body of createTemplate, and answers what a recipient would get, or 400 with what Liquid says. Nothing is stored. `html` is as hostile as its author: show it in a sandbox only.',
    tag,
    scopes: READERS,
    isForTests: true,
    body: previewTemplateDraftBody,
    answer: previewTemplateDraftAnswer,
    errors: ['rate_limited'],
    async handle({ tenant, body }) {
      const preview = await previewDraft(deps, tenant.tenantId, body)
      return { message: 'Template Preview', preview }
    },
  })

  addOperation(app, 'previewTemplate', {
    summary: 'Show a template as a recipient would get it',
    description:
      'Renders a version with `template_data`, else with its sample data, else with no data. Where it cannot be rendered: 400 with what Liquid says, under the path of the part in the template. Nothing is stored or sent.',
    tag,
    scopes: READERS,
    isForTests: true,
    params: templateParams,
    body: previewTemplateBody,
    answer: previewTemplateAnswer,
    errors: ['rate_limited'],
    async handle({ tenant, params, body }) {
      const key = { tenantId: tenant.tenantId, templateId: params.template_id }
      const o = { version: body.version, data: body.template_data }
      return { message: 'Template Preview', preview: await previewTemplate(deps, key, o) }
    },
  })
}
