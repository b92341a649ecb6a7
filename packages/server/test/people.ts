/** Tenants and people behind the real HTTP application, on a database of the test file's own. */
import { scryptSync } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import { afterAll, beforeAll, beforeEach } from 'vitest'
import { createPeople, type PeopleConfig } from '../src/people/create.ts'
import { createClock } from '../src/platform/clock.ts'
import type { Db } from '../src/platform/db/index.ts'
import { createEgress, type Egress } from '../src/platform/egress/index.ts'
import { createHttpApp } from '../src/platform/http/app.ts'
import { createLogger } from '../src/platform/log.ts'
import { createMetrics } from '../src/platform/metrics.ts'
import { createSuppressions } from '../src/suppressions/create.ts'
import { createTenants } from '../src/tenants/create.ts'
import { createTenant } from '../src/tenants/index.ts'
import { createTestDatabase, type TestDatabase } from './database.ts'
import { emptyTables } from './empty-tables.ts'

export const ORIGIN = 'https://mail.example.com'
export const COOKIE = '__Host-postrider_session'
export const PASSWORD = 'correct horse battery'
/** Of that password, at a cost that a login does not feel: a stored password names its own. */
const CHEAP_HASH = ['scrypt', 2, 1, 1, 'AAAA', cheapHashOf(PASSWORD)].join('$')
const ADMIN = 'the-operator'

export interface Asked {
  readonly token?: string
  readonly cookie?: string | undefined
  readonly tenantId?: string
  readonly body?: unknown
  readonly from?: string
  readonly headers?: Readonly<Record<string, string>>
}

export interface Answered {
  readonly status: number
  readonly headers: Readonly<Record<string, unknown>>
  // biome-ignore lint/suspicious/noExplicitAny: what a test reads is what it checks
  readonly body: any
}

export type Method = 'GET' | 'POST' | 'PUT' | 'DELETE'

export interface People {
  readonly db: TestDatabase['db']
  readonly acme: { readonly tenantId: string; readonly apiKey: string }
  readonly other: { readonly tenantId: string; readonly apiKey: string }
  ask(method: Method, path: string, o?: Asked): Promise<Answered>
  /** With the operator's token. */
  admin(method: Method, path: string, body?: object): Promise<Answered>
  /** By a session: under /ui/api, with the headers of the dashboard. */
  ui(method: Method, path: string, o?: Asked): Promise<Answered>
  accept(url: string, body?: object): Promise<Answered>
  logIn(email: string, o?: Asked & { readonly password?: string }): Promise<Answered>
  /** A user who has logged in, with a password that was set directly unless the user accepts the invitation. */
  newPerson(
    role: string,
    o?: {
      readonly tenants?: readonly string[]
      readonly content?: boolean
      readonly accepts?: boolean
    },
  ): Promise<{ readonly userId: string; readonly email: string; readonly cookie: string }>
}

function cheapHashOf(password: string): string {
  const salt = Buffer.from('AAAA', 'base64url')
  return scryptSync(password, salt, 32, { N: 2, r: 1, p: 1 }).toString('base64url')
}

function readBody(payload: string): unknown {
  return payload.startsWith('{') ? JSON.parse(payload) : payload
}

/** What the answer sets the cookie to. */
export function cookieOf({ headers }: Answered): string {
  return /^[^=]+=([^;]*)/.exec(String(headers['set-cookie']))?.[1] ?? ''
}

export function tokenOf(url: string): string {
  return url.split('#')[1] ?? ''
}

/** What getSession tells of submission. */
export const submissionOfTests = {
  ...{ host: 'mail.example.com', starttls_port: 587, tls_port: null },
}

export function usePeople(more: () => Partial<PeopleConfig> = () => ({})): People {
  let database: TestDatabase
  let app: FastifyInstance
  let acme: { tenantId: string; apiKey: string }
  let other: { tenantId: string; apiKey: string }
  let n = 0
  beforeAll(async () => {
    database = await createTestDatabase()
  })
  afterAll(async () => {
    await database.close()
  })
  // Limits of logins last longer than a test.
  beforeEach(async () => {
    const { db } = database
    await emptyTables(db, 'people_user', 'people_member', 'people_invitation', 'people_session')
    await emptyTables(db, 'tenants_audit_entry')
    const egress = createEgress({ allowNetworks: ['127.0.0.0/8'] })
    app = createApp(db, egress, more())
    acme = await createTenant({ db }, { name: 'Acme' })
    other = await createTenant({ db }, { name: 'Other' })
    return async () => {
      await app.close()
      await egress.close()
    }
  })

  const ask: People['ask'] = (method, path, o = {}) => askOf(app, method, path, o)
  const people: People = {
    get db() {
      return database.db
    },
    get acme() {
      return acme
    },
    get other() {
      return other
    },
    ask,
    admin: (method, path, body) =>
      ask(method, `/admin/v1${path}`, { token: ADMIN, ...(body && { body }) }),
    ui: (method, path, o = {}) =>
      ask(method, path.startsWith('/ui') ? path : `/ui/api${path}`, {
        ...o,
        headers: { 'x-postrider-session': '1', origin: ORIGIN, ...o.headers },
      }),
    accept: (url, body = {}) =>
      ask('POST', '/ui/invitation', { body: { token: tokenOf(url), password: PASSWORD, ...body } }),
    logIn: (email, { password = PASSWORD, ...o } = {}) =>
      ask('POST', '/ui/session', { ...o, body: { email, password } }),
    async newPerson(role, o = {}) {
      n += 1
      const email = `${role}-${n}@example.com`
      const isOperators = role.startsWith('operator')
      const tenants = o.tenants ?? (isOperators ? [] : [acme.tenantId])
      const { content } = o
      const made = await people.admin('POST', '/users', {
        ...{ email, name: role, role, tenants },
        ...(content === undefined ? {} : { content }),
      })
      if (made.status !== 201) throw new Error(JSON.stringify(made.body))
      const userId: string = made.body.user.user_id
      if (o.accepts === true) await people.accept(made.body.invitation_url)
      else await setCheapPassword(database.db, userId)
      const cookie = cookieOf(await people.logIn(email))
      return { userId, email, cookie }
    },
  }
  return people
}

function createApp(db: Db, egress: Egress, more: Partial<PeopleConfig>): FastifyInstance {
  const log = createLogger({ level: 'silent' })
  const config = {
    publicUrl: ORIGIN,
    auditRetentionMs: 1_000,
    retentionMs: 1_000,
    contentRetentionMs: 1_000,
  }
  const tenants = createTenants({
    ...{ db, clock: createClock(), log, config },
    countQueued: async () => new Map(),
    tables: [],
    removeMembers: async () => 0,
  })
  const submissionAddress = () => submissionOfTests
  const people = createPeople({
    ...{ db, log, egress, submissionAddress, config: { ...config, ...more } },
  })
  const app = createHttpApp({
    log,
    metrics: createMetrics(),
    authenticateKey: tenants.authenticateKey,
    adminToken: ADMIN,
    operatorAccess: tenants.operatorAccess,
    sessions: people.sessions,
  })
  tenants.routes(app)
  people.routes(app)
  createSuppressions({ db, log, clock: createClock() }).routes(app)
  return app
}

async function askOf(
  app: FastifyInstance,
  method: Method,
  path: string,
  o: Asked,
): Promise<Answered> {
  const response = await app.inject({
    method,
    url: path,
    headers: {
      ...(o.token === undefined ? {} : { authorization: `Bearer ${o.token}` }),
      ...(o.cookie === undefined ? {} : { cookie: `a=b; ${COOKIE}=${o.cookie}` }),
      ...(o.tenantId === undefined ? {} : { 'x-postrider-tenant': o.tenantId }),
      ...(o.body === undefined ? {} : { 'content-type': 'application/json' }),
      ...o.headers,
    },
    ...(o.body === undefined ? {} : { payload: JSON.stringify(o.body) }),
    remoteAddress: o.from ?? '192.0.2.7',
  })
  const { statusCode: status, headers } = response
  return { status, headers, body: readBody(response.payload) }
}

async function setCheapPassword(db: Db, userId: string): Promise<void> {
  await db.query(
    `with taken as (delete from people_invitation where user_id = $1)
       update people_user set password_hash = $2, activated_at = now() where user_id = $1`,
    [userId, CHEAP_HASH],
  )
}
