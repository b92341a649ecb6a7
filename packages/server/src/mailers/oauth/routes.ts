/**
 * The operations on OAuth apps and on mailers that log in by them (docs/reference/mailers.md#oauth-apps), and
 * the page that providers send browsers back to.
 */
import {
  createOAuthAppAnswer,
  createOAuthAppBody,
  deleteOAuthAppAnswer,
  listOAuthAppsAnswer,
  oauthAppParams,
  oauthAppsMax,
  oauthLoginAnswer,
  oauthLoginBody,
  oauthMailerParams,
  setOAuthActiveAnswer,
  setOAuthActiveBody,
  updateOAuthAppAnswer,
  updateOAuthAppBody,
} from '@postrider/contract'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { addOperation } from '../../platform/http/operation.ts'
import { escapeHtml, PAGE_STYLE, pageHeaders } from '../../platform/http/page.ts'
import type { ShowDeps } from '../imap/show-mailboxes.ts'
import { showMailer } from '../mailer-wire.ts'
import { type SetActiveDeps, setOAuthActive } from '../state/set-active.ts'
import { type AppDeps, createApp } from './apps/create-app.ts'
import { deleteApp } from './apps/delete-app.ts'
import { listApps } from './apps/list-apps.ts'
import { toWire } from './apps/oauth-app.ts'
import { updateApp } from './apps/update-app.ts'
import { type CallbackAnswer, type FinishLoginDeps, finishLogin } from './login/finish-login.ts'
import { type LogInDeps, logIn } from './login/log-in.ts'

export interface OAuthRoutesDeps
  extends AppDeps,
    LogInDeps,
    FinishLoginDeps,
    SetActiveDeps,
    Pick<ShowDeps, 'readMailboxHealth'> {
  readonly db: LogInDeps['db']
  readonly egress: SetActiveDeps['egress']
}

const TAG = 'OAuth'

export function oauthRoutes(app: FastifyInstance, deps: OAuthRoutesDeps): void {
  appRoutes(app, deps)
  loginRoutes(app, deps)
}

function appRoutes(app: FastifyInstance, deps: OAuthRoutesDeps): void {
  addOperation(app, 'createOAuthApp', {
    summary: 'Register an OAuth app',
    description: `Register \`callback_url\` of the answer at the provider. \`google\` and \`microsoft\` need only the client's id and secret. Given addresses replace the provider's, for example those of a national cloud. A tenant may have ${oauthAppsMax}.`,
    tag: TAG,
    scopes: ['mailers'],
    body: createOAuthAppBody,
    answer: createOAuthAppAnswer,
    errors: ['conflict', 'rate_limited'],
    async handle({ tenant, body }) {
      const created = await createApp(deps, tenant.tenantId, body)
      return { message: 'OAuth app created', app: toWire(created, deps.callbackUrl) }
    },
  })
  addOperation(app, 'listOAuthApps', {
    summary: 'List OAuth apps',
    tag: TAG,
    scopes: ['mailers', 'read'],
    answer: listOAuthAppsAnswer,
    async handle({ tenant }) {
      const apps = await listApps(deps, tenant.tenantId)
      return {
        message: `${apps.length} OAuth app${apps.length === 1 ? '' : 's'}`,
        callback_url: deps.callbackUrl,
        apps: apps.map((one) => toWire(one, deps.callbackUrl)),
      }
    },
  })
  addOperation(app, 'updateOAuthApp', {
    summary: 'Update an OAuth app',
    description:
      'For a new client secret, other scopes, other ways back. Mailers keep their server. The addresses that tokens are sent to cannot be changed: create another app.',
    tag: TAG,
    scopes: ['mailers'],
    params: oauthAppParams,
    body: updateOAuthAppBody,
    answer: updateOAuthAppAnswer,
    errors: ['rate_limited'],
    async handle({ tenant, params, body }) {
      const updated = await updateApp(deps, tenant.tenantId, params.app_id, body)
      return { message: 'OAuth app updated', app: toWire(updated, deps.callbackUrl) }
    },
  })
  addOperation(app, 'deleteOAuthApp', {
    summary: 'Delete an OAuth app',
    description: 'While mailers log in by it, the answer is 409: delete them first.',
    tag: TAG,
    scopes: ['mailers'],
    params: oauthAppParams,
    answer: deleteOAuthAppAnswer,
    errors: ['conflict'],
    async handle({ tenant, params }) {
      await deleteApp(deps, tenant.tenantId, params.app_id)
      return { message: 'OAuth app deleted' }
    },
  })
}

function loginRoutes(app: FastifyInstance, deps: OAuthRoutesDeps): void {
  addOperation(app, 'oauthLogin', {
    summary: 'Connect a mailbox by OAuth',
    description:
      "Without `token`, open the answer's `authorization_url` in a browser within 10 minutes, once. The browser then goes to `redirect_uri` with `success=true` and `mailer_id`, or `success=false` and `error`. Without `redirect_uri` it gets a page. With `token`, a refresh token, the mailer is in the answer. Without `mailer_id`, a mailer is created, or the mailer of the same mailbox and app logs in again. If the mailbox has another mailer of this kind, the answer is 409. With `mailer_id`, the mailbox must have the mailer's address. A deactivated mailer becomes active.",
    tag: TAG,
    scopes: ['mailers'],
    body: oauthLoginBody,
    answer: oauthLoginAnswer,
    errors: [
      'mailer_exists',
      'mailer_unreachable',
      'mailer_auth_failed',
      'oauth_failed',
      'rate_limited',
    ],
    async handle({ tenant, body }) {
      const result = await logIn(deps, tenant.tenantId, body)
      return 'mailer' in result
        ? { message: 'Mailbox connected', mailer: await showMailer(deps, result.mailer) }
        : {
            message: 'Open authorization_url in a browser',
            authorization_url: result.authorizationUrl,
          }
    },
  })
  addOperation(app, 'setOAuthActive', {
    summary: 'Disable an OAuth mailer, or make it active again',
    description:
      'A mailer whose grant was revoked becomes active only when its provider gives a token again; else 422, and oauthLogin is the way.',
    tag: TAG,
    scopes: ['mailers'],
    params: oauthMailerParams,
    body: setOAuthActiveBody,
    answer: setOAuthActiveAnswer,
    errors: ['mailer_auth_failed', 'rate_limited'],
    async handle({ tenant, params, body }) {
      const active = body.active ?? true
      const key = { tenantId: tenant.tenantId, mailerId: params.mailer_id }
      const mailer = await setOAuthActive(deps, key, active)
      const message = active ? 'Mailer active' : 'Mailer disabled'
      return { message, mailer: await showMailer(deps, mailer) }
    },
  })
  app.get(
    '/oauth/callback',
    // What only looks whether a page is there must not use the state up.
    { config: { auth: 'public' }, schema: { hide: true }, exposeHeadRoute: false },
    async (request, reply) => {
      const answer = await finishLogin(deps, {
        state: parameterOf(request, 'state'),
        code: parameterOf(request, 'code'),
        error: parameterOf(request, 'error'),
      })
      reply.headers(PAGE_HEADERS)
      if (answer.redirectTo !== undefined) return reply.redirect(answer.redirectTo, 303)
      return reply.code(answer.isSuccess ? 200 : 400).send(callbackPage(answer))
    },
  )
}

/** Providers add parameters of their own, which are none of ours; one that is repeated is none. */
function parameterOf({ query }: FastifyRequest, name: string): string | undefined {
  const value: unknown =
    typeof query === 'object' && query !== null ? Reflect.get(query, name) : undefined
  return typeof value === 'string' ? value : undefined
}

/** The address of this page holds a code: it goes to nobody. */
const PAGE_HEADERS = pageHeaders({ formAction: "'none'" })

/** The page that ends a login without a way back. */
function callbackPage({ isSuccess, message }: CallbackAnswer): string {
  const title = isSuccess ? 'Connected' : 'Not connected'
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${title}</title><style>${PAGE_STYLE}</style></head>
<body><h1>${title}</h1><p>${escapeHtml(message)}</p></body>
</html>
`
}
