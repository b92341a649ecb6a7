/**
 * An OAuth app: a tenant's registration at a provider (docs/reference/mailers.md#oauth-apps). Its secret
 * stands sealed and is opened for requests to the token endpoint alone.
 */
import type {
  OAuthApp as AppOnWire,
  MailerConfigType,
  OAuthLoginType,
  OAuthMailServer,
  OAuthProvider,
} from '@postrider/contract'
import type { KeyRing } from '../../../platform/secrets/index.ts'
import { PROVIDERS } from '../provider.ts'

/** What a mailer is used for, by its type, and the other way round (docs/reference/mailers.md#kinds). */
export const CONFIG_TYPES = {
  smtp: 'oauth_smtp',
  imap: 'oauth_imap',
  smtp_imap: 'smtp_imap',
} as const satisfies Record<OAuthLoginType, MailerConfigType>

export function loginTypeOf(configType: MailerConfigType): OAuthLoginType {
  if (configType === 'oauth_imap') return 'imap'
  return configType === 'smtp_imap' ? 'smtp_imap' : 'smtp'
}

export interface OAuthApp {
  readonly tenantId: string
  readonly appId: string
  readonly provider: OAuthProvider
  readonly clientId: string
  /** Sealed. */
  readonly clientSecret: string
  /** Absent: the provider's. */
  readonly scopes?: readonly string[]
  readonly redirectUris: readonly string[]
  readonly authorizeUrl: string
  readonly tokenUrl: string
  readonly userinfoUrl?: string
  readonly smtp?: OAuthMailServer
  readonly imap?: OAuthMailServer
  readonly createdAt: Date
  readonly updatedAt: Date
}

type AppKey = Pick<OAuthApp, 'tenantId' | 'appId'>

export function sealClientSecret(keyRing: KeyRing, key: AppKey, clientSecret: string): string {
  return keyRing.encrypt(clientSecret, clientSecretPlaceOf(key))
}

/** Throws SealedValueError when the key is gone or the row was tampered with. */
export function openClientSecret(keyRing: KeyRing, app: OAuthApp): string {
  return keyRing.decrypt(app.clientSecret, clientSecretPlaceOf(app))
}

export function clientSecretPlaceOf({ tenantId, appId }: AppKey): string {
  return `mailers|${tenantId}|${appId}|client_secret`
}

/** What is asked for at a login. */
export function scopesOf(app: OAuthApp, type: OAuthLoginType): readonly string[] {
  const { mailScopes, otherScopes } = PROVIDERS[app.provider]
  return app.scopes ?? [...mailScopes[type], ...otherScopes]
}

/** The servers that a mailbox of this type needs; undefined when the app lacks one of them. */
export function serversOf(
  app: OAuthApp,
  type: OAuthLoginType,
): { readonly server: OAuthMailServer; readonly imap?: OAuthMailServer } | undefined {
  const { smtp, imap } = app
  if (type === 'imap') return imap && { server: imap }
  if (type === 'smtp') return smtp && { server: smtp }
  return smtp && imap && { server: smtp, imap }
}

export function toWire(app: OAuthApp, callbackUrl: string): AppOnWire {
  return {
    app_id: app.appId,
    provider: app.provider,
    client_id: app.clientId,
    ...(app.scopes === undefined ? {} : { scopes: [...app.scopes] }),
    redirect_uris: [...app.redirectUris],
    authorize_url: app.authorizeUrl,
    token_url: app.tokenUrl,
    ...(app.userinfoUrl === undefined ? {} : { userinfo_url: app.userinfoUrl }),
    ...(app.smtp === undefined ? {} : { smtp: app.smtp }),
    ...(app.imap === undefined ? {} : { imap: app.imap }),
    callback_url: callbackUrl,
    created_at: app.createdAt.toISOString(),
    updated_at: app.updatedAt.toISOString(),
  }
}
