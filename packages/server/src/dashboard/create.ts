/** Makes the dashboard's routes: files alone; what the page shows comes from the API, as for everyone. */
import type { HttpApp } from '../platform/http/app.ts'
import type { Logger } from '../platform/log.ts'
import { readBuiltFiles } from './built-files.ts'
import { dashboardRoutes } from './routes.ts'

const BUILT = new URL('../../../dashboard/dist/', import.meta.url)

/** @param folder where the build is, with a slash at the end */
export function createDashboard({
  log,
  hasOidc,
  isOidcOnly,
  folder = BUILT,
}: {
  readonly log: Logger
  /** People log in at a provider, and by a password, if it is not the only way. */
  readonly hasOidc: boolean
  readonly isOidcOnly: boolean
  readonly folder?: URL
}) {
  const ways = [...(isOidcOnly ? [] : ['password']), ...(hasOidc ? ['oidc'] : [])].join(' ')
  return {
    routes(app: HttpApp) {
      const built = readBuiltFiles(folder, ways)
      if (built === undefined)
        log.warn('dashboard.not_built: /app/ answers 503; run `npm run build` and start again')
      dashboardRoutes(app, built)
    },
  }
}
