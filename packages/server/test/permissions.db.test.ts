/**
 * Every operation is called by every role, by keys of every scope, and without a credential. The answers are
 * held against docs/reference/permissions.md, which is generated from the operations' definitions.
 */
import { readFileSync } from 'node:fs'
import {
  type ApiKeyScope,
  apiKeyScopes,
  type OperationId,
  operations,
  type UserRole,
  userRoles,
} from '@postrider/contract'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { App } from '../src/compose.ts'
import { openSession } from '../src/people/sessions/log-in.ts'
import { createUser } from '../src/people/users/change-users.ts'
import { fullGrantor } from '../src/people/users/grants.ts'
import { createClock } from '../src/platform/clock.ts'
import { createApiKey, createTenant } from '../src/tenants/index.ts'
import { ADMIN_TOKEN, composeForTest } from './composed-app.ts'
import { createTestDatabase, type TestDatabase } from './database.ts'

interface Row {
  readonly keys: string
  readonly roles: readonly string[]
}
type Headers = Readonly<Record<string, string>>
type Credentials = Map<string, Headers>

const page = readFileSync(
  new URL('../../../docs/reference/permissions.md', import.meta.url),
  'utf8',
)
const table = new Map(
  page
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .map((line): [string, Row] => {
      const [, id = '', keys = '', ...roles] = line.split('|').map((cell) => cell.trim())
      return [id.replaceAll('`', ''), { keys, roles }]
    }),
)

const ids = (Object.keys(operations) as OperationId[]).filter((id) => table.has(id))

let database: TestDatabase
let app: App
let base: string
let tenantId: string
let strangerId: string
/** By role, with and without the content of mail. */
const people: Credentials = new Map()
const keys: Credentials = new Map()

beforeAll(async () => {
  database = await createTestDatabase({ hasDays: true })
  const { db } = database
  app = composeForTest(database.url, { env: { POSTRIDER_ROLES: 'api' } })
  await app.start()
  const { host, port } = app.address()
  base = `http://${host}:${port}`
  const tenant = await createTenant({ db }, { name: 'Acme' })
  tenantId = tenant.tenantId
  strangerId = (await createTenant({ db }, { name: 'Stranger' })).tenantId
  for (const role of userRoles)
    for (const content of [true, false])
      people.set(`${role} ${content}`, await session(role, content))
  keys.set('', { authorization: `Bearer ${tenant.apiKey}` })
  for (const scope of apiKeyScopes) {
    const body = { name: scope, scopes: [scope] }
    const { apiKey } = await createApiKey({ db, clock: createClock() }, tenantId, body)
    keys.set(scope, { authorization: `Bearer ${apiKey}` })
  }
})
afterAll(async () => {
  await app.stop()
  await database.close()
})

async function session(role: UserRole, content: boolean): Promise<Headers> {
  const { db } = database
  const tenants = role.startsWith('operator') ? [] : [tenantId]
  const body = { email: `${role}-${content}@example.com`, name: role, role, tenants, content }
  const { user } = await createUser({ db, publicUrl: base }, body, fullGrantor)
  const caller = { address: '127.0.0.1', requestId: '', userAgent: undefined, cookie: undefined }
  const entry = { operation: 'createSession', status: 201 }
  const { token } = await openSession(db, user, { caller, entry })
  return { cookie: `postrider_session=${token}`, 'x-postrider-session': '1', origin: base }
}

interface Called {
  readonly method: string
  readonly path: string
}

const statusOf = async (operation: Called, headers: Headers, prefix = '') =>
  (await headOf(operation, headers, prefix)).status

/** The head alone: a stream would not end. Nothing is named that exists, so nothing is changed. */
async function headOf(
  { method, path }: Called,
  headers: Headers,
  prefix: string,
): Promise<Response> {
  const response = await fetch(base + prefix + path.replaceAll(/\{\w+\}/g, 'x'), {
    method,
    headers: { 'x-postrider-tenant': tenantId, ...headers },
    ...(method === 'GET' ? {} : { body: 'no JSON' }),
  })
  await response.body?.cancel()
  return response
}

const isLetIn = (status: number) => status !== 401 && status !== 403

function isForKey({ keys: allowed }: Row, scope: ApiKeyScope | ''): boolean {
  if (allowed === 'none') return false
  return scope === '' || allowed.includes(`\`${scope}\``)
}

describe('every operation', () => {
  it('is in the table of permissions', () => {
    const names = Object.entries(operations).flatMap(([id, { auth }]) =>
      auth === 'tenant' || auth === 'admin' ? [id] : [],
    )
    expect([...table.keys()].sort()).toEqual(names.sort())
  })

  it.each(ids)('%s lets in whom the table names', async (id) => {
    const operation = operations[id]
    const row = table.get(id) as Row
    const found = { people: {}, keys: {} } as Record<string, Record<string, number>>
    const told = { people: {}, keys: {} } as Record<string, Record<string, boolean>>
    for (const [who, headers] of people) {
      const [role = '', content = ''] = who.split(' ')
      const cell = row.roles[userRoles.indexOf(role as UserRole)]
      const status = await statusOf(operation, headers, '/ui/api')
      Object.assign(found.people ?? {}, { [who]: status })
      Object.assign(told.people ?? {}, {
        [who]: cell === 'yes' || (cell === 'with `content`' && content === 'true'),
      })
    }
    // Wrong keys are counted, and a key is wrong on the operator's routes.
    const scopes = operation.auth === 'admin' ? ([''] as const) : (['', ...apiKeyScopes] as const)
    for (const scope of scopes) {
      const status = await statusOf(operation, keys.get(scope) ?? {})
      Object.assign(found.keys ?? {}, { [scope]: status })
      Object.assign(told.keys ?? {}, { [scope]: isForKey(row, scope) })
    }
    for (const kind of ['people', 'keys']) {
      const letIn = Object.entries(found[kind] ?? {}).map(([who, status]) => [who, isLetIn(status)])
      expect([kind, found[kind], Object.fromEntries(letIn)]).toEqual([
        kind,
        found[kind],
        told[kind],
      ])
    }
  })

  it.each(ids)('%s answers 401 without a credential, and to one of the other kind', async (id) => {
    const operation = operations[id]
    const [person = {}] = people.values()
    const token = { authorization: `Bearer ${ADMIN_TOKEN}` }
    expect(await statusOf(operation, {})).toBe(401)
    expect(await statusOf(operation, {}, '/ui/api')).toBe(401)
    expect(await statusOf(operation, person)).toBe(401)
    expect(await statusOf(operation, token, '/ui/api')).toBe(401)
    expect(isLetIn(await statusOf(operation, token))).toBe(true)
  })

  it.each(ids)('%s is closed to members of another tenant, and kept by no browser', async (id) => {
    const operation = operations[id]
    for (const role of ['owner', 'developer', 'support', 'viewer'] as const) {
      const member = people.get(`${role} true`) ?? {}
      const head = await headOf(
        operation,
        { ...member, 'x-postrider-tenant': strangerId },
        '/ui/api',
      )
      expect([role, head.status]).toEqual([role, 403])
      expect(head.headers.get('cache-control')).toContain('no-store')
      expect(head.headers.get('access-control-allow-origin')).toBeNull()
    }
  })

  it.each(ids.filter((id) => operations[id].method !== 'GET'))(
    '%s is closed to what a page elsewhere sends with the cookie',
    async (id) => {
      const operation = operations[id]
      const { cookie = '' } = people.get('operator true') ?? {}
      const session = { 'x-postrider-session': '1' }
      const forged: readonly Headers[] = [
        { cookie },
        { cookie, origin: base },
        { cookie, ...session },
        { cookie, ...session, origin: 'https://evil.test' },
        { cookie, ...session, origin: 'null' },
      ]
      for (const headers of forged)
        expect([headers, await statusOf(operation, headers, '/ui/api')]).toEqual([headers, 403])
    },
  )
})

it.each(Object.values(operations).filter(({ auth }) => auth === 'session'))(
  '$method $path answers 401 without a session, also to keys and tokens',
  async (operation) => {
    expect(await statusOf(operation, {})).toBe(401)
    expect(await statusOf(operation, { authorization: `Bearer ${ADMIN_TOKEN}` })).toBe(401)
    expect(await statusOf(operation, keys.get('') ?? {})).toBe(401)
  },
)
