/** Calls by a session, without a database. */
import { connect } from 'node:net'
import { beforeEach, describe, expect, it } from 'vitest'
import { createLogger } from '../../log.ts'
import { createMetrics } from '../../metrics.ts'
import { createHttpApp, type HttpApp } from '../app.ts'
import type { Person } from './session.ts'

const tenantId = 'tn_01ARZ3NDEKTSV4RRFFQ69G5FAV'
const owner: Person = {
  userId: 'user_a',
  sessionId: 'ses_a',
  operatorRole: undefined,
  content: false,
  memberships: [{ tenantId, role: 'owner', content: false }],
}

let app: HttpApp
let person: Person | undefined
let isKey = true
/** Who calls was asked. */
let asked = Promise.withResolvers<void>()
let nowMs = 0
beforeEach(() => {
  person = owner
  isKey = true
  nowMs = 0
  app = createHttpApp({
    log: createLogger({ level: 'silent' }),
    metrics: createMetrics(),
    authenticateKey: () => {
      asked.resolve()
      return isKey ? { tenantId, keyId: 'key_a', scopes: [] } : undefined
    },
    monotonicMs: () => nowMs,
    sessions: {
      cookieName: 'c',
      find: async () => {
        asked.resolve()
        return person
      },
      isOwnOrigin: (origin) => origin === 'https://mail.example.com',
      hasTenant: async () => true,
    },
    requestsPerKeyMax: 1,
  })
  return async () => await app.close()
})

const headers = {
  cookie: 'c=token',
  'x-postrider-session': '1',
  'x-postrider-tenant': tenantId,
  origin: 'https://mail.example.com',
}

it('counts the calls of one user at once, as those of a key', async () => {
  const [entered, slow] = [Promise.withResolvers<void>(), Promise.withResolvers<object>()]
  const config = { auth: 'tenant', scopes: ['read'] } as const
  app.get('/v1/slow', { config }, () => {
    entered.resolve()
    return slow.promise
  })
  const call = async () => (await app.inject({ url: '/ui/api/v1/slow', headers })).statusCode
  const first = call()
  await entered.promise
  expect(await call()).toBe(429)
  slow.resolve({})
  expect(await first).toBe(200)
  for (let n = 0; n < 3; n++) expect(await call()).toBe(200)
})

it('names the permission that the content of mail needs, and not the role', async () => {
  const config = { auth: 'tenant', scopes: ['content'] } as const
  app.get('/v1/content', { config }, () => ({}))
  const call = () => app.inject({ url: '/ui/api/v1/content', headers })
  const refused = await call()
  expect(refused.statusCode).toBe(403)
  expect(refused.json().message).toContain('the permission `content`')
  person = { ...owner, memberships: [{ tenantId, role: 'owner', content: true }] }
  expect((await call()).statusCode).toBe(200)
})

it.each([
  ['its JSON', '/ui/api/v1/json', 200],
  ['its CSV', '/ui/api/v1/csv', 200],
  ['a refusal', '/ui/api/v1/nothing', 404],
  ['what is no operation', '/ui/api/healthz', 404],
])('lets browsers guess no type, and no other site embed %s', async (_, url, status) => {
  const config = { auth: 'tenant', scopes: ['read'] } as const
  app.get('/v1/json', { config }, () => ({}))
  app.get('/v1/csv', { config }, (_request, reply) => reply.type('text/csv').send('email\r\n'))
  const answer = await app.inject({ url, headers })
  expect(answer.statusCode).toBe(status)
  expect(answer.headers).toMatchObject({
    'x-content-type-options': 'nosniff',
    'cross-origin-resource-policy': 'same-origin',
  })
})

describe('a call whose body comes slowly', () => {
  const BEARER = { authorization: 'Bearer key' }
  let changes = 0

  /** Sends the head, waits for what happens meanwhile, and sends the body. */
  async function statusOf(
    path: string,
    given: Readonly<Record<string, string>>,
    meanwhile: () => void,
  ): Promise<number> {
    changes = 0
    const isAdmin = path.includes('/admin/')
    const config = isAdmin ? { auth: 'admin' as const } : { auth: 'tenant' as const }
    asked = Promise.withResolvers()
    app.post(
      path.replace('/ui/api', ''),
      { config, schema: { body: { type: 'object' } } },
      async () => {
        changes += 1
        return {}
      },
    )
    const address = new URL(await app.listen({ host: '127.0.0.1', port: 0 }))
    const socket = connect(Number(address.port), address.hostname)
    const lines = Object.entries({
      ...{ host: address.host, connection: 'close', 'content-type': 'application/json' },
      ...{ 'content-length': '2', ...given },
    }).map(([name, value]) => `${name}: ${value}`)
    socket.write(`POST ${path} HTTP/1.1\r\n${lines.join('\r\n')}\r\n\r\n{`)
    await asked.promise
    await new Promise(setImmediate)
    meanwhile()
    socket.write('}')
    let answer = ''
    for await (const piece of socket) answer += String(piece)
    return Number(answer.split(' ')[1])
  }

  it.each<[string, string, Readonly<Record<string, string>>, () => void]>([
    ['the session has ended', '/ui/api/v1/change', headers, () => (person = undefined)],
    [
      'the user has another role',
      '/ui/api/v1/change',
      headers,
      () => (person = { ...owner, memberships: [{ tenantId, role: 'viewer', content: false }] }),
    ],
    ['the key was revoked', '/v1/change', BEARER, () => (isKey = false)],
  ])('is 401 when %s meanwhile', async (_, path, given, change) => {
    const status = await statusOf(path, given, () => {
      change()
      nowMs += 1_000
    })
    expect([status, changes]).toEqual([401, 0])
  })

  it('is 401 on the routes of the operator, too', async () => {
    person = { ...owner, operatorRole: 'operator', memberships: [] }
    const status = await statusOf('/ui/api/admin/v1/change', headers, () => {
      person = { ...owner, operatorRole: 'operator_viewer', memberships: [] }
      nowMs += 1_000
    })
    expect([status, changes]).toEqual([401, 0])
  })

  it.each([
    ['/ui/api/v1/change', headers],
    ['/v1/change', BEARER],
  ])('goes on when nothing has changed: %s', async (path, given) => {
    const status = await statusOf(path, given, () => {
      nowMs += 60_000
    })
    expect([status, changes]).toEqual([200, 1])
  })
})
