/** Makes suppressions: routes and a janitor, for others read and write them by the front door. */
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
  return {
    routes: (app: HttpApp) => suppressionRoutes(app, deps),
    janitor: createExpiryJanitor(deps),
  }
}
