/**
 * deleteSMTPConfig (spec §4.3). Mail that still waits for the mailer fails at its next attempt
 * (contract §5), held mail at once; its idle connections close by themselves within seconds.
 */
import type { Queryable } from '../platform/db/index.ts'
import { ApiError } from '../platform/errors.ts'
import { canSend } from './mailer.ts'
import type { SaveMailerDeps } from './save-mailer.ts'
import { deleteMailer, getServerMailer } from './store.ts'

export async function deleteSmtp(
  deps: Pick<SaveMailerDeps, 'wakeMail'> & { readonly db: Queryable },
  tenantId: string,
  mailerId: string,
): Promise<void> {
  const mailer = await getServerMailer(deps.db, tenantId, mailerId)
  const isThere = mailer !== undefined && canSend(mailer)
  if (!isThere || !(await deleteMailer(deps.db, tenantId, mailerId)))
    throw new ApiError('not_found')
  deps.wakeMail(mailer)
}
