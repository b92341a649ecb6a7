/**
 * getIMAPConfig (docs/reference/inbound.md#mailboxes). A mailer without a mailbox is as unknown as one that
 * never was.
 */
import type { Queryable } from '../../../platform/db/index.ts'
import { ApiError } from '../../../platform/errors.ts'
import { canFetch, type ServerMailer } from '../../mailer.ts'
import { getServerMailer } from '../../store.ts'

export async function getImap(
  deps: { readonly db: Queryable },
  tenantId: string,
  mailerId: string,
): Promise<ServerMailer> {
  const mailer = await getServerMailer(deps.db, tenantId, mailerId)
  if (mailer === undefined || !canFetch(mailer)) throw new ApiError('not_found')
  return mailer
}
