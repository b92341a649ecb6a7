/**
 * What the dashboard calls to log in and out (docs/reference/people.md#sessions): without a key, by a cookie.
 */
import {
  acceptInvitationBody,
  createSessionBody,
  sessionParams,
  type UiOperationId,
  uiOperations,
} from '@postrider/contract'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Static, TSchema } from 'typebox'
import {
  type Person,
  readCookie,
  type SessionAccess,
} from '../../platform/http/sessions/session.ts'
import { refuseForeignOrigin } from '../../platform/http/sessions/session-guard.ts'
import { type AcceptDeps, acceptInvitation } from '../invitations/accept-invitation.ts'
import { toWireUser } from '../users/user.ts'
import type { SessionCookie } from './cookie.ts'
import { type Caller, logIn } from './log-in.ts'
import type { LoginLimits } from './login-limits.ts'
import { describeSession, endSession, listOwnSessions } from './own-sessions.ts'

export interface SessionRoutesDeps extends AcceptDeps {
  readonly sessions: SessionAccess
  readonly cookie: SessionCookie
  readonly limits: LoginLimits
}

export function sessionRoutes(app: FastifyInstance, deps: SessionRoutesDeps): void {
  const { cookie, db, sessions } = deps
  addUiOperation(app, 'acceptInvitation', {
    body: acceptInvitationBody,
    async handle({ body, request }) {
      refuseForeignOrigin(request, sessions)
      const user = await acceptInvitation(deps, body, request.clientAddress)
      return { message: 'Password Set', user: toWireUser(user) }
    },
  })

  addUiOperation(app, 'createSession', {
    body: createSessionBody,
    async handle({ body, request, reply }) {
      refuseForeignOrigin(request, sessions)
      const opened = await logIn(deps, body, callerOf(request, cookie.name))
      const described = await describeSession(db, opened)
      reply.header('set-cookie', cookie.holding(opened.token))
      return { message: 'Logged In', ...described }
    },
  })

  addUiOperation(app, 'getSession', {
    async handle({ person }) {
      return { message: 'Session', ...(await describeSession(db, person)) }
    },
  })

  addUiOperation(app, 'deleteSession', {
    async handle({ person, reply }) {
      await endSession(db, person, person.sessionId)
      reply.header('set-cookie', cookie.cleared)
      return { message: 'Logged Out' }
    },
  })

  addUiOperation(app, 'listSessions', {
    async handle({ person }) {
      return { message: 'Sessions', sessions: await listOwnSessions(db, person) }
    },
  })

  addUiOperation(app, 'revokeSession', {
    params: sessionParams,
    async handle({ params, person }) {
      await endSession(db, person, params.session_id)
      return { message: 'Session Ended' }
    },
  })
}

export function callerOf(request: FastifyRequest, cookieName: string): Caller {
  return {
    address: request.clientAddress,
    userAgent: request.headers['user-agent'],
    cookie: readCookie(request.headers.cookie, cookieName),
  }
}

type Value<S> = S extends TSchema ? Static<S> : undefined

interface UiCall<Id extends UiOperationId, Body, Params> {
  readonly body: Value<Body>
  readonly params: Value<Params>
  readonly person: (typeof uiOperations)[Id]['auth'] extends 'session' ? Person : undefined
  readonly request: FastifyRequest
  readonly reply: FastifyReply
}

/** They are in no OpenAPI description: they are for a browser, and the description is for keys. */
function addUiOperation<
  Id extends UiOperationId,
  Body extends TSchema | undefined = undefined,
  Params extends TSchema | undefined = undefined,
>(
  app: FastifyInstance,
  id: Id,
  o: {
    readonly body?: Body
    readonly params?: Params
    handle(call: UiCall<Id, Body, Params>): Promise<object>
  },
): void {
  const { auth, method, path, status } = uiOperations[id]
  app.route({
    method,
    url: path.replaceAll(/\{(\w+)\}/g, ':$1'),
    config: { auth },
    schema: {
      ...(o.body === undefined ? {} : { body: o.body }),
      ...(o.params === undefined ? {} : { params: o.params }),
    },
    async handler(request, reply) {
      const { body, params, person } = request
      const call = { body, params, person, request, reply }
      // The schemas and the guard have made these values what their types say.
      const answered = await o.handle(call as unknown as UiCall<Id, Body, Params>)
      reply.code(status)
      return { success: true, ...answered }
    },
  })
}
