/**
 * The OIDC provider (docs/reference/people.md#oidc): code flow with PKCE, a nonce and a state, by a certified
 * library. Signatures of tokens are checked, although they come by TLS. Every call goes through the guarded
 * egress, with its time-out and its limit of bytes.
 */
import type * as OpenidClient from 'openid-client'
import type { Egress } from '../../platform/egress/index.ts'

const TIMEOUT_S = 10
const ANSWER_BYTES_MAX = 1024 * 1024
/** Then its description is read again. */
const KNOWN_MS = 3_600_000

export interface OidcSettings {
  readonly issuer: string
  readonly clientId: string
  readonly clientSecret: string | undefined
  /** Where the provider sends browsers back to. */
  readonly redirectUri: string
}

/** What the browser holds between the two calls. */
export interface PendingLogin {
  readonly state: string
  readonly nonce: string
  readonly codeVerifier: string
}

export interface OidcProvider {
  begin(): Promise<{ readonly url: string; readonly pending: PendingLogin }>
  /** The claims of the checked ID token. Rejects for anything that is not as it must be. */
  finish(query: string, pending: PendingLogin): Promise<Readonly<Record<string, unknown>>>
}

export function createOidcProvider(
  o: OidcSettings & { readonly egress: Egress; readonly monotonicMs?: () => number },
): OidcProvider {
  const { redirectUri, monotonicMs = () => performance.now() } = o
  let known:
    | { readonly atMs: number; readonly found: Promise<OpenidClient.Configuration> }
    | undefined

  /** Those who come at once share one look-up. One that failed is not kept. */
  async function configuration(): Promise<OpenidClient.Configuration> {
    const nowMs = monotonicMs()
    if (known === undefined || nowMs - known.atMs > KNOWN_MS) {
      const next = { atMs: nowMs, found: discover(o) }
      known = next
      next.found.catch(() => {
        if (known === next) known = undefined
      })
    }
    return await known.found
  }

  return {
    async begin() {
      const oidc = await library()
      const config = await configuration()
      const pending = {
        state: oidc.randomState(),
        nonce: oidc.randomNonce(),
        codeVerifier: oidc.randomPKCECodeVerifier(),
      }
      const url = oidc.buildAuthorizationUrl(config, {
        redirect_uri: redirectUri,
        scope: 'openid email profile',
        state: pending.state,
        nonce: pending.nonce,
        code_challenge: await oidc.calculatePKCECodeChallenge(pending.codeVerifier),
        code_challenge_method: 'S256',
      })
      return { url: url.href, pending }
    },
    async finish(query, { state, nonce, codeVerifier }) {
      const oidc = await library()
      const config = await configuration()
      const tokens = await oidc.authorizationCodeGrant(config, new URL(redirectUri + query), {
        expectedState: state,
        expectedNonce: nonce,
        pkceCodeVerifier: codeVerifier,
        idTokenExpected: true,
      })
      return tokens.claims() ?? {}
    },
  }
}

/** Loaded when it is needed: most services have no provider. */
async function library(): Promise<typeof OpenidClient> {
  return await import('openid-client')
}

async function discover(
  o: OidcSettings & { readonly egress: Egress },
): Promise<OpenidClient.Configuration> {
  const oidc = await library()
  const issuer = new URL(o.issuer)
  const isPlain = issuer.protocol === 'http:'
  const { clientSecret } = o
  const config = await oidc.discovery(
    issuer,
    o.clientId,
    undefined,
    clientSecret === undefined ? oidc.None() : oidc.ClientSecretPost(clientSecret),
    {
      [oidc.customFetch]: fetchBy(o.egress),
      timeout: TIMEOUT_S,
      execute: [
        oidc.enableNonRepudiationChecks,
        // The configuration takes such an issuer on loopback alone.
        ...(isPlain ? [oidc.allowInsecureRequests] : []),
      ],
    },
  )
  return config
}

function fetchBy(egress: Egress): OpenidClient.CustomFetch {
  return async (url, { method, headers, body, signal }) => {
    const answer = await egress.request({
      poolKey: 'oidc',
      url,
      method: method === 'POST' ? 'POST' : 'GET',
      headers,
      body: body === null || body === undefined ? undefined : String(body),
      timeoutMs: TIMEOUT_S * 1000,
      bodyBytesMax: ANSWER_BYTES_MAX,
      bodyKeptBytesMax: ANSWER_BYTES_MAX,
      signal,
    })
    const type = answer.headers['content-type']
    const isEmpty = answer.status === 204 || answer.status === 304
    return new Response(isEmpty ? null : answer.body, {
      status: answer.status,
      headers: type === undefined ? {} : { 'content-type': type },
    })
  }
}
