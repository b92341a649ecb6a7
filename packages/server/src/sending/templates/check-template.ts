/**
 * Checks a template before it is stored: every version can be parsed, fits into an email, and renders with its own
 * sample data.
 */
import { type FieldError, templateBytesMax } from '@postrider/contract'
import type { TemplateRenderer } from '@postrider/mail'
import { validationError } from '../../platform/errors.ts'
import type { Refuse } from '../accept/check-attachments.ts'
import { contentOf, refuseLongData, subjectOf } from '../accept/check-email.ts'
import { type RenderedParts, renderParts } from './render-parts.ts'
import type { VersionContent } from './template-store.ts'

/**
 * Answers what it takes to store it, and what it renders to; without sample data that is the template itself.
 * Throws 400 with everything that is wrong.
 */
export async function checkTemplate(
  renderer: Pick<TemplateRenderer, 'render'>,
  tenantId: string,
  { name, ...version }: VersionContent & { readonly name?: string | undefined },
): Promise<{ readonly bytes: number; readonly rendered: RenderedParts }> {
  const errors: FieldError[] = []
  const refuse: Refuse = (path, message) => {
    if (message !== undefined) errors.push({ path, message })
  }
  if (name !== undefined) refuse('/name', problemOfName(name))
  const { subject, content, sampleData } = version
  subjectOf(subject, refuse)
  for (const type of ['text/plain', 'text/html'] as const) contentOf(content, type, refuse)
  if (sampleData !== null) refuseLongData(sampleData, '/sample_data', refuse)
  const bytes = bytesOf(version)
  if (bytes > templateBytesMax)
    refuse('/content', `is more than ${templateBytesMax} bytes, with subject and sample data`)
  if (errors.length > 0) throw validationError(...errors)
  const rendered = await renderParts(renderer, tenantId, version, sampleData ?? undefined)
  return { bytes, rendered }
}

/** Names are shown in lists: one line of text. */
function problemOfName(name: string): string | undefined {
  if (name.trim() !== name) return 'must not begin or end with white space'
  if (/[\p{Cc}\p{Cs}\p{Zl}\p{Zp}]/u.test(name)) return 'must not contain control characters'
  return undefined
}

function bytesOf({ subject, content, sampleData }: VersionContent): number {
  const texts = [subject, ...content.map(({ value }) => value)]
  if (sampleData !== null) texts.push(JSON.stringify(sampleData))
  return texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0)
}
