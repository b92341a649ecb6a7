/** Makes people: users, members, invitations and sessions, and their routes (docs/reference/people.md). */
import type { SubmissionAddress } from '@postrider/contract'
import { createConcurrencyLimiter } from '@postrider/runtime/concurrency-limiter'
import type { Db } from '../platform/db/index.ts'
import type { Egress } from '../platform/egress/index.ts'
import type { HttpApp } from '../platform/http/app.ts'
import type { SessionAccess } from '../platform/http/sessions/session.ts'
import { createFailureBudget } from '../platform/limits/failure-budget.ts'
import type { Logger } from '../platform/log.ts'
import { hasTenant } from '../tenants/index.ts'
import { createPeopleJanitor } from './janitor.ts'
import { createOidcProvider } from './oidc/provider.ts'
import { oidcRoutes } from './oidc/routes.ts'
import { createSessionCookies, type SessionCookies } from './sessions/cookie.ts'
import { createSessionFinder } from './sessions/find-session.ts'
import { createLoginLimits } from './sessions/login-limits.ts'
import { sessionRoutes } from './sessions/routes.ts'
import { removeMembers } from './users/removal-store.ts'
import { peopleRoutes } from './users/routes.ts'

/** Half of the threads that files and DNS need, too. A stranger may call from ever so many networks. */
const HASHES_AT_ONCE = {
  atOnceMax: 2,
  atOncePerCallerMax: 1,
  waitingPerCallerMax: 20,
  waitingMax: 200,
} as const
const WRONG_LINKS = { failuresMax: 30, windowS: 15 * 60 } as const

/** At the provider. */
const OIDC_AT_ONCE = { atOnceMax: 20, atOncePerCallerMax: 2, waitingPerCallerMax: 10 } as const

export interface PeopleConfig {
  readonly publicUrl: string
  readonly oidcIssuer?: string | undefined
  readonly oidcClientId?: string | undefined
  readonly oidcClientSecret?: string | undefined
  readonly oidcRoleClaim?: string | undefined
  readonly oidcOnly?: boolean | undefined
}

export function createPeople(deps: {
  readonly db: Db
  readonly log: Logger
  readonly config: PeopleConfig
  readonly egress: Egress
  readonly submissionAddress: () => SubmissionAddress | null
}) {
  const { db, log } = deps
  const { publicUrl } = deps.config
  const cookies = createSessionCookies(publicUrl)
  const { session: cookie } = cookies
  const sessions: SessionAccess = {
    ...createSessionFinder({ db }),
    cookieName: cookie.name,
    isOwnOrigin: cookies.isOwnOrigin,
    hasTenant: (tenantId) => hasTenant(db, tenantId),
  }
  const hashing = createConcurrencyLimiter({ name: 'password-hashes', ...HASHES_AT_ONCE })
  const wrongLinks = createFailureBudget({
    name: 'wrong-links',
    ...WRONG_LINKS,
    message: 'Too many wrong links from this address',
  })
  const limits = createLoginLimits()
  return {
    sessions,
    removeMembers,
    /** Deletes what has ended. */
    janitor: createPeopleJanitor(deps),
    routes(app: HttpApp) {
      peopleRoutes(app, { db, publicUrl })
      const isOidcOnly = deps.config.oidcOnly === true
      const { submissionAddress } = deps
      sessionRoutes(app, {
        ...{ db, log, hashing, wrongLinks, sessions, cookie, limits, isOidcOnly },
        submissionAddress,
      })
      addOidc(app, deps, cookies)
    },
  }
}

function addOidc(
  app: HttpApp,
  { config, db, egress, log }: Parameters<typeof createPeople>[0],
  { pending, session }: SessionCookies,
): void {
  const { oidcClientId: clientId, oidcIssuer: issuer, oidcRoleClaim: roleClaim = 'roles' } = config
  if (issuer === undefined || clientId === undefined) return
  const base = config.publicUrl.replace(/\/+$/, '')
  const provider = createOidcProvider({
    ...{ issuer, clientId, egress, clientSecret: config.oidcClientSecret },
    redirectUri: `${base}/ui/oidc/callback`,
  })
  const limiter = createConcurrencyLimiter({ name: 'oidc-at-once', ...OIDC_AT_ONCE })
  const home = `${base}/app/`
  oidcRoutes(app, { db, log, provider, roleClaim, limiter, pending, session, home })
}
