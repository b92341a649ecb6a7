/** getTemplate and listTemplates (docs/reference/http.md#lists), as the API shows them. */
import type {
  GetTemplateAnswer,
  ListedTemplate,
  ListTemplatesQuery,
  Template,
} from '@postrider/contract'
import type { Queryable } from '../../platform/db/index.ts'
import { cutPage, readPage } from '../../platform/http/paging.ts'
import { isId } from '../../platform/ids.ts'
import { versionGone } from './delete-template.ts'
import * as store from './template-store.ts'

const ID = /^tpl_[0-7][0-9A-HJKMNP-TV-Z]{25}$/

/** The newest version, where none is named. */
export async function readTemplate(
  q: Queryable,
  key: store.TemplateKey,
  version: number | undefined,
): Promise<store.TemplateRow> {
  const found = isId('tpl', key.templateId) && (await store.readVersion(q, key, version))
  if (!found) throw versionGone(version)
  return found
}

export async function getTemplate(
  q: Queryable,
  key: store.TemplateKey,
  version: number | undefined,
): Promise<Pick<GetTemplateAnswer, 'template' | 'versions'>> {
  const template = toTemplate(await readTemplate(q, key, version))
  const versions = await store.listVersions(q, key)
  return {
    template,
    versions: versions.map((one) => ({
      version: one.version,
      subject: one.subject,
      created_at: one.createdAt.toISOString(),
    })),
  }
}

export async function listTemplates(
  q: Queryable,
  tenantId: string,
  query: ListTemplatesQuery,
): Promise<{ templates: ListedTemplate[]; nextPageToken?: string }> {
  const page = readPage(query, 'templates', ID)
  const { before, limit } = page
  const asked = { tenantId, before, name: query.name, limit: limit + 1 }
  const found = await store.listTemplateRows(q, asked)
  const { rows, ...token } = cutPage(found, page, ({ templateId }) => templateId)
  return { templates: rows.map(toListed), ...token }
}

function toListed(row: store.ListedRow): ListedTemplate {
  return {
    template_id: row.templateId,
    name: row.name,
    version: row.version,
    subject: row.subject,
    created_at: row.createdAt.toISOString(),
    updated_at: row.updatedAt.toISOString(),
  }
}

export function toTemplate(row: store.TemplateRow): Template {
  return { ...toListed(row), content: row.content, sample_data: row.sampleData }
}
