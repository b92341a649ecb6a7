/**
 * updateOAuthApp: a new client secret, other scopes, redirects or servers; what is left out stays as
 * it is. Mailers keep the server that they were made with, and log in with the new secret.
 *
 * The provider's endpoints stay: anyone with an API key could otherwise get the tokens of every
 * mailbox sent to a place of his own.
 */
import type { UpdateOAuthAppBody } from '@postrider/contract'
import { ApiError, validationError } from '../../../platform/errors.ts'
import { nullAs } from '../../../platform/values/null-as.ts'
import { PROVIDERS } from '../provider.ts'
import { getApp, updateApp as update } from './app-store.ts'
import { type AppDeps, refuseFields, serverMissing, serversIn } from './create-app.ts'
import { type OAuthApp, sealClientSecret } from './oauth-app.ts'

export async function updateApp(
  deps: AppDeps,
  tenantId: string,
  appId: string,
  body: UpdateOAuthAppBody,
): Promise<OAuthApp> {
  const app = await getApp(deps.db, tenantId, appId)
  if (app === undefined) throw new ApiError('not_found')
  const { client_secret: secret, scopes } = body
  const facts = PROVIDERS[app.provider]
  const redirectUris = nullAs(body.redirect_uris, [])
  const servers = { smtp: nullAs(body.smtp, facts.smtp), imap: nullAs(body.imap, facts.imap) }
  const isWithout = (name: 'smtp' | 'imap') =>
    (body[name] === undefined ? app[name] : servers[name]) === undefined
  if (isWithout('smtp') && isWithout('imap')) throw validationError(serverMissing)
  const given = Object.entries(body).filter(([, value]) => value !== null)
  await refuseFields(deps, tenantId, Object.fromEntries(given))
  const updated = await update(deps.db, app, {
    ...(secret === undefined ? {} : { clientSecret: sealClientSecret(deps.keyRing, app, secret) }),
    ...(scopes === undefined ? {} : { scopes }),
    ...(redirectUris === undefined ? {} : { redirectUris }),
    ...(body.smtp === null ? { smtp: null } : {}),
    ...(body.imap === null ? { imap: null } : {}),
    ...serversIn(servers),
  })
  if (updated === undefined) throw new ApiError('not_found')
  return updated
}
