/** Makes tenants and API keys: who calls, what the operator does for tenants, and their routes. */
import type { Clock } from '../platform/clock.ts'
import type { HttpApp } from '../platform/http/app.ts'
import type { Logger } from '../platform/log.ts'
import { createAuditJanitor } from './audit-janitor.ts'
import { createKeyAuthenticator } from './authenticate-key.ts'
import { createDeletionWorker, type DeletionDeps } from './deletion/deletion-worker.ts'
import { createOperatorAccess } from './operator-access.ts'
import type { UsageDeps } from './quotas/recount-usage.ts'
import { tenantRoutes } from './routes.ts'

export function createTenants(
  deps: Omit<UsageDeps, 'retentionMs' | 'contentRetentionMs'> &
    Pick<DeletionDeps, 'removeMembers' | 'tables'> & {
      readonly clock: Clock
      readonly log: Logger
      readonly config: { readonly auditRetentionMs: number } & Pick<
        UsageDeps,
        'retentionMs' | 'contentRetentionMs'
      >
    },
) {
  const { config, db, log } = deps
  const { retentionMs, contentRetentionMs } = config
  const authenticator = createKeyAuthenticator(deps)
  const deletions = createDeletionWorker(deps)
  return {
    authenticateKey: authenticator.authenticate,
    operatorAccess: createOperatorAccess(deps),
    /** Deletes what the operator did long ago. */
    janitor: createAuditJanitor({ db, log, retentionMs: config.auditRetentionMs }),
    /** Removes what deleted tenants have left. */
    deletions,
    routes: (app: HttpApp) =>
      tenantRoutes(app, {
        ...{ ...deps, retentionMs, contentRetentionMs, authenticator },
        wakeDeletions: deletions.wake,
      }),
  }
}
