/**
 * The stored template that an email names, in place of its subject and content (docs/reference/templates.md#sending).
 *
 * The version is chosen here, and the email then holds all that is sent: nothing that becomes of the template
 * later concerns it. A template that is not there is refused where the email is judged, since a request that is
 * repeated with its key has its answer of before.
 */
import type { FieldError, SendEmailBody } from '@postrider/contract'
import type { Queryable } from '../../platform/db/index.ts'
import { validationError } from '../../platform/errors.ts'
import { isId } from '../../platform/ids.ts'
import type { NewEmail } from '../record/email.ts'
import { readVersion } from '../templates/template-store.ts'

export interface FilledEmail extends Pick<NewEmail, 'template' | 'templateAbsence'> {
  /** With subject and content, and with data where these are templates. */
  readonly filled: SendEmailBody
}

/** Throws 400 where the fields do not go together. */
export async function useTemplate(
  q: Queryable,
  tenantId: string,
  body: SendEmailBody,
): Promise<FilledEmail> {
  refuseTogether(body)
  const { template_id: templateId, template_version: version, template_data: data = {} } = body
  if (templateId === undefined) return { filled: body }
  const found = isId('tpl', templateId)
    ? await readVersion(q, { tenantId, templateId }, version)
    : undefined
  if (found === undefined) {
    const which = version === undefined ? '' : `, or it has no version ${version}`
    const templateAbsence = `There is no template ${templateId}${which}`
    return { filled: { ...body, subject: '', content: [] }, templateAbsence }
  }
  const { subject, content } = found
  return {
    filled: { ...body, subject, content, template_data: data },
    template: { templateId, version: found.version },
  }
}

function refuseTogether(body: SendEmailBody): void {
  const errors: FieldError[] = []
  if (body.template_id === undefined) {
    if (body.template_version !== undefined)
      errors.push({ path: '/template_version', message: 'needs template_id' })
  } else {
    for (const name of ['subject', 'content'] as const)
      if (body[name] !== undefined)
        errors.push({
          path: `/${name}`,
          message: 'cannot be given with template_id: the template has it',
        })
  }
  if (errors.length > 0) throw validationError(...errors)
}
