/**
 * createTemplate and updateTemplate (docs/reference/templates.md#versions): what they write is one transaction,
 * and a tenant's templates are changed one after the other, so that no limit is passed and no name is given twice.
 */
import {
  type CreateTemplateBody,
  templatesBytesMax,
  templatesMax,
  templateVersionsMax,
  type UpdateTemplateBody,
} from '@postrider/contract'
import type { TemplateRenderer } from '@postrider/mail'
import type { Db, Tx } from '../../platform/db/index.ts'
import { ApiError } from '../../platform/errors.ts'
import { isId, newId } from '../../platform/ids.ts'
import { checkTemplate } from './check-template.ts'
import * as store from './template-store.ts'

export interface TemplateDeps {
  readonly db: Db
  readonly renderer: Pick<TemplateRenderer, 'render'>
}

export async function createTemplate(
  { db, renderer }: TemplateDeps,
  tenantId: string,
  body: CreateTemplateBody,
): Promise<store.TemplateRow> {
  const { name, subject, content, sample_data: sampleData = null } = body
  const version = { subject, content, sampleData }
  const { bytes } = await checkTemplate(renderer, tenantId, { name, ...version })
  const key = { tenantId, templateId: newId('tpl') }
  return db.transaction(async (tx) => {
    await store.lockTemplates(tx, tenantId)
    await refuseName(tx, key, name)
    await refuseMore(tx, key, bytes)
    await store.insertTemplate(tx, key, name)
    await store.insertVersion(tx, key, 1, { ...version, bytes })
    return written(tx, key)
  })
}

/** What is left out stays as it is. A version is made where subject, content or sample data are other ones. */
export async function updateTemplate(
  { db, renderer }: TemplateDeps,
  key: store.TemplateKey,
  body: UpdateTemplateBody,
): Promise<{ readonly template: store.TemplateRow; readonly isNewVersion: boolean }> {
  const { tenantId } = key
  const before = await readNewest(db, key)
  const name = body.name ?? before.name
  const changed: store.VersionContent = {
    subject: body.subject ?? before.subject,
    content: body.content ?? before.content,
    sampleData: body.sample_data === undefined ? before.sampleData : body.sample_data,
  }
  const isNewVersion = !isSame(changed, before)
  const { bytes } = await checkTemplate(renderer, tenantId, { name, ...changed })
  const template = await db.transaction(async (tx) => {
    await store.lockTemplates(tx, tenantId)
    const now = await readNewest(tx, key)
    // What was left out may be another one by now.
    if (now.newest !== before.newest || now.name !== before.name) throw new ApiError('conflict')
    if (name !== now.name) await refuseName(tx, key, name)
    if (isNewVersion) await refuseMore(tx, key, bytes)
    const version = isNewVersion ? now.newest + 1 : now.newest
    await store.updateTemplateRow(tx, key, { name, version })
    if (isNewVersion) await store.insertVersion(tx, key, version, { ...changed, bytes })
    return written(tx, key)
  })
  return { template, isNewVersion }
}

async function readNewest(
  q: Parameters<typeof store.readVersion>[0],
  key: store.TemplateKey,
): Promise<store.TemplateRow> {
  const found = isId('tpl', key.templateId) && (await store.readVersion(q, key, undefined))
  if (!found) throw new ApiError('not_found')
  return found
}

async function written(tx: Tx, key: store.TemplateKey): Promise<store.TemplateRow> {
  const row = await store.readVersion(tx, key, undefined)
  if (row === undefined) throw new Error('the template that was written is not there')
  return row
}

function isSame(a: store.VersionContent, b: store.VersionContent): boolean {
  const textOf = ({ subject, content, sampleData }: store.VersionContent) =>
    JSON.stringify([subject, content.map(({ type, value }) => [type, value]), sampleData])
  return textOf(a) === textOf(b)
}

async function refuseName(tx: Tx, key: store.TemplateKey, name: string): Promise<void> {
  const holder = await store.findName(tx, key.tenantId, name)
  if (holder !== undefined)
    throw new ApiError('template_exists', {
      message: `There is a template of this name: ${holder}`,
    })
}

/** One more version, of this template. */
async function refuseMore(tx: Tx, key: store.TemplateKey, bytes: number): Promise<void> {
  const counts = await store.countTemplates(tx, key)
  const isNew = counts.versions === 0
  if (isNew && counts.templates >= templatesMax)
    throw tooMany('templates', `An account may have ${templatesMax} templates`)
  if (counts.versions >= templateVersionsMax)
    throw tooMany('versions', `A template may have ${templateVersionsMax} versions`)
  if (counts.bytes + bytes > templatesBytesMax)
    throw tooMany('bytes', `All templates together may have ${templatesBytesMax} bytes`)
}

function tooMany(limit: 'templates' | 'versions' | 'bytes', message: string): ApiError {
  const errors = [{ path: `/limits/${limit}`, message: 'is reached' }]
  return new ApiError('too_many_templates', { message, errors })
}
