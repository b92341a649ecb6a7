/** What a refresh token that was given, or is stored, is good for: asked of its provider. */
import type { OAuthLoginType, OAuthMailServer, SecureMode } from '@postrider/contract'
import { ApiError, validationError } from '../../../platform/errors.ts'
import type { ServerMailer } from '../../mailer.ts'
import type { OAuthApp } from '../apps/oauth-app.ts'
import type { AccessTokens } from '../tokens/access-tokens.ts'
import { refusalOfToken } from '../tokens/refuse-token.ts'
import { requestRefresh, type TokenRequestDeps } from '../tokens/request-token.ts'
import type { LastingGrant } from './save-grant.ts'

const TOKEN_TIMEOUT_MS = 12_000

/** With the new refresh token, where the provider gives one with the access token. */
export async function tryToken(
  deps: TokenRequestDeps,
  app: OAuthApp,
  type: OAuthLoginType,
  refreshToken: string,
): Promise<LastingGrant> {
  const answer = await requestRefresh(deps, app, type, refreshToken)
  if (answer.ok) return { refreshToken, ...answer.grant }
  throw refusalOfToken(answer.failure)
}

export async function tryStored(
  { accessTokens }: { readonly accessTokens: Pick<AccessTokens, 'get'> },
  stored: ServerMailer,
): Promise<{ readonly accessToken: string }> {
  const deadlineAt = performance.now() + TOKEN_TIMEOUT_MS
  const result = await accessTokens.get(stored, { deadlineAt, isCheck: true })
  if (result.kind === 'token') return result
  if ('failure' in result) throw refusalOfToken(result.failure)
  throw new ApiError('conflict')
}

/** The app's, but for what is given: another port usually goes with the other kind of TLS. */
export function serverGiven(
  server: OAuthMailServer | undefined,
  given: {
    readonly host?: string | undefined
    readonly port?: number | undefined
    readonly secure?: SecureMode | undefined
  },
  o: { readonly protocol: 'SMTP' | 'IMAP'; readonly implicitTlsPort: number },
): OAuthMailServer {
  const { host = server?.host, port = server?.port } = given
  if (host === undefined || port === undefined)
    throw validationError({
      path: host === undefined ? '/config/host' : '/config/port',
      message: `is required: the OAuth app names no ${o.protocol} server`,
    })
  return { host, port, secure: given.secure ?? secureOf(server, port, o.implicitTlsPort) }
}

function secureOf(
  server: OAuthMailServer | undefined,
  port: number,
  implicitTlsPort: number,
): SecureMode {
  if (server === undefined) return 'Auto'
  if (server.port === port || server.secure === 'None' || server.secure === 'Auto')
    return server.secure
  return port === implicitTlsPort ? 'SSL' : 'Tls'
}

export function unknownApp(): ApiError {
  return validationError({
    path: '/config/app_id',
    message: 'is not an OAuth app of this tenant',
  })
}

export function tokenMissing(): ApiError {
  return validationError({
    path: '/config/refresh_token',
    message: 'must be given again when app_id, host or port change or TLS gets weaker',
  })
}
