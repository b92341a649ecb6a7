/**
 * A scripted OAuth provider on loopback (RFC 6749, PKCE of RFC 7636, OpenID Connect's id token and
 * userinfo): a page that consents at once, a token endpoint, and a memory of what was asked.
 *
 * Unless told otherwise every mailbox consents and every token is good. A script may answer the
 * token endpoint instead; `REFUSALS` holds what Google and Microsoft really say.
 */
import { randomBytes } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { listen } from './listen.ts'
import { newToken, type OAuthProvider, replyTo } from './oauth-grants.ts'
import type { TokenReply } from './oauth-refusals.ts'

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

/** What the provider knows, with what tests may have told it. */
interface Provider extends OAuthProvider {
  /** Who consents at the page. */
  readonly email: string
  readonly tokenRequests: TokenRequest[]
  script: TokenScript | undefined
  userinfo: { readonly status: number; readonly body: unknown } | undefined
}

export async function createOAuthServer(o: OAuthServerOptions = {}): Promise<OAuthServer> {
  const { clientId = 'client-1', clientSecret = 'client-secret-1', email = 'ada@example.com' } = o
  const { rotates = false, expiresInS = 3600, idTokens = true } = o
  const provider: Provider = {
    ...{ clientId, clientSecret, email, rotates, expiresInS, idTokens },
    origin: '',
    codes: new Map(),
    refreshTokens: new Map(),
    accessTokens: new Map(),
    tokenRequests: [],
    script: undefined,
    claims: {},
    userinfo: undefined,
    grantFields: {},
  }
  const { accessTokens, refreshTokens, tokenRequests } = provider
  const server = createServer((request, response) => serve(provider, request, response))
  const origin = `http://127.0.0.1:${await listen(server)}`
  provider.origin = origin

  return {
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
      provider.script = next
    },
    setIdTokenClaims(change) {
      provider.claims = change
    },
    setUserinfo(answer) {
      provider.userinfo = answer
    },
    setGrantFields(change) {
      provider.grantFields = change ?? {}
    },
    async close() {
      server.closeAllConnections()
      await new Promise<void>((resolve) => server.close(() => resolve()))
    },
  }
}

function serve(provider: Provider, request: IncomingMessage, response: ServerResponse): void {
  const url = new URL(request.url ?? '/', 'http://provider.test')
  if (url.pathname === '/authorize') authorize(provider, url.searchParams, response)
  else if (url.pathname === '/userinfo') tellUser(provider, request, response)
  else if (url.pathname === '/token' && request.method === 'POST') {
    giveToken(provider, request, response).catch(() => response.destroy())
  } else response.writeHead(404).end()
}

function authorize(
  { clientId, codes, email }: Provider,
  query: URLSearchParams,
  response: ServerResponse,
): void {
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

async function giveToken(
  provider: Provider,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { tokenRequests } = provider
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  const form = new URLSearchParams(Buffer.concat(chunks).toString())
  const parameters = Object.fromEntries(form)
  const asked = { parameters, n: tokenRequests.length + 1 }
  tokenRequests.push(asked)
  const reply = (await provider.script?.(asked)) ?? replyTo(provider, parameters)
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

function tellUser(
  { accessTokens, userinfo }: Provider,
  request: IncomingMessage,
  response: ServerResponse,
): void {
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
