/** getSMTPConfig (docs/reference/mailers.md#kinds). Another tenant's mailer, or a sending domain, is as unknown as
 * one that never was. */
import type { Queryable } from '../../platform/db/index.ts'
import { ApiError } from '../../platform/errors.ts'
import { canSend, type ServerMailer } from '../mailer.ts'
import { getServerMailer } from '../store.ts'

export async function getSmtp(
  deps: { readonly db: Queryable },
  tenantId: string,
  mailerId: string,
): Promise<ServerMailer> {
  const mailer = await getServerMailer(deps.db, tenantId, mailerId)
  if (mailer === undefined || !canSend(mailer)) throw new ApiError('not_found')
  return mailer
}
