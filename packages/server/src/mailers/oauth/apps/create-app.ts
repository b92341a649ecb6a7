/** createOAuthApp (docs/reference/mailers.md#oauth-apps). */
import {
  type CreateOAuthAppBody,
  type FieldError,
  type OAuthMailServer,
  oauthAppsMax,
} from '@postrider/contract'
import type { Queryable } from '../../../platform/db/index.ts'
import { ApiError, validationError } from '../../../platform/errors.ts'
import { newId } from '../../../platform/ids.ts'
import { type CheckBounds, countedCheck } from '../../../platform/limits/counted-check.ts'
import type { KeyRing } from '../../../platform/secrets/index.ts'
import { PROVIDERS } from '../provider.ts'
import { getApp, insertApp } from './app-store.ts'
import { type CheckAppDeps, checkApp, normalisedServer } from './check-app.ts'
import { type OAuthApp, sealClientSecret } from './oauth-app.ts'

export interface AppDeps extends CheckAppDeps {
  readonly db: Queryable
  readonly keyRing: KeyRing
  /** Of checks that look hosts up. */
  readonly checks: CheckBounds
}

export async function createApp(
  deps: AppDeps,
  tenantId: string,
  body: CreateOAuthAppBody,
): Promise<OAuthApp> {
  const facts = PROVIDERS[body.provider]
  const authorizeUrl = body.authorize_url ?? facts.authorizeUrl
  const tokenUrl = body.token_url ?? facts.tokenUrl
  const missing = checkCustom(body)
  if (authorizeUrl === undefined || tokenUrl === undefined || missing.length > 0)
    throw validationError(...missing)
  await refuseFields(deps, tenantId, body)

  const key = { tenantId, appId: body.app_id ?? newId('app') }
  // Those of another place would tell nothing of this one's tokens.
  const userinfoUrl = body.userinfo_url ?? (body.token_url ? undefined : facts.userinfoUrl)
  const inserted = await insertApp(
    deps.db,
    {
      ...key,
      provider: body.provider,
      clientId: body.client_id,
      clientSecret: sealClientSecret(deps.keyRing, key, body.client_secret),
      ...(body.scopes === undefined ? {} : { scopes: body.scopes }),
      redirectUris: body.redirect_uris ?? [],
      authorizeUrl,
      tokenUrl,
      ...(userinfoUrl === undefined ? {} : { userinfoUrl }),
      ...serversIn({ smtp: body.smtp ?? facts.smtp, imap: body.imap ?? facts.imap }),
    },
    oauthAppsMax,
  )
  if (inserted !== undefined) return inserted
  const isTaken = (await getApp(deps.db, tenantId, key.appId)) !== undefined
  const message = isTaken
    ? 'There is an OAuth app with this app_id'
    : `A tenant may have ${oauthAppsMax} OAuth apps`
  throw new ApiError('conflict', { message })
}

/** Throws the refusal of what the fields mean. */
export async function refuseFields(
  deps: AppDeps,
  tenantId: string,
  fields: Partial<CreateOAuthAppBody>,
): Promise<void> {
  await countedCheck(deps, tenantId, async () => {
    const errors = await checkApp(deps, fields)
    if (errors.length > 0) throw validationError(...errors)
  })
}

export function serversIn(servers: {
  readonly smtp?: OAuthMailServer | undefined
  readonly imap?: OAuthMailServer | undefined
}): Pick<OAuthApp, 'smtp' | 'imap'> {
  const { smtp, imap } = servers
  return {
    ...(smtp === undefined ? {} : { smtp: normalisedServer(smtp) }),
    ...(imap === undefined ? {} : { imap: normalisedServer(imap) }),
  }
}

function checkCustom(body: CreateOAuthAppBody): FieldError[] {
  if (body.provider !== 'custom') return []
  const errors = (['authorize_url', 'token_url'] as const).flatMap((name) =>
    body[name] === undefined ? [{ path: `/${name}`, message: 'is required for custom' }] : [],
  )
  if (body.smtp !== undefined || body.imap !== undefined) return errors
  return [...errors, serverMissing]
}

export const serverMissing: FieldError = {
  path: '/smtp',
  message: 'smtp, imap or both are required for custom',
}
