/** Makes activity: the routes that read what was recorded of emails. */
import { exportsAtOnceMax } from '@postrider/contract'
import {
  type ConcurrencyLimiter,
  createConcurrencyLimiter,
} from '@postrider/runtime/concurrency-limiter'
import type { Clock } from '../platform/clock.ts'
import type { Db } from '../platform/db/index.ts'
import type { HttpApp } from '../platform/http/app.ts'
import { countQueued } from '../sending/index.ts'
import { createUsageCounts, getTenant, type UsageDeps } from '../tenants/index.ts'
import { activityRoutes } from './routes.ts'

/** Each holds a connection for as long as a page takes, and a page of logs. */
const EXPORTS_AT_ONCE = {
  atOnceMax: 8,
  atOncePerCallerMax: exportsAtOnceMax,
  waitingPerCallerMax: 0,
} as const

export function createActivity(deps: {
  readonly db: Db
  readonly clock: Clock
  readonly config: Pick<UsageDeps, 'retentionMs' | 'contentRetentionMs'>
  /** Shared with webhooks, which read the record too. */
  readonly recordReads: ConcurrencyLimiter
}) {
  const exportLimiter = createConcurrencyLimiter({ ...EXPORTS_AT_ONCE, name: 'exports-at-once' })
  const { retentionMs, contentRetentionMs } = deps.config
  const usage = { db: deps.db, retentionMs, contentRetentionMs, countQueued }
  const usageCounts = createUsageCounts(usage)
  return {
    routes: (app: HttpApp) =>
      activityRoutes(app, {
        ...deps,
        limiter: deps.recordReads,
        exportLimiter,
        readTenant: (tenantId) => getTenant({ ...usage, usageCounts }, tenantId),
      }),
  }
}
