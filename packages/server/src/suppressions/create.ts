/** Makes suppressions: routes and a janitor, for others read and write them by the front door. */
import { exportsAtOnceMax } from '@postrider/contract'
import { createConcurrencyLimiter } from '@postrider/runtime/concurrency-limiter'
import type { Clock } from '../platform/clock.ts'
import type { Db } from '../platform/db/index.ts'
import type { HttpApp } from '../platform/http/app.ts'
import type { Logger } from '../platform/log.ts'
import { createExpiryJanitor } from './expiry-janitor.ts'
import { suppressionRoutes } from './routes.ts'

export function createSuppressions(deps: {
  readonly db: Db
  readonly clock: Clock
  readonly log: Logger
}) {
  const limits = createFileLimits()
  return {
    routes: (app: HttpApp) => suppressionRoutes(app, { ...deps, ...limits }),
    janitor: createExpiryJanitor(deps),
  }
}

/** An import holds a connection only while it writes a batch, and a few pieces of its file. */
export function createFileLimits() {
  const one = { atOncePerCallerMax: 1, waitingPerCallerMax: 0 }
  return {
    batches: createConcurrencyLimiter({
      ...{ name: 'suppression-batches', atOnceMax: 2 },
      ...{ atOncePerCallerMax: 1, waitingPerCallerMax: 1 },
    }),
    files: {
      imports: createConcurrencyLimiter({
        ...one,
        name: 'suppression-imports-at-once',
        atOnceMax: 100,
      }),
      exports: createConcurrencyLimiter({
        ...{ name: 'suppression-exports-at-once', atOnceMax: 8 },
        ...{ atOncePerCallerMax: exportsAtOnceMax, waitingPerCallerMax: 0 },
      }),
    },
  }
}
