/**
 * The login by OIDC (docs/reference/people.md#oidc): to the provider, and back with a session. A cookie holds
 * the state, the nonce and the verifier meanwhile, so that nobody ends a login that another browser began.
 */
import type { ConcurrencyLimiter } from '@postrider/runtime/concurrency-limiter'
import type { FastifyInstance } from 'fastify'
import type { Db } from '../../platform/db/index.ts'
import { ApiError } from '../../platform/errors.ts'
import { readCookie } from '../../platform/http/sessions/session.ts'
import { networkOf } from '../../platform/limits/address-network.ts'
import { createRateLimit } from '../../platform/limits/rate-limit.ts'
import type { Logger } from '../../platform/log.ts'
import type { Cookie } from '../sessions/cookie.ts'
import { callerOf, openSession } from '../sessions/log-in.ts'
import { oidcCallback, userOfClaims } from './log-in-by-oidc.ts'
import type { OidcProvider, PendingLogin } from './provider.ts'

export interface OidcRoutesDeps {
  readonly db: Db
  readonly log: Logger
  readonly provider: OidcProvider
  readonly roleClaim: string
  readonly limiter: ConcurrencyLimiter
  readonly pending: Cookie
  readonly session: Cookie
  /** The page of the dashboard. */
  readonly home: string
}

const FAILURES = { usesMax: 30, windowS: 15 * 60 } as const

export function oidcRoutes(app: FastifyInstance, deps: OidcRoutesDeps): void {
  const { db, limiter, log, pending, provider, session } = deps
  const options = { config: { auth: 'public' as const }, schema: { hide: true } }
  const failures = createRateLimit({ name: 'oidc-failures', ...FAILURES })

  app.get('/ui/oidc/login', options, async (request, reply) => {
    const begin = () => provider.begin().catch((error) => Promise.reject(awayBy(error, log)))
    const begun = await limiter.run(networkOf(request.clientAddress), begin)
    reply.header('set-cookie', pending.holding(write(begun.pending)))
    return reply.redirect(begun.url, 303)
  })

  app.get('/ui/oidc/callback', options, async (request, reply) => {
    reply.header('set-cookie', pending.cleared)
    const network = networkOf(request.clientAddress)
    const begun = read(readCookie(request.headers.cookie, pending.name))
    if (begun === undefined) throw failed()
    const query = /\?.*$/.exec(request.raw.url ?? '')?.[0] ?? ''
    const finish = async () => {
      const claims = await provider.finish(query, begun).catch((error: unknown) => {
        log.warn({ err: error }, 'oidc.login_failed')
        throw failed()
      })
      const caller = callerOf(request, session.name)
      const user = await userOfClaims(deps, claims, caller)
      const entry = { operation: oidcCallback, status: 303 }
      return await openSession(db, user, { caller, entry })
    }
    const opened = await limiter.run(network, () => failures.useUnlessDone(network, finish))
    reply.header('set-cookie', [pending.cleared, session.holding(opened.token)])
    return reply.redirect(deps.home, 303)
  })
}

function awayBy(error: unknown, log: Logger): ApiError {
  log.warn({ err: error }, 'oidc.provider_failed')
  const message = 'The OIDC provider could not be reached: see the log of the service'
  return new ApiError('unavailable', { message, retryAfterS: 5, cause: error })
}

function failed(): ApiError {
  return new ApiError('unauthorized', {
    message: 'The login by OIDC did not succeed: begin again at /ui/oidc/login',
  })
}

function write({ state, nonce, codeVerifier }: PendingLogin): string {
  return [state, nonce, codeVerifier].join('.')
}

function read(text: string | undefined): PendingLogin | undefined {
  const [, state, nonce, codeVerifier] =
    /^([\w-]{20,100})\.([\w-]{20,100})\.([\w-]{40,130})$/.exec(text ?? '') ?? []
  if (state === undefined || nonce === undefined || codeVerifier === undefined) return undefined
  return { state, nonce, codeVerifier }
}
