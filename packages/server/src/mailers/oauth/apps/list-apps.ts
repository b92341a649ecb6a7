/** listOAuthApps (docs/reference/mailers.md#oauth-apps): newest first, without their secrets. */
import { oauthAppsMax } from '@postrider/contract'
import type { Queryable } from '../../../platform/db/index.ts'
import { listApps as select } from './app-store.ts'
import type { OAuthApp } from './oauth-app.ts'

/** A few may have slipped past the bound, made at the same time. */
const LISTED_MAX = 2 * oauthAppsMax

export function listApps(deps: { readonly db: Queryable }, tenantId: string): Promise<OAuthApp[]> {
  return select(deps.db, tenantId, LISTED_MAX)
}
