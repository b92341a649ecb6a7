/** deleteSMTPConfig (spec §4.3). */
import { getSmtp } from './get-smtp.ts'
import { type RemoveMailerDeps, removeMailer } from './remove-mailer.ts'

export async function deleteSmtp(
  deps: RemoveMailerDeps,
  tenantId: string,
  mailerId: string,
): Promise<void> {
  await removeMailer(deps, await getSmtp(deps, tenantId, mailerId))
}
