/**
 * Stored templates (docs/reference/templates.md): a name, and versions of subject and content that are Liquid.
 *
 * What Liquid says of a template, the sum of its bytes and the number of a tenant's templates are the server's.
 */
import { type Static, Type } from 'typebox'
import {
  answer,
  changes,
  closedObject,
  jsonObject,
  jsonObjectOrNull,
  nextPageToken,
  orNull,
  pageQuery,
  plainAnswer,
  stringOrNull,
  timestamp,
} from './common.ts'
import { emailContent, subjectLengthMax } from './sending.ts'

/** Of a tenant. */
export const templatesMax = 1_000
/** Of one template. */
export const templateVersionsMax = 100
/** Subject, content and sample data of one version together, in UTF-8 octets. */
export const templateBytesMax = 512 * 1024
/** All versions of all templates of a tenant together. */
export const templatesBytesMax = 64 * 1024 * 1024
export const templateNameLengthMax = 200
/** Far more versions than a template has in a lifetime; an integer of the database. */
export const templateVersionMax = 2_147_483_647

const name = Type.String({
  minLength: 1,
  maxLength: templateNameLengthMax,
  description: 'A name of your own, which no other template of the account has',
  examples: ['Receipt'],
})
const subject = Type.String({
  maxLength: subjectLengthMax,
  description: 'Subject, as a Liquid template',
  examples: ['Order {{ order_id }}'],
})
const content = Type.Array(emailContent, {
  minItems: 1,
  maxItems: 2,
  description:
    'HTML and text, as Liquid templates; at most one of each type. HTML alone gets a text part with what it says',
  examples: [[{ type: 'text/html', value: '<p>Thank you, {{ name }}.</p>' }]],
})
const SAMPLE =
  'Data to show the template with. The template is refused when it cannot be rendered with it'
const sampleExamples = [{ order_id: 1234, name: 'Ada' }]
const number = (description: string) =>
  Type.Integer({ minimum: 1, maximum: templateVersionMax, description })

export const createTemplateBody = closedObject({
  name,
  subject,
  content,
  sample_data: Type.Optional(jsonObject({ description: SAMPLE, examples: sampleExamples })),
})
export type CreateTemplateBody = Static<typeof createTemplateBody>

export const updateTemplateBody = changes({
  name: Type.Optional(name),
  subject: Type.Optional(subject),
  content: Type.Optional(content),
  sample_data: Type.Optional(
    orNull(jsonObject({ description: `${SAMPLE}. null removes it`, examples: sampleExamples })),
  ),
})
export type UpdateTemplateBody = Static<typeof updateTemplateBody>

/** Checked by the server, so that an unknown one is 404. */
export const templateParams = closedObject({
  template_id: Type.String({
    maxLength: 64,
    description: 'Id of the template',
    examples: ['tpl_01JD4M8W6ZQ3V5T7X9Y2A4C6E8'],
  }),
})
export type TemplateParams = Static<typeof templateParams>

export const getTemplateQuery = closedObject({
  version: Type.Optional(number('The newest when left out')),
})
export type GetTemplateQuery = Static<typeof getTemplateQuery>

export const deleteTemplateQuery = closedObject({
  version: Type.Optional(
    number('Only this version. The newest one leaves with the whole template alone'),
  ),
})
export type DeleteTemplateQuery = Static<typeof deleteTemplateQuery>

export const listTemplatesQuery = closedObject({
  name: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: templateNameLengthMax,
      description: 'Only the template of this name',
    }),
  ),
  ...pageQuery.properties,
})
export type ListTemplatesQuery = Static<typeof listTemplatesQuery>

const listed = {
  template_id: Type.String({ description: 'Id of the template' }),
  name: Type.String({ description: 'Its name' }),
  version: Type.Integer({ minimum: 1, description: 'Number of the version that is shown' }),
  subject: Type.String({ description: 'Subject of this version' }),
  created_at: timestamp('When the template was created'),
  updated_at: timestamp('When this version was made'),
}

export const listedTemplate = closedObject(listed, {
  description: 'A template with its newest version, without content',
})
export type ListedTemplate = Static<typeof listedTemplate>

export const template = closedObject(
  {
    ...listed,
    content: Type.Array(emailContent, { description: 'Content of this version' }),
    sample_data: jsonObjectOrNull({ description: 'null if the version has none' }),
  },
  { description: 'A template with one of its versions' },
)
export type Template = Static<typeof template>

export const templateVersion = closedObject(
  {
    version: Type.Integer({ minimum: 1, description: 'Its number, from 1' }),
    subject: Type.String({ description: 'Its subject' }),
    created_at: timestamp('When it was made'),
  },
  { description: 'A version of a template, without content' },
)
export type TemplateVersion = Static<typeof templateVersion>

export const createTemplateAnswer = answer({ template })
export type CreateTemplateAnswer = Static<typeof createTemplateAnswer>
export const updateTemplateAnswer = answer({ template })
export type UpdateTemplateAnswer = Static<typeof updateTemplateAnswer>
export const getTemplateAnswer = answer({
  template,
  versions: Type.Array(templateVersion, { description: 'All versions, the newest first' }),
})
export type GetTemplateAnswer = Static<typeof getTemplateAnswer>
export const listTemplatesAnswer = answer({
  templates: Type.Array(listedTemplate, { description: 'Newest first' }),
  nextPageToken,
})
export type ListTemplatesAnswer = Static<typeof listTemplatesAnswer>
export const deleteTemplateAnswer = plainAnswer
export type DeleteTemplateAnswer = Static<typeof deleteTemplateAnswer>

export const previewTemplateBody = closedObject({
  version: Type.Optional(number('The newest when left out')),
  template_data: Type.Optional(
    jsonObject({
      description: 'Data in place of the sample data of the version',
      examples: sampleExamples,
    }),
  ),
})
export type PreviewTemplateBody = Static<typeof previewTemplateBody>

export const previewTemplateDraftBody = closedObject({
  name: Type.Optional(name),
  subject,
  content,
  sample_data: Type.Optional(
    jsonObject({ description: 'Data to render with', examples: sampleExamples }),
  ),
})
export type PreviewTemplateDraftBody = Static<typeof previewTemplateDraftBody>

export const templatePreview = closedObject(
  {
    subject: Type.String({ description: 'As a recipient sees it' }),
    html: stringOrNull('null where the template has no HTML. Show it in a sandbox only'),
    text: stringOrNull('Of HTML alone the text that is sent beside it; null where that is empty'),
  },
  { description: 'A template, rendered' },
)
export type TemplatePreview = Static<typeof templatePreview>

export const previewTemplateAnswer = answer({ preview: templatePreview })
export type PreviewTemplateAnswer = Static<typeof previewTemplateAnswer>
export const previewTemplateDraftAnswer = answer({ preview: templatePreview })
export type PreviewTemplateDraftAnswer = Static<typeof previewTemplateDraftAnswer>
