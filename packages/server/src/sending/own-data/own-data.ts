/**
 * What recipients of an email have of their own (docs/reference/sending.md#data-of-each-recipient): `template_data` and
 * `custom_args` of their entry in `to`. What is rendered with them is a rendering, which all recipients with the
 * same data share.
 */
import type { SendEmailBody } from '@postrider/contract'
import type { EmailContent } from '../record/email.ts'

type Json = Readonly<Record<string, unknown>>

/** What a rendering has in place of the email's. */
export type Rendering = Pick<
  EmailContent,
  'subject' | 'text' | 'html' | 'tracking' | 'templateProblem'
>

export function renderingOf(content: EmailContent): Rendering {
  const { subject, text, html, tracking, templateProblem } = content
  return {
    subject,
    ...(text === undefined ? {} : { text }),
    ...(html === undefined ? {} : { html }),
    ...(tracking === undefined ? {} : { tracking }),
    ...(templateProblem === undefined ? {} : { templateProblem }),
  }
}

/** What its recipients are sent. Nothing of what the email itself renders to is left in it. */
export function withRendering<Content extends Rendering>(
  content: Content,
  rendering: Rendering | undefined,
): Content {
  if (rendering === undefined) return content
  const { text: _, html: __, tracking: ___, templateProblem: ____, ...rest } = content
  // Both have all that a content must have.
  return { ...rest, ...rendering } as Content
}

/** By top-level key. */
export function layOver(below: Json | null, own: Json | null): Json | null {
  if (own === null) return below
  return below === null ? own : { ...below, ...own }
}

/** An entry of `to` that has something of its own; its place is its number as a recipient. */
export interface OwnGiven {
  readonly n: number
  readonly data: Json
  readonly customArgs: Json | null
}

export function ownGivenOf({ to }: Pick<SendEmailBody, 'to'>): OwnGiven[] {
  return to.flatMap(({ template_data: data = {}, custom_args: args }, n) => {
    const customArgs = args != null && isFilled(args) ? args : null
    return customArgs !== null || isFilled(data) ? [{ n, data, customArgs }] : []
  })
}

export function isFilled(object: Json): boolean {
  return Object.keys(object).length > 0
}

/** Where one recipient has template data, subject and content are templates for all. */
export function withTemplateData(body: SendEmailBody): SendEmailBody {
  const isOfOne = body.to.some((one) => one.template_data !== undefined)
  return isOfOne && body.template_data === undefined ? { ...body, template_data: {} } : body
}
