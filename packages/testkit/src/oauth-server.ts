/**
 * A scripted OAuth provider on loopback (RFC 6749, PKCE of RFC 7636, OpenID Connect's id token and
 * userinfo): a page that consents at once, a token endpoint, and a memory of what was asked.
 *
 * Unless told otherwise every mailbox consents and every token is good. A script may answer the
 * token endpoint instead; `REFUSALS` holds what Google and Microsoft really say.
 */
import { createHash, randomBytes } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { google, REFUSALS, type TokenReply } from './oauth-refusals.ts'

export interface OAuthServerOptions {
  readonly clientId?: string
  readonly clientSecret?: string
  /** Who consents at the page, unless `login_hint` says. */
  readonly email?: string
  /** Each refresh gives a new refresh token and ends the old one. */
  readonly rotates?: boolean
  readonly expiresInS?: number
  /** Whether grants come with an id token; true unless told otherwise. */
  readonly idTokens?: boolean
}

export interface TokenRequest {
  readonly parameters: Readonly<Record<string, string>>
  /** How many requests the token endpoint has had, this one included. */
  readonly n: number
}

/** `drop`: the connection is closed without an answer. Undefined: as by the book. */
export type TokenScript = (
  request: TokenRequest,
) => TokenReply | 'drop' | undefined | Promise<TokenReply | 'drop' | undefined>

export interface OAuthServer {
  readonly origin: string
  readonly authorizeUrl: string
  readonly tokenUrl: string
  readonly userinfoUrl: string
  readonly clientId: string
  readonly clientSecret: string
  readonly tokenRequests: readonly TokenRequest[]
  /** A refresh token as after a consent. */
  grant(email: string): string
  /** Whether it is a live access token of the mailbox: what a mail server asks. */
  accepts(email: string, accessToken: string): boolean
  /** Access tokens given so far stop being good; refresh tokens stay. */
  expireAccessTokens(): void
  /** The mailbox withdraws: its refresh tokens are refused from now on. */
  revoke(email: string): void
  setScript(script: TokenScript | undefined): void
  /** Claims in place of those of the id token; undefined for none. */
  setIdTokenClaims(change: Readonly<Record<string, unknown>> | undefined): void
  /** What userinfo answers; undefined: the mailbox's address. */
  setUserinfo(answer: { readonly status: number; readonly body: unknown } | undefined): void
  /** Fields in place of those of a grant; one that is undefined is left out. */
  setGrantFields(change: Readonly<Record<string, unknown>> | undefined): void
  close(): Promise<void>
}

interface Consent {
  readonly email: string
  readonly redirectUri: string
  readonly challenge: string
  readonly nonce: string | undefined
  readonly scope: string
}

export async function createOAuthServer(o: OAuthServerOptions = {}): Promise<OAuthServer> {
  const { clientId = 'client-1', clientSecret = 'client-secret-1', email = 'ada@example.com' } = o
  const codes = new Map<string, Consent>()
  const refreshTokens = new Map<string, string>()
  const accessTokens = new Map<string, string>()
  const tokenRequests: TokenRequest[] = []
  let script: TokenScript | undefined
  let claims: Readonly<Record<string, unknown>> | undefined = {}
  let userinfo: { readonly status: number; readonly body: unknown } | undefined
  let grantFields: Readonly<Record<string, unknown>> = {}

  function newToken(map: Map<string, string>, name: string, owner: string): string {
    const token = `${name}-${randomBytes(16).toString('hex')}`
    map.set(token, owner)
    return token
  }

  function authorize(query: URLSearchParams, response: ServerResponse): void {
    const redirectUri = query.get('redirect_uri') ?? ''
    const challenge = query.get('code_challenge') ?? ''
    const isSound =
      query.get('client_id') === clientId &&
      query.get('response_type') === 'code' &&
      query.get('code_challenge_method') === 'S256' &&
      challenge !== ''
    if (!isSound || !URL.canParse(redirectUri)) {
      response.writeHead(400).end('not an authorization request')
      return
    }
    const code = `code-${randomBytes(12).toString('hex')}`
    codes.set(code, {
      email: query.get('login_hint') ?? email,
      redirectUri,
      challenge,
      nonce: query.get('nonce') ?? undefined,
      scope: query.get('scope') ?? '',
    })
    const back = new URL(redirectUri)
    back.searchParams.set('code', code)
    back.searchParams.set('state', query.get('state') ?? '')
    // What providers add of their own.
    back.searchParams.set('session_state', randomBytes(8).toString('hex'))
    response.writeHead(302, { location: back.href }).end()
  }

  function replyTo(parameters: Readonly<Record<string, string>>): TokenReply {
    if (parameters.client_id !== clientId || parameters.client_secret !== clientSecret)
      return REFUSALS.googleWrongSecret
    if (parameters.grant_type === 'authorization_code') return redeem(parameters)
    if (parameters.grant_type === 'refresh_token') return renew(parameters)
    return google('unsupported_grant_type', 'Invalid grant_type')
  }

  function redeem({ code = '', redirect_uri, code_verifier = '' }: Record<string, string>) {
    const consent = codes.get(code)
    codes.delete(code)
    const challenge = createHash('sha256').update(code_verifier).digest('base64url')
    if (consent === undefined || consent.redirectUri !== redirect_uri)
      return google('invalid_grant', 'Malformed auth code.')
    if (consent.challenge !== challenge) return google('invalid_grant', 'Invalid code verifier.')
    const refreshToken = newToken(refreshTokens, 'refresh', consent.email)
    return give(consent.email, consent.nonce, {
      refresh_token: refreshToken,
      ...(consent.scope === '' ? {} : { scope: consent.scope }),
    })
  }

  function renew({ refresh_token = '' }: Record<string, string>): TokenReply {
    const owner = refreshTokens.get(refresh_token)
    if (owner === undefined) return REFUSALS.googleRevoked
    if (o.rotates !== true) return give(owner, undefined, {})
    refreshTokens.delete(refresh_token)
    return give(owner, undefined, { refresh_token: newToken(refreshTokens, 'refresh', owner) })
  }

  function give(owner: string, nonce: string | undefined, more: object): TokenReply {
    const body = {
      access_token: newToken(accessTokens, 'access', owner),
      expires_in: o.expiresInS ?? 3600,
      token_type: 'Bearer',
      ...(o.idTokens === false ? {} : { id_token: idToken(owner, nonce) }),
      ...more,
      ...grantFields,
    }
    return { status: 200, body }
  }

  function idToken(owner: string, nonce: string | undefined): string {
    const now = Math.floor(Date.now() / 1000)
    const payload = {
      iss: self.origin,
      aud: clientId,
      sub: owner,
      email: owner,
      iat: now,
      exp: now + 3600,
      ...(nonce === undefined ? {} : { nonce }),
      ...claims,
    }
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
    // Clients that get it from the token endpoint do not check the signature.
    return `${part({ alg: 'RS256', typ: 'JWT' })}.${part(payload)}.c2lnbmF0dXJl`
  }

  async function token(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const form = new URLSearchParams(Buffer.concat(chunks).toString())
    const parameters = Object.fromEntries(form)
    const asked = { parameters, n: tokenRequests.length + 1 }
    tokenRequests.push(asked)
    const reply = (await script?.(asked)) ?? replyTo(parameters)
    if (reply === 'drop') {
      request.socket.destroy()
      return
    }
    const isText = typeof reply.body === 'string'
    response
      .writeHead(reply.status, {
        'content-type': isText ? 'text/html' : 'application/json',
        ...reply.headers,
      })
      .end(isText ? reply.body : JSON.stringify(reply.body))
  }

  function tellUser(request: IncomingMessage, response: ServerResponse): void {
    const [, bearer = ''] = /^Bearer (.*)$/.exec(request.headers.authorization ?? '') ?? []
    const owner = accessTokens.get(bearer)
    const answer =
      userinfo ??
      (owner === undefined
        ? { status: 401, body: {} }
        : { status: 200, body: { sub: owner, email: owner, email_verified: true } })
    response
      .writeHead(answer.status, { 'content-type': 'application/json' })
      .end(JSON.stringify(answer.body))
  }

  const server = createServer((request, response) => {
    const url = new URL(request.url ?? '/', 'http://provider.test')
    if (url.pathname === '/authorize') authorize(url.searchParams, response)
    else if (url.pathname === '/userinfo') tellUser(request, response)
    else if (url.pathname === '/token' && request.method === 'POST') {
      token(request, response).catch(() => response.destroy())
    } else response.writeHead(404).end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  const origin = `http://127.0.0.1:${port}`

  const self: OAuthServer = {
    origin,
    authorizeUrl: `${origin}/authorize`,
    tokenUrl: `${origin}/token`,
    userinfoUrl: `${origin}/userinfo`,
    clientId,
    clientSecret,
    tokenRequests,
    grant: (owner) => newToken(refreshTokens, 'refresh', owner),
    accepts: (owner, accessToken) => accessTokens.get(accessToken) === owner,
    expireAccessTokens: () => accessTokens.clear(),
    revoke(owner) {
      for (const [key, one] of refreshTokens) if (one === owner) refreshTokens.delete(key)
    },
    setScript(next) {
      script = next
    },
    setIdTokenClaims(change) {
      claims = change
    },
    setUserinfo(answer) {
      userinfo = answer
    },
    setGrantFields(change) {
      grantFields = change ?? {}
    },
    async close() {
      server.closeAllConnections()
      await new Promise<void>((resolve) => server.close(() => resolve()))
    },
  }
  return self
}
