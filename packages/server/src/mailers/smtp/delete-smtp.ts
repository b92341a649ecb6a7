/** deleteSMTPConfig (docs/reference/mailers.md#kinds). */

import { type RemoveMailerDeps, removeMailer } from '../remove-mailer.ts'
import { getSmtp } from './get-smtp.ts'

export async function deleteSmtp(
  deps: RemoveMailerDeps,
  tenantId: string,
  mailerId: string,
): Promise<void> {
  await removeMailer(deps, await getSmtp(deps, tenantId, mailerId))
}
