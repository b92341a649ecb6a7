/**
 * The operations on OAuth mailers behind the real HTTP application, with a scripted provider and a
 * mail server that takes its access tokens. Everything that is answered or logged is kept in `seen`.
 */
import { PassThrough } from 'node:stream'
import type { Mailer, OAuthApp } from '@postrider/contract'
import {
  createOAuthServer,
  createSmtpServer,
  type OAuthServer,
  type OAuthServerOptions,
  type SmtpServer,
} from '@postrider/testkit'
import type { FastifyInstance } from 'fastify'
import { readMailboxHealth } from '../src/mailboxes/watch/read-health.ts'
import {
  type AccessTokens,
  createAccessTokens,
  createNoteDeactivated,
} from '../src/mailers/index.ts'
import { oauthRoutes } from '../src/mailers/oauth/routes.ts'
import { registerMailerRoutes } from '../src/mailers/routes.ts'
import { createClock } from '../src/platform/clock.ts'
import type { Db } from '../src/platform/db/index.ts'
import { createEgress, type Egress } from '../src/platform/egress/index.ts'
import { createHttpApp } from '../src/platform/http/app.ts'
import { createRateLimit } from '../src/platform/limits/rate-limit.ts'
import { createLogger } from '../src/platform/log.ts'
import { createMetrics } from '../src/platform/metrics.ts'
import { createWakeups } from '../src/webhooks/index.ts'
import { keyRing } from './sender.ts'
import { createSendingDatabase } from './sending.ts'
import { testLimiter } from './webhook-api.ts'

export const CALLBACK_URL = 'https://mail.example.com/oauth/callback'
export const REDIRECT_URI = 'https://shop.example.com/connected?from=mail'

export interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, unknown>>
  // biome-ignore lint/suspicious/noExplicitAny: what a test reads is what it checks
  readonly body: any
}

export interface OAuthApi {
  readonly db: Db
  readonly provider: OAuthServer
  readonly smtp: SmtpServer
  readonly seen: string[]
  /** Mailers whose mail was woken. */
  readonly woken: string[]
  readonly tokens: AccessTokens
  call(
    method: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'DELETE',
    url: string,
    payload?: object,
    key?: string,
  ): Promise<Answer>
  /** As for createOAuthApp, on the scripted provider. */
  appBody(change?: object): Record<string, unknown>
  createApp(change?: object): Promise<OAuthApp>
  /** A mailer made by a refresh token. */
  connect(email?: string, appId?: string): Promise<Mailer>
  /** The browser's way: from the address given out to where it ends. */
  browse(authorizationUrl: string): Promise<Answer>
  close(): Promise<void>
}

export function createTestTokens(db: Db, egress: Egress, seen: string[] = []): AccessTokens {
  return createAccessTokens({
    db,
    egress,
    keyRing,
    log: logTo(seen),
    clock: createClock(),
    wakeups: createWakeups(),
    observe: () => undefined,
    noteDeactivated: createNoteDeactivated({ log: logTo(seen), observe: () => undefined }),
  })
}

export async function createOAuthApi(o: OAuthServerOptions = {}): Promise<OAuthApi> {
  const database = await createSendingDatabase()
  const { db } = database
  const provider = await createOAuthServer(o)
  const smtp = await createSmtpServer({
    extensions: ['PIPELINING', 'SIZE 41943040', '8BITMIME', 'SMTPUTF8', 'DSN'],
    auth: {
      users: {},
      mechanisms: ['XOAUTH2'],
      tokens: (user, token) => provider.accepts(user, token),
    },
  })
  const egress = createEgress({ allowNetworks: ['127.0.0.0/8'] })
  const seen: string[] = []
  const woken: string[] = []
  const tokens = createTestTokens(db, egress, seen)
  const app = createMailerApp({ db, egress, seen, woken, tokens })
  await app.ready()

  const call: OAuthApi['call'] = (...asked) => callOf(app, seen, ...asked)
  const api: OAuthApi = {
    ...{ db, provider, smtp, seen, woken, tokens, call },
    appBody: (change = {}) => ({
      provider: 'custom',
      client_id: provider.clientId,
      client_secret: provider.clientSecret,
      redirect_uris: [REDIRECT_URI],
      authorize_url: provider.authorizeUrl,
      token_url: provider.tokenUrl,
      smtp: { host: '127.0.0.1', port: smtp.port, secure: 'None' },
      imap: { host: '127.0.0.1', port: 1993, secure: 'SSL' },
      ...change,
    }),
    async createApp(change) {
      const { status, body } = await call('POST', '/v1/oauth/apps', api.appBody(change))
      if (status !== 201) throw new Error(JSON.stringify(body))
      return body.app
    },
    async connect(email = 'ada@example.com', appId) {
      const app_id = appId ?? (await api.createApp()).app_id
      const { status, body } = await call('POST', '/v1/oauth/login', {
        app_id,
        token: provider.grant(email),
      })
      if (status !== 200) throw new Error(JSON.stringify(body))
      return body.mailer
    },
    async browse(authorizationUrl) {
      const response = await fetch(authorizationUrl, { redirect: 'manual' })
      const back = new URL(response.headers.get('location') ?? '')
      return call('GET', back.pathname + back.search, undefined, '')
    },
    async close() {
      await app.close()
      await tokens.stop()
      await egress.close()
      await smtp.close()
      await provider.close()
      await database.close()
    },
  }
  return api
}

function createMailerApp(
  o: Pick<OAuthApi, 'db' | 'seen' | 'woken' | 'tokens'> & { readonly egress: Egress },
): FastifyInstance {
  const { db, egress, seen, woken, tokens } = o
  const log = logTo(seen)
  const app = createHttpApp({
    log,
    metrics: createMetrics(),
    authenticateKey: (key) =>
      key === 'a' || key === 'b' ? { tenantId: `tn_${key}`, keyId: key, scopes: [] } : undefined,
  })
  const limit = createRateLimit({ name: 'test', usesMax: 1_000_000, windowS: 60 })
  const deps = {
    db,
    keyRing,
    egress,
    log,
    clock: createClock(),
    wakeMail: ({ mailerId }: { mailerId: string }) => {
      woken.push(mailerId)
    },
    accessTokens: tokens,
    readMailboxHealth,
    isInboundDomain: async () => true,
    ehloName: 'sender.example.com',
    checks: { limit, limiter: testLimiter },
    loginLimit: limit,
    callbackUrl: CALLBACK_URL,
  }
  registerMailerRoutes(app, deps)
  oauthRoutes(app, deps)
  return app
}

async function callOf(
  app: FastifyInstance,
  seen: string[],
  ...[method, url, payload, key = 'a']: Parameters<OAuthApi['call']>
): Promise<Answer> {
  const response = await app.inject({
    method,
    url,
    headers: { authorization: `Bearer ${key}` },
    ...(payload === undefined ? {} : { payload }),
  })
  seen.push(response.payload, JSON.stringify(response.headers))
  const isJson =
    response.payload !== '' && String(response.headers['content-type']).includes('json')
  return {
    status: response.statusCode,
    headers: response.headers,
    body: isJson ? response.json() : response.payload,
  }
}

function logTo(seen: string[]) {
  const destination = new PassThrough()
  destination.on('data', (line: Buffer) => seen.push(line.toString()))
  return createLogger({ level: 'trace', destination })
}
