/** Makes suppressions: routes alone, for others read and write them by the front door. */
import type { Db } from '../platform/db/index.ts'
import type { HttpApp } from '../platform/http/app.ts'
import { suppressionRoutes } from './routes.ts'

export function createSuppressions(deps: { readonly db: Db }) {
  return { routes: (app: HttpApp) => suppressionRoutes(app, deps) }
}
