/**
 * Renders an email's templates when it is accepted, once for all its recipients and attempts: they
 * all send the same, and what is stored, shown and judged is what recipients read.
 *
 * Templates that cannot be rendered do not refuse the request: their failure is an attempt of every
 * recipient, final and with its event (docs/reference/sending.md#failures-before-the-first-connection).
 */
import { contentBytesMax, contentLengthMax, subjectLengthMax } from '@postrider/contract'
import type { RenderedTemplate, TemplateInput, TemplateRenderer } from '@postrider/mail'
import type { EmailContent, NewEmail } from '../record/email.ts'

/** Without data there are no templates. Throws 429 and 503 as the renderer does. */
export async function renderEmail(
  templates: TemplateRenderer,
  tenantId: string,
  email: NewEmail,
  data: TemplateInput['data'] | undefined,
): Promise<NewEmail> {
  if (data === undefined) return email
  return { ...email, content: await renderContent(templates, tenantId, email.content, data) }
}

async function renderContent(
  templates: TemplateRenderer,
  tenantId: string,
  content: EmailContent,
  data: NonNullable<TemplateInput['data']>,
): Promise<EmailContent> {
  const rendered = await templates.render(tenantId, { ...templateOf(content), data })
  return withRendered(content, rendered)
}

/** What the renderer takes of an email, without data. */
export function templateOf({ subject, text, html }: EmailContent): TemplateInput {
  return {
    subject,
    ...(text === undefined ? {} : { text }),
    ...(html === undefined ? {} : { html }),
    subjectLengthMax,
    bodyLengthMax: contentLengthMax,
  }
}

export function withRendered(content: EmailContent, rendered: RenderedTemplate): EmailContent {
  if (!rendered.ok) return { ...content, templateProblem: rendered.problem }
  const { ok: _, ...parts } = rendered
  const bytes = Buffer.byteLength(parts.text ?? '') + Buffer.byteLength(parts.html ?? '')
  if (bytes > contentBytesMax)
    return { ...content, templateProblem: `renders to more than ${contentBytesMax} bytes` }
  return { ...content, ...parts }
}
