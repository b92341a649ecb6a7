/**
 * previewTemplate and previewTemplateDraft (docs/reference/templates.md#preview): what a recipient would get, from
 * the code that renders what is sent. Nothing is stored.
 */
import type { PreviewTemplateDraftBody, TemplatePreview } from '@postrider/contract'
import { textOf } from '../attempt/prepare-email.ts'
import type { TemplateDeps } from './change-template.ts'
import { checkTemplate } from './check-template.ts'
import { readTemplate } from './read-template.ts'
import { type RenderedParts, renderParts } from './render-parts.ts'
import type { TemplateKey } from './template-store.ts'

export async function previewTemplate(
  { db, renderer }: TemplateDeps,
  key: TemplateKey,
  o: { readonly version?: number | undefined; readonly data?: Record<string, unknown> | undefined },
): Promise<TemplatePreview> {
  const found = await readTemplate(db, key, o.version)
  const data = o.data ?? found.sampleData ?? {}
  return toPreview(await renderParts(renderer, key.tenantId, found, data))
}

export async function previewDraft(
  { renderer }: Pick<TemplateDeps, 'renderer'>,
  tenantId: string,
  { name, subject, content, sample_data: sampleData = {} }: PreviewTemplateDraftBody,
): Promise<TemplatePreview> {
  const draft = { name, subject, content, sampleData }
  const { rendered } = await checkTemplate(renderer, tenantId, draft)
  return toPreview(rendered)
}

function toPreview({ subject, html, text }: RenderedParts): TemplatePreview {
  const shown = textOf({
    ...(html === undefined ? {} : { html }),
    ...(text === undefined ? {} : { text }),
  })
  return { subject, html: html ?? null, text: shown ?? null }
}
