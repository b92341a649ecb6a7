/**
 * updateOAuthApp: a new client secret, other scopes, redirects or servers; what is left out stays as
 * it is. Mailers keep the server that they were made with, and log in with the new secret.
 *
 * The provider's endpoints stay: whoever holds an API key could otherwise have the tokens of every
 * mailbox sent to a place of his own.
 */
import type { UpdateOAuthAppBody } from '@postrider/contract'
import { ApiError } from '../../platform/errors.ts'
import { getApp, updateApp as update } from './app-store.ts'
import { type AppDeps, refuseFields, serversIn } from './create-app.ts'
import { type OAuthApp, sealClientSecret } from './oauth-app.ts'

export async function updateApp(
  deps: AppDeps,
  tenantId: string,
  appId: string,
  body: UpdateOAuthAppBody,
): Promise<OAuthApp> {
  const app = await getApp(deps.db, tenantId, appId)
  if (app === undefined) throw new ApiError('not_found')
  await refuseFields(deps, tenantId, body)
  const { client_secret: secret, scopes, redirect_uris: redirectUris } = body
  const updated = await update(deps.db, app, {
    ...(secret === undefined ? {} : { clientSecret: sealClientSecret(deps.keyRing, app, secret) }),
    ...(scopes === undefined ? {} : { scopes }),
    ...(redirectUris === undefined ? {} : { redirectUris }),
    ...serversIn(body),
  })
  if (updated === undefined) throw new ApiError('not_found')
  return updated
}
