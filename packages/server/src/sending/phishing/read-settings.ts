/** getPhishingSettings: a tenant that has set nothing has the defaults. */
import type { Queryable } from '../../platform/db/index.ts'
import type { PhishingSettings } from './settings.ts'
import { getSettings } from './settings-store.ts'

export function readSettings(
  deps: { readonly db: Queryable },
  tenantId: string,
): Promise<PhishingSettings> {
  return getSettings(deps.db, tenantId)
}
