/** What a running service is to operator commands: the operations that they call, with the operator's token. */
import { createConcurrencyLimiter } from '@postrider/runtime/concurrency-limiter'
import { registerMailerRoutes } from '../src/mailers/routes.ts'
import { createClock } from '../src/platform/clock.ts'
import type { Db } from '../src/platform/db/index.ts'
import { createEgress } from '../src/platform/egress/index.ts'
import type { AuditedCall } from '../src/platform/http/act-for-tenant.ts'
import { createHttpApp, type HttpApp } from '../src/platform/http/app.ts'
import { createRateLimit } from '../src/platform/limits/rate-limit.ts'
import { createMetrics } from '../src/platform/metrics.ts'
import { noDiskGuard } from '../src/platform/process/disk-guard.ts'
import { createQueueWakeups } from '../src/sending/queue/queue-wakeups.ts'
import { rescueRoutes } from '../src/sending/rescue/routes.ts'
import { waitingRoutes } from '../src/sending/waiting/routes.ts'
import { noUsageCounts } from './sender.ts'
import { keyRing, silent } from './sending.ts'
import { testLimiter } from './webhook-api.ts'

const HOUR_MS = 3_600_000
const egress = createEgress({ allowNetworks: ['127.0.0.0/8'] })

/** With small bounds, so that a command takes several calls. */
export function createOperatedService(
  db: Db,
  o: { readonly tenantId: string; readonly token: string; readonly audited: AuditedCall[] },
): HttpApp {
  const app = createHttpApp({
    log: silent,
    metrics: createMetrics(),
    authenticateKey: () => undefined,
    adminToken: o.token,
    operatorAccess: {
      hasTenant: async (tenantId) => tenantId === o.tenantId,
      async begin(call) {
        o.audited.push(call)
        return async () => undefined
      },
    },
  })
  const deps = {
    ...{ db, log: silent, clock: createClock(), disk: noDiskGuard, keyRing, egress },
    wakeups: createQueueWakeups(),
    usageCounts: noUsageCounts,
    ...{ retentionMs: 30 * 24 * HOUR_MS, contentRetentionMs: 30 * 24 * HOUR_MS },
    bounds: { walkedMax: 4, matchedMax: 3, pieceMax: 2 },
    limiter: createConcurrencyLimiter({
      name: 'bulk',
      atOnceMax: 1,
      atOncePerCallerMax: 1,
      waitingPerCallerMax: 1,
    }),
  }
  waitingRoutes(app, deps)
  rescueRoutes(app, deps)
  registerMailerRoutes(app, {
    ...deps,
    wakeMail: () => undefined,
    accessTokens: { get: async () => ({ kind: 'inactive' }) as const },
    readMailboxHealth: async () => new Map(),
    isInboundDomain: async () => true,
    ehloName: 'sender.example.com',
    checks: {
      limit: createRateLimit({ name: 'checks', usesMax: 100, windowS: 60 }),
      limiter: testLimiter,
    },
  })
  return app
}
