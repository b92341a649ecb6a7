/**
 * What the dashboard calls to log in and out (docs/reference/people.md#sessions): without a key, by a cookie.
 */
import {
  acceptInvitationAnswer,
  acceptInvitationBody,
  createSessionAnswer,
  createSessionBody,
  deleteSessionAnswer,
  getSessionAnswer,
  listSessionsAnswer,
  revokeSessionAnswer,
  type SubmissionAddress,
  sessionParams,
} from '@postrider/contract'
import type { FastifyInstance } from 'fastify'
import { ApiError } from '../../platform/errors.ts'
import { addOperation } from '../../platform/http/operation.ts'
import type { SessionAccess } from '../../platform/http/sessions/session.ts'
import { refuseForeignOrigin } from '../../platform/http/sessions/session-guard.ts'
import type { Logger } from '../../platform/log.ts'
import { type AcceptDeps, acceptInvitation } from '../invitations/accept-invitation.ts'
import { toWireUser } from '../users/user.ts'
import type { Cookie } from './cookie.ts'
import { callerOf, logIn } from './log-in.ts'
import type { LoginLimits } from './login-limits.ts'
import { describeSession, endSession, listOwnSessions, revokeSession } from './own-sessions.ts'

export interface SessionRoutesDeps extends AcceptDeps {
  readonly log: Logger
  readonly sessions: SessionAccess
  readonly cookie: Cookie
  readonly limits: LoginLimits
  /** `OIDC_ONLY`: nobody logs in by a password, nor sets one. */
  readonly isOidcOnly: boolean
  /** Where programs hand in mail over SMTP. */
  readonly submissionAddress: () => SubmissionAddress | null
}

export function sessionRoutes(app: FastifyInstance, deps: SessionRoutesDeps): void {
  const { cookie, db, sessions } = deps
  const tag = 'Sessions'
  const refusePasswords = () => {
    if (!deps.isOidcOnly) return
    throw new ApiError('forbidden', {
      message: 'Forbidden: people log in by OIDC alone, at /ui/oidc/login',
    })
  }
  addOperation(app, 'acceptInvitation', {
    summary: 'Set a password by an invitation',
    description:
      '`token` is what stands behind `#` in the link, which is used up. The link for the first user also takes `email` and `name`, and makes an operator. A refused password does not use the link up. An unknown, used or expired link is 404.',
    tag,
    errors: ['not_found'],
    answer: acceptInvitationAnswer,
    body: acceptInvitationBody,
    async handle({ body, request }) {
      refuseForeignOrigin(request, sessions)
      refusePasswords()
      const user = await acceptInvitation(deps, body, callerOf(request, cookie.name))
      return { message: 'Password Set', user: toWireUser(user) }
    },
  })

  addOperation(app, 'createSession', {
    summary: 'Log in',
    description:
      'Sets the cookie of the session. After too many failures a login is 429, with the right password, too.',
    tag,
    answerHeaders: ['Set-Cookie'],
    answer: createSessionAnswer,
    body: createSessionBody,
    async handle({ body, request, reply }) {
      refuseForeignOrigin(request, sessions)
      refusePasswords()
      const opened = await logIn(deps, body, callerOf(request, cookie.name))
      const described = await describeSession(db, opened)
      reply.header('set-cookie', cookie.holding(opened.token))
      return { message: 'Logged In', ...described }
    },
  })

  addOperation(app, 'getSession', {
    summary: 'Tell who is logged in, with the role and the tenants',
    description:
      'Also what the dashboard says of the service: where programs hand in mail over SMTP.',
    tag,
    answer: getSessionAnswer,
    async handle({ person }) {
      const submission = deps.submissionAddress()
      return { message: 'Session', ...(await describeSession(db, person)), submission }
    },
  })

  addOperation(app, 'deleteSession', {
    summary: 'Log out',
    tag,
    answerHeaders: ['Set-Cookie'],
    answer: deleteSessionAnswer,
    async handle({ person, reply }) {
      await endSession(db, person, person.sessionId)
      reply.header('set-cookie', cookie.cleared)
      return { message: 'Logged Out' }
    },
  })

  addOperation(app, 'listSessions', {
    summary: 'List the open sessions of the user',
    tag,
    answer: listSessionsAnswer,
    async handle({ person }) {
      return { message: 'Sessions', sessions: await listOwnSessions(db, person) }
    },
  })

  addOperation(app, 'revokeSession', {
    summary: 'End a session of the user',
    tag,
    answer: revokeSessionAnswer,
    params: sessionParams,
    async handle({ params, person, request }) {
      const from = callerOf(request, cookie.name)
      await revokeSession(db, person, { sessionId: params.session_id, from })
      return { message: 'Session Ended' }
    },
  })
}
