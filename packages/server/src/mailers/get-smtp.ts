/** getSMTPConfig (spec §4.3). Another tenant's mailer is as unknown as one that never was. */
import type { Queryable } from '../platform/db/index.ts'
import { ApiError } from '../platform/errors.ts'
import { canSend, type Mailer } from './mailer.ts'
import { getMailer } from './store.ts'

export async function getSmtp(
  deps: { readonly db: Queryable },
  tenantId: string,
  mailerId: string,
): Promise<Mailer> {
  const mailer = await getMailer(deps.db, tenantId, mailerId)
  if (mailer === undefined || !canSend(mailer)) throw new ApiError('not_found')
  return mailer
}
