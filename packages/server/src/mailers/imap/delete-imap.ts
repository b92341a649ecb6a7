/**
 * deleteIMAPConfig (docs/reference/inbound.md#mailboxes). Mail that was received already is still reported,
 * or recorded.
 */
import { type RemoveMailerDeps, removeMailer } from '../remove-mailer.ts'
import { getImap } from './get-imap.ts'

export async function deleteImap(
  deps: RemoveMailerDeps,
  tenantId: string,
  mailerId: string,
): Promise<void> {
  await removeMailer(deps, await getImap(deps, tenantId, mailerId))
}
