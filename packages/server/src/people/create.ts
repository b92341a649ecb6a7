/** Makes people: users, members, invitations and sessions, and their routes (docs/reference/people.md). */
import { createConcurrencyLimiter } from '@postrider/runtime/concurrency-limiter'
import type { Db } from '../platform/db/index.ts'
import { createFailureBudget } from '../platform/failure-budget.ts'
import type { HttpApp } from '../platform/http/app.ts'
import type { SessionAccess } from '../platform/http/sessions/session.ts'
import type { Logger } from '../platform/log.ts'
import { hasTenant } from '../tenants/index.ts'
import { createPeopleJanitor } from './janitor.ts'
import { createSessionCookie } from './sessions/cookie.ts'
import { createSessionFinder } from './sessions/find-session.ts'
import { createLoginLimits } from './sessions/login-limits.ts'
import { sessionRoutes } from './sessions/routes.ts'
import { peopleRoutes } from './users/routes.ts'

/** Half of the threads that files and DNS need, too. */
const HASHES_AT_ONCE = { atOnceMax: 2, atOncePerCallerMax: 1, waitingPerCallerMax: 20 } as const
const WRONG_LINKS = { failuresMax: 30, windowS: 15 * 60 } as const

export function createPeople(deps: {
  readonly db: Db
  readonly log: Logger
  readonly config: { readonly publicUrl: string }
}) {
  const { db } = deps
  const { publicUrl } = deps.config
  const cookie = createSessionCookie(publicUrl)
  const sessions: SessionAccess = {
    ...createSessionFinder({ db }),
    cookieName: cookie.name,
    isOwnOrigin: cookie.isOwnOrigin,
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
    /** Deletes what has ended. */
    janitor: createPeopleJanitor(deps),
    routes(app: HttpApp) {
      peopleRoutes(app, { db, publicUrl })
      sessionRoutes(app, { db, hashing, wrongLinks, sessions, cookie, limits })
    },
  }
}
