/**
 * Renders the subject and each part of a template by themselves, so that everything that is wrong with it is told
 * at once, each under its own path, as `path: message` with Liquid's line and column.
 */
import {
  contentBytesMax,
  contentLengthMax,
  type EmailContent,
  type FieldError,
  type JsonObject,
  subjectLengthMax,
} from '@postrider/contract'
import type { TemplateRenderer } from '@postrider/mail'
import { validationError } from '../../platform/errors.ts'

export interface TemplateParts {
  readonly subject: string
  readonly content: readonly EmailContent[]
}

export interface RenderedParts {
  readonly subject: string
  readonly html?: string
  readonly text?: string
}

type PartName = 'subject' | 'html' | 'text'

/**
 * Throws 400 with what Liquid says. Without data, the parts are parsed and come back as they are. Throws 429 and
 * 503 as the renderer does.
 */
export async function renderParts(
  renderer: Pick<TemplateRenderer, 'render'>,
  tenantId: string,
  { subject, content }: TemplateParts,
  data: JsonObject | undefined,
): Promise<RenderedParts> {
  const rendered: { subject: string; html?: string; text?: string } = { subject: '' }
  const errors: FieldError[] = []
  async function render(path: string, name: PartName, source: string): Promise<void> {
    const result = await renderer.render(tenantId, {
      subject: '',
      [name]: source,
      ...(data === undefined ? {} : { data }),
      subjectLengthMax,
      bodyLengthMax: contentLengthMax,
    })
    if (result.ok) rendered[name] = result[name] ?? ''
    else errors.push({ path, message: withoutName(result.problem, name) })
  }
  await Promise.all([
    render('/subject', 'subject', subject),
    ...content.map(({ type, value }, i) => render(`/content/${i}/value`, nameOf(type), value)),
  ])
  const { html = '', text = '' } = rendered
  if (Buffer.byteLength(html) + Buffer.byteLength(text) > contentBytesMax)
    errors.push({ path: '/content', message: `renders to more than ${contentBytesMax} bytes` })
  if (errors.length > 0) throw validationError(...errors.sort((a, b) => (a.path < b.path ? -1 : 1)))
  return rendered
}

function nameOf(type: EmailContent['type']): 'html' | 'text' {
  return type === 'text/html' ? 'html' : 'text'
}

/** The path names the part. */
function withoutName(problem: string, name: PartName): string {
  return problem.startsWith(`${name}: `) ? problem.slice(name.length + 2) : problem
}
