/** Begins the deletion of a tenant (docs/reference/operator.md#deletion). A worker does the rest. */
import type { ListedTenant } from '@postrider/contract'
import type { Db } from '../../platform/db/index.ts'
import { ApiError, validationError } from '../../platform/errors.ts'
import { toWireTenant } from '../list-tenants.ts'
import { lockTenant } from '../state-store.ts'
import { beginDeletion } from './deletion-store.ts'

/** Throws `not_found`, and `validation_failed` where `confirm` is not the tenant's name. May be repeated. */
export async function deleteTenant(
  { db }: { readonly db: Db },
  tenantId: string,
  confirm: string,
): Promise<ListedTenant> {
  return await db.transaction(async (tx) => {
    const tenant = await lockTenant(tx, tenantId)
    if (tenant === undefined) throw new ApiError('not_found')
    if (tenant.name !== confirm)
      throw validationError({
        path: '/confirm',
        message: `must be the name of the tenant ${tenantId}, letter by letter: getTenant and \`postrider tenant show\` have it`,
      })
    if (tenant.state !== 'deleting') await beginDeletion(tx, tenantId)
    return toWireTenant({ ...tenant, state: 'deleting' })
  })
}
