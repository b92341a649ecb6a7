/** A template as its form has it. */
import type { CreateTemplateBody, Template } from '@postrider/client'
import type { Wording } from '../emails/test-mail.tsx'

export interface TemplateDraft {
  readonly name: string
  readonly subject: string
  readonly html: string
  readonly text: string
  /** JSON, as it is typed. */
  readonly sample: string
}

export const emptyDraft: TemplateDraft = { name: '', subject: '', html: '', text: '', sample: '' }

export function draftOf(template: Template): TemplateDraft {
  const partOf = (type: string) => template.content.find((one) => one.type === type)?.value ?? ''
  return {
    name: template.name,
    subject: template.subject,
    html: partOf('text/html'),
    text: partOf('text/plain'),
    sample:
      template.sample_data === null ? '' : `${JSON.stringify(template.sample_data, undefined, 2)}`,
  }
}

/** Undefined: it is no JSON object. Empty: there is none. */
export function readSample(sample: string): Record<string, unknown> | null | undefined {
  if (sample.trim() === '') return null
  try {
    const read: unknown = JSON.parse(sample)
    const isObject = typeof read === 'object' && read !== null && !Array.isArray(read)
    return isObject ? (read as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}

/** HTML first, then text; a part that is empty is not there. */
export function contentOf({
  html,
  text,
}: Pick<TemplateDraft, 'html' | 'text'>): CreateTemplateBody['content'] {
  return [
    ...(html === '' ? [] : [{ type: 'text/html' as const, value: html }]),
    ...(text === '' ? [] : [{ type: 'text/plain' as const, value: text }]),
  ]
}

export type DraftBody = Omit<CreateTemplateBody, 'name'>

/** As the service takes it, with the sample data where there is some. */
export function bodyOf(draft: TemplateDraft): DraftBody {
  const sample = readSample(draft.sample)
  return {
    ...{ subject: draft.subject, content: contentOf(draft) },
    ...(sample && { sample_data: sample }),
  }
}

/** An email with what the form holds: of a stored version that was not changed, by its id. */
export function mailOf(
  draft: TemplateDraft,
  stored: Pick<Template, 'template_id' | 'version'> | undefined,
): Wording {
  const { sample_data: data = {}, ...written } = bodyOf(draft)
  if (stored === undefined) return { ...written, template_data: data }
  return {
    ...{ template_id: stored.template_id, template_version: stored.version },
    template_data: data,
  }
}

/** Where the service's word for a part stands in the content. */
export function pathOf(part: 'html' | 'text', draft: TemplateDraft): string {
  return part === 'text' && draft.html !== '' ? '/content/1' : '/content/0'
}
