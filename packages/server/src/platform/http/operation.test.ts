import {
  createTenantAnswer,
  createTenantBody,
  errorBody,
  listTenantsAnswer,
  pageQuery,
} from '@postrider/contract'
import type { FastifyInstance } from 'fastify'
import { Check } from 'typebox/value'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { noteCommit } from '../db/commits.ts'
import { DatabaseUnavailableError } from '../db/errors.ts'
import { ApiError } from '../errors.ts'
import { createLogger } from '../log.ts'
import { createMetrics } from '../metrics.ts'
import { createHttpApp } from './app.ts'
import { describeRoutes } from './openapi.ts'
import { addOperation } from './operation.ts'
import { cutPage, pageTokenAfter, readPage } from './paging.ts'
import { addStatusRoutes, type Readiness } from './status-routes.ts'

let app: FastifyInstance
/** What an operation does before it answers. */
let during: () => Promise<void> | void = () => undefined
let checks: Readiness['checks'] = { database: 'ok' }
let details: Readiness['details']
/** What routes answer with, by its identity. */
let sent: unknown[] = []
const ids = Array.from({ length: 120 }, (_, i) => `tn_${String(999 - i)}`)

beforeAll(async () => {
  const metrics = createMetrics()
  app = createHttpApp({
    log: createLogger({ level: 'silent' }),
    metrics,
    adminToken: 'operator',
    authenticateKey: () => undefined,
  })
  app.addHook('onSend', async (_request, _reply, payload) => {
    sent.push(payload)
  })
  describeRoutes(app, { publicUrl: 'https://mail.example.com', version: '0.0.0' })
  app.register(async (scope) => {
    addStatusRoutes(scope, {
      metrics,
      facts: () => ({ version: '0.1.0', roles: ['api'] }),
      readiness: async () => ({ checks, ...(details === undefined ? {} : { details }) }),
    })
    addOperation(scope, 'createTenant', {
      summary: 'Create a tenant',
      tag: 'Administration',
      body: createTenantBody,
      answer: createTenantAnswer,
      errors: ['conflict'],
      handle: async ({ body }) => {
        await during()
        return {
          message: `Created ${body.name}`,
          tenant_id: 'tn_1',
          key_id: 'key_1',
          api_key: 'pr_1',
        }
      },
    })
    addOperation(scope, 'listTenants', {
      summary: 'List tenants',
      tag: 'Administration',
      query: pageQuery,
      answer: listTenantsAnswer,
      handle: async ({ query }) => {
        const page = readPage(query, 'tenants', /^tn_\d{3}$/)
        const rows = ids
          .filter((id) => page.before === undefined || id < page.before)
          .slice(0, page.limit + 1)
        const cut = cutPage(rows, page, (id) => id)
        return {
          message: 'Tenants',
          tenants: cut.rows.map((id) => ({
            ...{ tenant_id: id, name: id, created_at: '', state: 'active' as const },
            quotas: {
              ...{ emails_per_second: null, emails_per_day: null },
              ...{ queued_max: null, storage_bytes_max: null },
            },
            usage: { emails_today: 0, queued: 0, storage_bytes: 0 },
          })),
          ...(cut.nextPageToken === undefined ? {} : { nextPageToken: cut.nextPageToken }),
        }
      },
    })
  })
  await app.ready()
})
afterAll(() => app.close())

const admin = { authorization: 'Bearer operator' }

describe('an operation', () => {
  it('is served at the documented method, path, status and kind of key', async () => {
    const request = { method: 'POST', url: '/admin/v1/tenants', payload: { name: 'Acme' } } as const
    const response = await app.inject({ ...request, headers: admin })
    expect(response.statusCode).toBe(201)
    expect(response.json()).toMatchObject({ success: true, message: 'Created Acme' })
    expect((await app.inject(request)).statusCode).toBe(401)
  })

  it('is described with its schemas, its kind of key and every error it can answer', async () => {
    const { paths, servers, openapi } = (await app.inject({ url: '/openapi.json' })).json()
    expect(openapi).toBe('3.1.0')
    // By whatever name it is reached, and by its own.
    expect(servers).toEqual([{ url: '/' }, { url: 'https://mail.example.com' }])
    const post = paths['/admin/v1/tenants'].post
    expect(post.operationId).toBe('createTenant')
    expect(post.security).toEqual([{ adminToken: [] }])
    expect(post.requestBody.content['application/json'].schema).toEqual({
      $ref: '#/components/schemas/CreateTenantBody',
    })
    expect(Object.keys(post.responses)).toEqual([
      ...['201', '400', '401', '408', '409', '413', '415', '429', '500', '503'],
    ])
    expect(paths['/admin/v1/tenants'].get.parameters).toHaveLength(2)
    expect(Object.keys(paths['/admin/v1/tenants'].get.responses)).not.toContain('415')
    expect(Object.keys(paths)).toEqual(['/admin/v1/tenants'])
  })
})

describe('an operation that loses the database', () => {
  const away = () => new DatabaseUnavailableError('away')
  const lost = () => new DatabaseUnavailableError('lost', { isCommitUnknown: true })
  const commits: [string, () => void][] = [
    ['nothing', () => undefined],
    ['a commit', noteCommit],
  ]
  const cases: [string, () => Error, string, () => void][] = commits.flatMap(([what, commit]) => [
    ['before an answer', away, what, commit],
    ['at COMMIT', lost, what, commit],
    ['as something else is away', () => new ApiError('unavailable'), what, commit],
  ])

  it.each(cases)('says what may have been done: %s (%#)', async (_how, fail, what, commit) => {
    during = async () => {
      await Promise.resolve()
      commit()
      throw fail()
    }
    onTestFinished(() => {
      during = () => undefined
    })
    const response = await app.inject({
      ...{ method: 'POST', url: '/admin/v1/tenants', payload: { name: 'Acme' } },
      headers: admin,
    })
    const isUnknown = what === 'a commit' || fail === lost
    expect(response.statusCode).toBe(503)
    const body: unknown = response.json()
    expect(Check(errorBody, body)).toBe(true)
    expect(body).toEqual({
      ...{ success: false, code: 'unavailable', request_id: response.headers['x-request-id'] },
      message: isUnknown
        ? 'Service Unavailable: the request may have been carried out'
        : 'Service Unavailable',
      ...(isUnknown ? { outcome: 'unknown' } : {}),
    })
    if (isUnknown) expect(response.headers['retry-after']).toMatch(/^[1-5]$/)
  })

  it('says nothing about that when it was refused after a commit', async () => {
    during = () => {
      noteCommit()
      throw new ApiError('conflict')
    }
    onTestFinished(() => {
      during = () => undefined
    })
    const response = await app.inject({
      ...{ method: 'POST', url: '/admin/v1/tenants', payload: { name: 'Acme' } },
      headers: admin,
    })
    expect(response.json()).toEqual({
      ...{ success: false, message: 'Conflict', code: 'conflict' },
      request_id: response.headers['x-request-id'],
    })
  })
})

describe('paging', () => {
  async function page(search: string) {
    return await app.inject({ url: `/admin/v1/tenants${search}`, headers: admin })
  }

  it('[contract 2] goes through the whole list, 50 at a time, newest first', async () => {
    const seen: string[] = []
    let search = ''
    for (;;) {
      const { tenants, nextPageToken } = (await page(search)).json()
      seen.push(...tenants.map((t: { tenant_id: string }) => t.tenant_id))
      if (nextPageToken === undefined) break
      expect(tenants).toHaveLength(50)
      search = `?pageToken=${nextPageToken}`
    }
    expect(seen).toEqual(ids)
  })

  it('has no token when the last page is exactly full', async () => {
    expect((await page('?pageSize=120')).json().nextPageToken).toBeUndefined()
    expect((await page('?pageSize=119')).json().nextPageToken).toBeDefined()
  })

  it.each([
    'x',
    'tn_123',
    Buffer.from('tn_123').toString('base64url'),
    Buffer.from('tenants:tn_123').toString('base64url'),
    pageTokenAfter({ mark: 'keys' }, 'tn_123'),
    pageTokenAfter({ mark: 'tenants' }, 'tn_x'),
    `${pageTokenAfter({ mark: 'tenants' }, 'tn_123')}==`,
    pageTokenAfter({ mark: 'tenants' }, 'tn_123').slice(0, -1),
  ])('refuses the token %j', async (token) => {
    const response = await page(`?pageToken=${encodeURIComponent(token)}`)
    expect(response.statusCode).toBe(400)
    expect(response.json().errors).toEqual([
      { path: '/pageToken', message: 'is not a token of this list with these filters' },
    ])
  })
})

describe('status', () => {
  it('/healthz answers while the process lives', async () => {
    const response = await app.inject({ url: '/healthz' })
    expect(response.json()).toEqual({
      success: true,
      message: 'Alive',
      status: 'ok',
      version: '0.1.0',
      roles: ['api'],
    })
  })

  it('/readyz is 503 with the problem, and 200 when all is well', async () => {
    expect((await app.inject({ url: '/readyz' })).statusCode).toBe(200)
    checks = { database: 'away', sender: 'ok' }
    const response = await app.inject({ url: '/readyz' })
    expect(response.statusCode).toBe(503)
    expect(response.json()).toMatchObject({
      code: 'unavailable',
      message: 'Not ready: database (away)',
    })
    expect(response.headers['retry-after']).toBe('1')
  })

  it('/readyz stays 200 with details, and has none when there are none', async () => {
    checks = { database: 'ok' }
    expect((await app.inject({ url: '/readyz' })).json()).not.toHaveProperty('details')
    details = { queue: 'late' }
    const response = await app.inject({ url: '/readyz' })
    expect(response.statusCode).toBe(200)
    expect(response.json()).toMatchObject({
      checks: { database: 'ok' },
      details: { queue: 'late' },
    })
  })

  it('/readyz is 503 in time while a check hangs, which all callers share', async () => {
    let asked = 0
    const { promise: hung, resolve: answer } = Promise.withResolvers<Readiness>()
    const metrics = createMetrics()
    const hanging = createHttpApp({
      log: createLogger({ level: 'silent' }),
      metrics,
      authenticateKey: () => undefined,
    })
    addStatusRoutes(hanging, {
      metrics,
      facts: () => ({}),
      readiness: () => {
        asked += 1
        return hung
      },
      readyWithinMs: 20,
    })
    const probe = () => hanging.inject({ url: '/readyz' })
    const [one, other] = await Promise.all([probe(), probe()])
    expect([one.statusCode, other.statusCode]).toEqual([503, 503])
    expect(one.json().message).toBe('Not ready: checks (no answer in time)')
    expect(asked).toBe(1)
    answer({ checks: { database: 'ok' } })
    expect((await probe()).statusCode).toBe(200)
    await hanging.close()
  })

  it('/metrics says of each check whether it passes', async () => {
    const read = async () => (await app.inject({ url: '/metrics' })).body
    checks = { database: 'ok', disk: 'nearly full' }
    expect(await read()).toContain(
      'postrider_ready{check="database"} 1\npostrider_ready{check="disk"} 0',
    )
    checks = { database: 'ok' }
    expect(await read()).not.toContain('check="disk"')
  })

  it('/metrics counts requests by route and status', async () => {
    const { headers, body } = await app.inject({ url: '/metrics' })
    expect(headers['content-type']).toContain('text/plain')
    expect(body).toContain(
      'postrider_http_requests_total{method="GET",route="/readyz",status="503"} 1',
    )
  })

  it.each(['/openapi.json', '/metrics'])(
    '%s is written once for concurrent callers, and held in memory once',
    async (url) => {
      sent = []
      const answers = await Promise.all(Array.from({ length: 32 }, () => app.inject({ url })))
      expect(new Set(answers.map(({ statusCode }) => statusCode))).toEqual(new Set([200]))
      expect(sent.length).toBe(32)
      expect(sent[0]).toBeInstanceOf(Buffer)
      expect(new Set(sent).size).toBe(1)
    },
  )

  it.each(['/docs', '/docs/'])('%s shows the description', async (url) => {
    const response = await app.inject({ url })
    expect(response.statusCode).toBe(200)
    expect(response.headers['content-type']).toBe('text/html; charset=utf-8')
    expect(response.body).toContain('id="createTenant"')
    const policy = String(response.headers['content-security-policy'])
    expect(policy).toContain("default-src 'none'")
    // Nothing from another host, and nothing that turns http into https on a plain http host.
    expect(policy).not.toMatch(/https?:|upgrade-insecure-requests|\w\.\w|unsafe|\*/)
  })
})
