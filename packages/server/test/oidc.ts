/**
 * A real OIDC provider on loopback, and a browser that logs in there. Tokens can be changed on their way out,
 * and are signed by the provider's own key then.
 */
import { createSign, generateKeyPairSync } from 'node:crypto'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Provider } from 'oidc-provider'

export const CLIENT = { id: 'postrider', secret: 'a-secret-of-the-client' } as const

type Claims = Record<string, unknown>
type Change = (token: { claims: Claims; sign: (claims: Claims) => string }) => string

export interface OidcServer {
  readonly issuer: string
  /** What the token of the next logins says of the user. */
  setClaims(claims: Claims): void
  /** Of each token that goes out from now on. */
  changeToken(change: Change | undefined): void
  /** Logs in as a browser does. Answers where the provider sends it back to. */
  logIn(url: string): Promise<URL>
  close(): Promise<void>
}

export async function createOidcServer(redirectUri: string): Promise<OidcServer> {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const kid = 'test'
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  let claims: Claims = {}
  let change: Change | undefined
  const sign = (body: Claims) => {
    const text = [{ alg: 'RS256', kid, typ: 'JWT' }, body].map(encode).join('.')
    return `${text}.${createSign('RSA-SHA256').update(text).sign(privateKey, 'base64url')}`
  }
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: CLIENT.id,
        client_secret: CLIENT.secret,
        redirect_uris: [redirectUri],
        token_endpoint_auth_method: 'client_secret_post',
      },
    ],
    jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), kid, use: 'sig', alg: 'RS256' }] },
    cookies: { keys: ['a key of cookies'] },
    claims: { openid: ['sub', 'roles'], email: ['email', 'email_verified'], profile: ['name'] },
    conformIdTokenClaims: false,
    pkce: { required: () => true },
    findAccount: (_context: unknown, sub: string) => ({
      accountId: sub,
      claims: () => ({ ...claims, sub }),
    }),
  })
  const callback = provider.callback()
  server.on('request', (request, response) => {
    if (request.url === '/token') changeAnswer(response, (text) => changed(text))
    callback(request, response)
  })

  function changed(text: string): string {
    const answer = JSON.parse(text)
    if (change === undefined || typeof answer.id_token !== 'string') return text
    const [, body = ''] = answer.id_token.split('.')
    const own = JSON.parse(Buffer.from(body, 'base64url').toString())
    return JSON.stringify({ ...answer, id_token: change({ claims: own, sign }) })
  }

  return {
    issuer,
    setClaims(next) {
      claims = next
    },
    changeToken(next) {
      change = next
    },
    logIn: (url) => browse(url, redirectUri),
    close: () => close(server),
  }
}

export function encode(part: object): string {
  return Buffer.from(JSON.stringify(part)).toString('base64url')
}

function changeAnswer(response: ServerResponse, change: (text: string) => string): void {
  const end = response.end.bind(response)
  Reflect.set(response, 'end', (body: unknown) => {
    const text = change(String(body))
    response.setHeader('content-length', Buffer.byteLength(text))
    return end(text)
  })
}

const STEPS_MAX = 20

/** Follows redirects with cookies, and sends each form that it meets. */
async function browse(from: string, until: string): Promise<URL> {
  const cookies = new Map<string, string>()
  let url = from
  let form: URLSearchParams | undefined
  for (let step = 0; step < STEPS_MAX; step++) {
    const response = await fetch(url, {
      redirect: 'manual',
      headers: { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; ') },
      ...(form === undefined ? {} : { method: 'POST', body: form }),
    })
    for (const cookie of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(cookie) ?? []
      cookies.set(name, value)
    }
    const html = await response.text()
    const location = response.headers.get('location')
    form = undefined
    if (location !== null) {
      const next = new URL(location, url)
      if (next.href.startsWith(until)) return next
      url = next.href
      continue
    }
    const action = /<form[^>]* action="([^"]+)"/.exec(html)?.[1]
    if (action === undefined) throw new Error(`no form: ${response.status} ${html.slice(0, 300)}`)
    const prompt = /name="prompt" value="(\w+)"/.exec(html)?.[1] ?? 'login'
    form = new URLSearchParams({ prompt, login: 'subject-1', password: 'any' })
    url = new URL(action, url).href
  }
  throw new Error('the login does not end')
}

function close(server: Server): Promise<void> {
  server.closeAllConnections()
  return new Promise((resolve) => server.close(() => resolve()))
}
