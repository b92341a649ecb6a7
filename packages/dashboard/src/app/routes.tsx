/** All pages: their paths, what their addresses hold, and the screens, which are loaded when they are opened. */
import {
  createRootRoute,
  createRoute,
  lazyRouteComponent,
  notFound,
  Outlet,
  redirect,
} from '@tanstack/react-router'
import { queryClient } from '../api/query-client.ts'
import { readAuditSearch } from '../audit/audit-search.ts'
import { readDevelopersSearch } from '../developers/developers-search.ts'
import { readDomainSearch } from '../domains/domain-search.ts'
import { readEmailSearch } from '../email/email-search.ts'
import { readEmailsSearch } from '../emails/emails-search.ts'
import { readLiveSearch } from '../events/live-search.ts'
import { readInboundSearch } from '../inbound/inbound-search.ts'
import { readConnectedSearch } from '../oauth/connected-search.ts'
import {
  readFindSearch,
  readQueuesSearch,
  readSystemSearch,
  readTenantsSearch,
  readUsersSearch,
} from '../operator/operator-search.ts'
import { readOverviewSearch } from '../overview/range.ts'
import { clientOf } from '../session/client.ts'
import { ClosedPage } from '../session/closed-page.tsx'
import { onlyTenant } from '../session/only-tenant.ts'
import { isOperator, sessionQuery, useSession } from '../session/session.ts'
import { readSettingsSearch } from '../settings/settings-search.ts'
import { readSuppressionSearch } from '../suppressions/suppression-search.ts'
import { readTemplateSearch } from '../templates/template-search.ts'
import { readDeliverySearch } from '../webhooks/delivery-search.ts'
import { NotFound, Oops } from './not-found.tsx'
import { Shell } from './shell.tsx'

export const rootRoute = createRootRoute({ notFoundComponent: NotFound, errorComponent: Oops })

interface LoginSearch {
  /** Where the reader wanted to go. */
  readonly to?: string | undefined
}

const login = createRoute({
  getParentRoute: () => rootRoute,
  path: '/login',
  // What is left out here stays as it was in the address.
  validateSearch: ({ to }: Record<string, unknown>): LoginSearch => ({
    to: typeof to === 'string' && /^\/(?!\/)/.test(to) ? to : undefined,
  }),
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
    const first =
      session.tenants[0] ?? (isOperator(session) ? await onlyTenant(clientOf()) : undefined)
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
export const tenantRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: '/t/$tenantId',
  beforeLoad({ params: { tenantId } }) {
    // No header can carry another.
    if (!/^[\x21-\x7e]{1,64}$/.test(tenantId)) throw notFound()
  },
})

const overview = createRoute({
  getParentRoute: () => tenantRoute,
  path: '/',
  validateSearch: readOverviewSearch,
  component: lazyRouteComponent(() => import('../overview/overview-page.tsx'), 'OverviewPage'),
})

const live = createRoute({
  getParentRoute: () => tenantRoute,
  path: '/live',
  validateSearch: readLiveSearch,
  component: lazyRouteComponent(() => import('../events/live-page.tsx'), 'LivePage'),
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

const connected = createRoute({
  getParentRoute: () => tenantRoute,
  path: '/mailers/connected',
  validateSearch: readConnectedSearch,
  component: lazyRouteComponent(() => import('../oauth/connected-page.tsx'), 'ConnectedPage'),
})

const oauthApps = createRoute({
  getParentRoute: () => tenantRoute,
  path: '/mailers/oauth-apps',
  component: lazyRouteComponent(() => import('../oauth/oauth-apps-page.tsx'), 'OAuthAppsPage'),
})

const webhooks = createRoute({
  getParentRoute: () => tenantRoute,
  path: '/webhooks',
  component: lazyRouteComponent(() => import('../webhooks/webhooks-page.tsx'), 'WebhooksPage'),
})

const deliveries = createRoute({
  getParentRoute: () => tenantRoute,
  path: '/deliveries',
  validateSearch: readDeliverySearch,
  component: lazyRouteComponent(() => import('../webhooks/deliveries-page.tsx'), 'DeliveriesPage'),
})

const delivery = createRoute({
  getParentRoute: () => tenantRoute,
  path: '/deliveries/$deliveryId',
  component: lazyRouteComponent(() => import('../webhooks/delivery-page.tsx'), 'DeliveryPage'),
})

const suppressions = createRoute({
  getParentRoute: () => tenantRoute,
  path: '/suppressions',
  validateSearch: readSuppressionSearch,
  component: lazyRouteComponent(
    () => import('../suppressions/suppressions-page.tsx'),
    'SuppressionsPage',
  ),
})

const protection = createRoute({
  getParentRoute: () => tenantRoute,
  path: '/protection',
  component: lazyRouteComponent(
    () => import('../protection/protection-page.tsx'),
    'ProtectionPage',
  ),
})

const templates = createRoute({
  getParentRoute: () => tenantRoute,
  path: '/templates',
  component: lazyRouteComponent(() => import('../templates/templates-page.tsx'), 'TemplatesPage'),
})

const newTemplate = createRoute({
  getParentRoute: () => tenantRoute,
  path: '/templates/new',
  component: lazyRouteComponent(() => import('../templates/template-page.tsx'), 'NewTemplatePage'),
})

const template = createRoute({
  getParentRoute: () => tenantRoute,
  path: '/templates/$templateId',
  validateSearch: readTemplateSearch,
  component: lazyRouteComponent(() => import('../templates/template-page.tsx'), 'TemplatePage'),
})

const developers = createRoute({
  getParentRoute: () => tenantRoute,
  path: '/developers',
  validateSearch: readDevelopersSearch,
  component: lazyRouteComponent(
    () => import('../developers/developers-page.tsx'),
    'DevelopersPage',
  ),
})

const testInbox = createRoute({
  getParentRoute: () => tenantRoute,
  path: '/test-inbox',
  component: lazyRouteComponent(() => import('../test-inbox/test-inbox-page.tsx'), 'TestInboxPage'),
})

const settings = createRoute({
  getParentRoute: () => tenantRoute,
  path: '/settings',
  validateSearch: readSettingsSearch,
  component: lazyRouteComponent(() => import('../settings/settings-page.tsx'), 'SettingsPage'),
})

const emails = createRoute({
  getParentRoute: () => tenantRoute,
  path: '/emails',
  validateSearch: readEmailsSearch,
  component: lazyRouteComponent(() => import('../emails/emails-page.tsx'), 'EmailsPage'),
})

const email = createRoute({
  getParentRoute: () => tenantRoute,
  path: '/emails/$refId',
  validateSearch: readEmailSearch,
  component: lazyRouteComponent(() => import('../email/email-page.tsx'), 'EmailPage'),
})

const domains = createRoute({
  getParentRoute: () => tenantRoute,
  path: '/domains',
  validateSearch: readDomainSearch,
  component: lazyRouteComponent(() => import('../domains/domains-page.tsx'), 'DomainsPage'),
})

const domain = createRoute({
  getParentRoute: () => tenantRoute,
  path: '/domains/$domain',
  component: lazyRouteComponent(() => import('../domains/domain-page.tsx'), 'DomainPage'),
})

const inbound = createRoute({
  getParentRoute: () => tenantRoute,
  path: '/inbound',
  validateSearch: readInboundSearch,
  component: lazyRouteComponent(() => import('../inbound/inbound-page.tsx'), 'InboundPage'),
})

const inboundDomain = createRoute({
  getParentRoute: () => tenantRoute,
  path: '/inbound/domains/$domain',
  component: lazyRouteComponent(
    () => import('../inbound/inbound-domain-page.tsx'),
    'InboundDomainPage',
  ),
})

const inboundMessage = createRoute({
  getParentRoute: () => tenantRoute,
  path: '/inbound/messages/$inboundId',
  component: lazyRouteComponent(() => import('../inbound/message-page.tsx'), 'MessagePage'),
})

const mailboxes = createRoute({
  getParentRoute: () => tenantRoute,
  path: '/mailboxes',
  component: lazyRouteComponent(() => import('../mailboxes/mailboxes-page.tsx'), 'MailboxesPage'),
})

/** The pages of who runs the service. */
export const operatorRoute = createRoute({
  getParentRoute: () => shellRoute,
  path: '/operator',
  component: function OperatorPages() {
    return isOperator(useSession()) ? <Outlet /> : <ClosedPage />
  },
})

const operatorStart = createRoute({
  getParentRoute: () => operatorRoute,
  path: '/',
  beforeLoad() {
    throw redirect({ to: '/operator/tenants', replace: true })
  },
})

const tenants = createRoute({
  getParentRoute: () => operatorRoute,
  path: '/tenants',
  validateSearch: readTenantsSearch,
  component: lazyRouteComponent(() => import('../operator/tenants-page.tsx'), 'TenantsPage'),
})

/** Not `$tenantId`: the frame takes a page with that for one of the tenant's own. */
const operatedTenant = createRoute({
  getParentRoute: () => operatorRoute,
  path: '/tenants/$id',
  component: lazyRouteComponent(() => import('../operator/tenant-page.tsx'), 'TenantPage'),
})

const health = createRoute({
  getParentRoute: () => operatorRoute,
  path: '/health',
  component: lazyRouteComponent(() => import('../operator/health-page.tsx'), 'HealthPage'),
})

const queues = createRoute({
  getParentRoute: () => operatorRoute,
  path: '/queues',
  validateSearch: readQueuesSearch,
  component: lazyRouteComponent(() => import('../operator/queues-page.tsx'), 'QueuesPage'),
})

const search = createRoute({
  getParentRoute: () => operatorRoute,
  path: '/search',
  validateSearch: readFindSearch,
  component: lazyRouteComponent(() => import('../operator/search-page.tsx'), 'SearchPage'),
})

const system = createRoute({
  getParentRoute: () => operatorRoute,
  path: '/system',
  validateSearch: readSystemSearch,
  component: lazyRouteComponent(() => import('../operator/system-page.tsx'), 'SystemPage'),
})

const users = createRoute({
  getParentRoute: () => operatorRoute,
  path: '/users',
  validateSearch: readUsersSearch,
  component: lazyRouteComponent(() => import('../operator/users-page.tsx'), 'UsersPage'),
})

const oidc = createRoute({
  getParentRoute: () => operatorRoute,
  path: '/oidc',
  component: lazyRouteComponent(() => import('../operator/oidc-page.tsx'), 'OidcPage'),
})

const audit = createRoute({
  getParentRoute: () => operatorRoute,
  path: '/audit',
  validateSearch: readAuditSearch,
  component: lazyRouteComponent(() => import('../operator/audit-page.tsx'), 'AuditPage'),
})

export const routeTree = rootRoute.addChildren([
  login,
  setup,
  invitation,
  shellRoute.addChildren([
    start,
    account,
    tenantRoute.addChildren([
      ...[overview, emails, email],
      ...[live, suppressions, protection],
      ...[templates, newTemplate, template],
      ...[mailers, mailer, connected, oauthApps],
      ...[webhooks, deliveries, delivery],
      ...[domains, domain],
      ...[inbound, inboundDomain, inboundMessage, mailboxes],
      ...[developers, testInbox, settings],
    ]),
    operatorRoute.addChildren([
      ...[operatorStart, tenants, operatedTenant, health, queues],
      ...[search, system, users, oidc, audit],
    ]),
  ]),
])
