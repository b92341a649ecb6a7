/**
 * Requests to an app's token endpoint (RFC 6749 §4.1.3, §6), over the guarded egress: one deadline
 * for the whole, a bounded answer, no redirect.
 *
 * The client's name and secret stand in the body, as Google's and Microsoft's documents have it.
 * What the endpoint said is kept as it is, without what we sent: some quote the request.
 */
import type { OAuthLoginType } from '@postrider/contract'
import { type Egress, EgressError } from '../../../platform/egress/index.ts'
import { type KeyRing, SealedValueError, withoutSecrets } from '../../../platform/secrets/index.ts'
import { memberOf, parseJson } from '../../../platform/values/json.ts'
import { type OAuthApp, openClientSecret, scopesOf } from '../apps/oauth-app.ts'
import { PROVIDERS } from '../provider.ts'
import { type TokenVerdict, verdictOf } from './token-verdict.ts'

const TIMEOUT_MS = 10_000
const ANSWER_BYTES_MAX = 64 * 1024
const TOKEN_LENGTH_MAX = 16_384
const ERROR_LENGTH_MAX = 2_000
const RETRY_AFTER_MS_MAX = 5 * 60_000
/** RFC 6749 §5.1 only recommends to say it. */
const EXPIRES_IN_S_DEFAULT = 300
const EXPIRES_IN_S_MAX = 86_400

export interface TokenRequestDeps {
  readonly egress: Pick<Egress, 'request'>
  readonly keyRing: KeyRing
}

export interface Grant {
  readonly accessToken: string
  readonly expiresInS: number
  readonly refreshToken?: string
  readonly idToken?: string
  /** What was granted, where the endpoint says it. */
  readonly scope?: string
}

export interface TokenFailure {
  readonly verdict: TokenVerdict
  /** As received; for failures without a readable answer, its status or the system's error text. */
  readonly providerError: string
  /** The endpoint said so, in the form of RFC 6749 §5.2. */
  readonly isAnswered: boolean
  readonly retryAfterMs?: number
  /** Nobody was asked: this process does as much at once as it may. */
  readonly isLocal?: true
}

export type TokenAnswer =
  | { readonly ok: true; readonly grant: Grant }
  | { readonly ok: false; readonly failure: TokenFailure }

/** RFC 6749 §6. */
export function requestRefresh(
  deps: TokenRequestDeps,
  app: OAuthApp,
  type: OAuthLoginType,
  refreshToken: string,
): Promise<TokenAnswer> {
  const scope = PROVIDERS[app.provider].namesScopesAtRefresh ? scopesOf(app, type).join(' ') : ''
  return requestToken(deps, app, {
    grant_type: 'refresh_token',
    refresh_token: refreshToken,
    ...(scope === '' ? {} : { scope }),
  })
}

/** Never rejects on account of the endpoint. */
export async function requestToken(
  deps: TokenRequestDeps,
  app: OAuthApp,
  parameters: Readonly<Record<string, string>>,
): Promise<TokenAnswer> {
  let clientSecret: string
  try {
    clientSecret = openClientSecret(deps.keyRing, app)
  } catch (error) {
    if (!(error instanceof SealedValueError)) throw error
    // A key that is missing from the configuration can be put back.
    return failed('app', "The OAuth app's secret cannot be opened")
  }
  const form = new URLSearchParams({
    ...parameters,
    client_id: app.clientId,
    client_secret: clientSecret,
  })
  const secrets = [
    clientSecret,
    ...['refresh_token', 'code', 'code_verifier'].flatMap((name) => parameters[name] ?? []),
  ]
  try {
    const { status, headers, body } = await deps.egress.request({
      poolKey: `oauth ${app.tenantId}`,
      url: app.tokenUrl,
      method: 'POST',
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        accept: 'application/json',
        // A request on a kept connection may be made twice: a code, or a token that is replaced, is
        // good once.
        connection: 'close',
      },
      body: form.toString(),
      timeoutMs: TIMEOUT_MS,
      bodyBytesMax: ANSWER_BYTES_MAX,
      bodyKeptBytesMax: ANSWER_BYTES_MAX,
    })
    return readAnswer(app, { status, body, retryAfter: headers['retry-after'] }, secrets)
  } catch (error) {
    if (!(error instanceof EgressError)) throw error
    const { code, message, systemCode } = error
    if (code === 'busy') {
      const failure = { verdict: 'transient', providerError: message, isAnswered: false } as const
      return { ok: false, failure: { ...failure, isLocal: true } }
    }
    const text = systemCode === undefined ? message : `${message} (${systemCode})`
    return failed(code === 'address_refused' ? 'app' : 'transient', text)
  }
}

function readAnswer(
  app: OAuthApp,
  o: { readonly status: number; readonly body: string; readonly retryAfter: string | undefined },
  secrets: readonly string[],
): TokenAnswer {
  const { status } = o
  const body = parseJson(o.body)
  const isRefusal = status !== 200 || memberOf(body, 'error') !== undefined
  if (!isRefusal) {
    const grant = readGrant(body)
    return grant === undefined
      ? failed('transient', 'The token endpoint answered without an access token')
      : { ok: true, grant }
  }
  // What is no answer of a token endpoint may be a page of any host that a tenant has named.
  const isAnswered = memberOf(body, 'error') !== undefined
  const text = withoutSecrets(o.body, secrets).replace(/\s+/g, ' ').trim()
  const seconds = /^\d{1,6}$/.test(o.retryAfter ?? '') ? Number(o.retryAfter) : undefined
  return {
    ok: false,
    failure: {
      verdict: verdictOf({ provider: app.provider, status, body }),
      providerError: isAnswered
        ? text.slice(0, ERROR_LENGTH_MAX).toWellFormed()
        : `HTTP status ${status}`,
      isAnswered,
      ...(seconds === undefined
        ? {}
        : { retryAfterMs: Math.min(seconds * 1000, RETRY_AFTER_MS_MAX) }),
    },
  }
}

function readGrant(body: unknown): Grant | undefined {
  const accessToken = tokenOf(memberOf(body, 'access_token'))
  const type = memberOf(body, 'token_type')
  // DPoP and MAC tokens cannot be used in XOAUTH2.
  if (typeof type === 'string' && type.toLowerCase() !== 'bearer') return undefined
  if (accessToken === undefined) return undefined
  const refreshToken = tokenOf(memberOf(body, 'refresh_token'))
  const idToken = tokenOf(memberOf(body, 'id_token'))
  const scope = memberOf(body, 'scope')
  return {
    accessToken,
    expiresInS: secondsOf(memberOf(body, 'expires_in')),
    ...(refreshToken === undefined ? {} : { refreshToken }),
    ...(idToken === undefined ? {} : { idToken }),
    ...(typeof scope === 'string' ? { scope } : {}),
  }
}

/** What stands in a protocol line later: visible ASCII. */
function tokenOf(value: unknown): string | undefined {
  return typeof value === 'string' &&
    value.length <= TOKEN_LENGTH_MAX &&
    /^[\x21-\x7e]+$/.test(value)
    ? value
    : undefined
}

/** Some write it as text. */
function secondsOf(value: unknown): number {
  const seconds = typeof value === 'string' && value !== '' ? Number(value) : value
  return typeof seconds === 'number' && seconds > 0
    ? Math.min(Math.floor(seconds), EXPIRES_IN_S_MAX)
    : EXPIRES_IN_S_DEFAULT
}

function failed(verdict: TokenVerdict, providerError: string): TokenAnswer {
  return { ok: false, failure: { verdict, providerError, isAnswered: false } }
}
