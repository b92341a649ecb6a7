/** All pages: their paths, what their addresses hold, and the screens, which are loaded when they are opened. */
import { createRootRoute, createRoute, lazyRouteComponent, redirect } from '@tanstack/react-router'
import { queryClient } from '../api/query-client.ts'
import { readOverviewSearch } from '../overview/range.ts'
import { clientOf } from '../session/client.ts'
import { isOperator, type Session, sessionQuery } from '../session/session.ts'
import { NotFound, Oops } from './not-found.tsx'
import { Shell } from './shell.tsx'

export const rootRoute = createRootRoute({ notFoundComponent: NotFound, errorComponent: Oops })

interface LoginSearch {
  /** Where the reader wanted to go. */
  readonly to?: string
}

const login = createRoute({
  getParentRoute: () => rootRoute,
  path: '/login',
  validateSearch: ({ to }: Record<string, unknown>): LoginSearch =>
    typeof to === 'string' && /^\/(?!\/)/.test(to) ? { to } : {},
  component: lazyRouteComponent(() => import('./login-page.tsx'), 'LoginPage'),
})

const setup = createRoute({
  getParentRoute: () => rootRoute,
  path: '/setup',
  component: lazyRouteComponent(() => import('./invitation-page.tsx'), 'SetupPage'),
})

const invitation = createRoute({
  getParentRoute: () => rootRoute,
  path: '/invitation',
  component: lazyRouteComponent(() => import('./invitation-page.tsx'), 'InvitationPage'),
})

/** Of a service with one tenant, whose operator then begins there. */
async function onlyTenant(session: Session): Promise<readonly { readonly tenant_id: string }[]> {
  if (!isOperator(session)) return []
  const { tenants, nextPageToken } = await clientOf().listTenants({ pageSize: 1 })
  return nextPageToken ? [] : tenants
}

/** Below it somebody is logged in. */
export const shellRoute = createRoute({
  getParentRoute: () => rootRoute,
  id: 'shell',
  component: Shell,
  async beforeLoad({ location }) {
    const session = await queryClient.ensureQueryData(sessionQuery)
    if (session === null) {
      const to = location.pathname === '/' ? {} : { to: location.href }
      throw redirect({ to: '/login', search: to })
    }
    return { session }
  },
})

const start = createRoute({
  getParentRoute: () => shellRoute,
  path: '/',
  async beforeLoad({ context: { session } }) {
    const [first] = session.tenants.length > 0 ? session.tenants : await onlyTenant(session)
    if (first !== undefined)
      throw redirect({ to: '/t/$tenantId', params: { tenantId: first.tenant_id }, replace: true })
    if (isOperator(session)) throw redirect({ to: '/operator', replace: true })
  },
  component: lazyRouteComponent(() => import('./no-tenant-page.tsx'), 'NoTenantPage'),
})

const account = createRoute({
  getParentRoute: () => shellRoute,
  path: '/account',
  component: lazyRouteComponent(() => import('./account-page.tsx'), 'AccountPage'),
})

/** The pages of a tenant. */
export const tenantRoute = createRoute({ getParentRoute: () => shellRoute, path: '/t/$tenantId' })

const overview = createRoute({
  getParentRoute: () => tenantRoute,
  path: '/',
  validateSearch: readOverviewSearch,
  component: lazyRouteComponent(() => import('../overview/overview-page.tsx'), 'OverviewPage'),
})

const mailers = createRoute({
  getParentRoute: () => tenantRoute,
  path: '/mailers',
  component: lazyRouteComponent(() => import('../mailers/mailers-page.tsx'), 'MailersPage'),
})

const mailer = createRoute({
  getParentRoute: () => tenantRoute,
  path: '/mailers/$mailerId',
  component: lazyRouteComponent(() => import('../mailers/mailer-page.tsx'), 'MailerPage'),
})

/** The pages of who runs the service. */
export const operatorRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: '/operator',
  beforeLoad({ context: { session } }) {
    if (!isOperator(session)) throw redirect({ to: '/', replace: true })
  },
})

const operatorStart = createRoute({
  getParentRoute: () => operatorRoute,
  path: '/',
  component: lazyRouteComponent(() => import('../operator/tenants-page.tsx'), 'TenantsPage'),
})

export const routeTree = rootRoute.addChildren([
  login,
  setup,
  invitation,
  shellRoute.addChildren([
    start,
    account,
    tenantRoute.addChildren([overview, mailers, mailer]),
    operatorRoute.addChildren([operatorStart]),
  ]),
])
