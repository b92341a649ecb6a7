import { PassThrough } from 'node:stream'
import { errorBody } from '@postrider/contract'
import fc from 'fast-check'
import type { FastifyInstance } from 'fastify'
import { Type } from 'typebox'
import { Check } from 'typebox/value'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { DatabaseUnavailableError } from '../db/errors.ts'
import { createLogger } from '../log.ts'
import { createMetrics } from '../metrics.ts'
import { createHttpApp } from './app.ts'
import type { TenantIdentity } from './bounds/admission.ts'

const KEYS: Readonly<Record<string, TenantIdentity>> = {
  'key-all': { tenantId: 'tn_1', keyId: 'key_1', scopes: [] },
  'key-read': { tenantId: 'tn_1', keyId: 'key_2', scopes: ['read'] },
}
const body = Type.Object(
  {
    subject: Type.String({ minLength: 1, maxLength: 10 }),
    to: Type.Array(Type.Object({ email: Type.String() }, { additionalProperties: false }), {
      minItems: 1,
    }),
    event: Type.Optional(Type.Enum(['A', 'B'])),
    count: Type.Optional(Type.Integer({ minimum: 1 })),
    either: Type.Optional(Type.Union([Type.Literal('x'), Type.Literal('y')])),
    mode: Type.Optional(Type.Union([Type.Enum(['p', 'q']), Type.Null()])),
    at: Type.Optional(Type.String({ examples: ['2026-11-20T18:00:00Z'] })),
    by: Type.Optional(
      Type.Object({
        email: Type.String({ examples: ['ada@example.com'] }),
        name: Type.Optional(Type.String()),
      }),
    ),
    list: Type.Optional(Type.Array(Type.Object({ type: Type.Enum(['text/plain', 'text/html']) }))),
    args: Type.Optional(Type.Unsafe<object>({ type: 'object', additionalProperties: true })),
  },
  { additionalProperties: false },
)
const optional = Type.Object(
  { active: Type.Optional(Type.Boolean()) },
  { additionalProperties: false },
)
const query = Type.Object(
  { pageSize: Type.Optional(Type.Integer({ minimum: 1, maximum: 500 })) },
  { additionalProperties: false },
)

let app: FastifyInstance
const logged: string[] = []

beforeAll(async () => {
  const destination = new PassThrough()
  destination.on('data', (line: Buffer) => logged.push(line.toString()))
  app = createHttpApp({
    log: createLogger({ level: 'debug', destination }),
    metrics: createMetrics(),
    adminToken: 'operator',
    authenticateKey: (key) =>
      key === 'key-slow' ? Promise.resolve(KEYS['key-all']) : (KEYS[key] ?? undefined),
  })
  app.post('/things', { config: { auth: 'public' }, schema: { body } }, async (request) => ({
    got: request.body,
  }))
  app.get('/things', { config: { auth: 'public' }, schema: { querystring: query } }, (request) => ({
    query: request.query,
  }))
  app.post('/options', { config: { auth: 'public' }, schema: { body: optional } }, (request) => ({
    got: request.body,
  }))
  app.post('/things/:id/again', { config: { auth: 'public' } }, () => ({ done: true }))
  app.delete('/things/:id', { config: { auth: 'public' } }, () => ({ done: true }))
  app.post(
    '/large',
    { config: { auth: 'public' }, schema: { body }, bodyLimit: 4 * 1024 * 1024 },
    () => ({ done: true }),
  )
  app.get('/tenant', { config: { auth: 'tenant', scopes: ['read', 'send'] } }, (request) => ({
    tenant: request.tenant,
  }))
  app.post(
    '/tenant',
    { config: { auth: 'tenant', scopes: ['send'] }, schema: { body } },
    () => ({}),
  )
  app.get('/admin', { config: { auth: 'admin' } }, () => ({ done: true }))
  app.get('/trace', { config: { auth: 'public' } }, (request) => ({
    traceparent: request.traceparent,
    again: request.traceparent,
  }))
  app.get('/away', { config: { auth: 'public' } }, () => {
    throw new DatabaseUnavailableError('connection to secret-host refused')
  })
  app.get('/bug', { config: { auth: 'public' } }, () => {
    throw new TypeError('password is hunter2')
  })
  await app.ready()
})
afterAll(() => app.close())

const good = { subject: 'Hi', to: [{ email: 'a@example.com' }] }

function post(payload: string | Buffer | object, headers: Record<string, string> = {}) {
  return app.inject({
    method: 'POST',
    url: '/things',
    headers: { 'content-type': 'application/json', ...headers },
    payload,
  })
}

describe('200', () => {
  it('answers a valid request with its body, an id and no caching', async () => {
    const response = await post(good)
    expect(response.statusCode).toBe(200)
    expect(response.json()).toEqual({ got: good })
    expect(response.headers['x-request-id']).toMatch(/^[0-9A-Z]{26}$/)
    expect(response.headers['cache-control']).toBe('no-store')
  })

  it('accepts a well-formed incoming X-Request-Id and no other', async () => {
    const sane = await post(good, { 'x-request-id': 'abc-123.x:y_z' })
    expect(sane.headers['x-request-id']).toBe('abc-123.x:y_z')
    for (const bad of ['a b', 'x'.repeat(65), 'é', '"><script>'])
      expect((await post(good, { 'x-request-id': bad })).headers['x-request-id']).toMatch(
        /^[0-9A-Z]{26}$/,
      )
  })

  it('[contract 2] continues an incoming trace, else starts one', async () => {
    const traceId = '0af7651916cd43dd8448eb211c80319c'
    const continued = await app.inject({
      url: '/trace',
      headers: { traceparent: `00-${traceId}-b7ad6b7169203331-01` },
    })
    expect(continued.json().traceparent).toMatch(new RegExp(`^00-${traceId}-[0-9a-f]{16}-01$`))
    const started = await app.inject({ url: '/trace' })
    expect(started.json().traceparent).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/)
    for (const answer of [continued, started])
      expect(answer.json().again).toBe(answer.json().traceparent)
  })

  it('answers HEAD like GET, without a body', async () => {
    const response = await app.inject({ method: 'HEAD', url: '/things' })
    expect(response.statusCode).toBe(200)
    expect(response.body).toBe('')
  })

  it('accepts an empty body or an empty object where a route has none', async () => {
    const url = '/things/1/again'
    expect((await app.inject({ method: 'POST', url })).statusCode).toBe(200)
    const headers = { 'content-type': 'application/json' }
    expect((await app.inject({ method: 'POST', url, headers })).statusCode).toBe(200)
    expect((await app.inject({ method: 'POST', url, headers, payload: '{}' })).statusCode).toBe(200)
  })
})

describe('a body of optional fields only', () => {
  it.each([
    ['no body', undefined, {}, {}],
    ['an empty body with a type', '', { 'content-type': 'application/json' }, {}],
    ['an empty object', '{}', { 'content-type': 'application/json' }, {}],
    ['a field', '{"active":true}', { 'content-type': 'application/json' }, { active: true }],
  ])('may be %s', async (_, payload, headers, got) => {
    const request = { method: 'POST' as const, url: '/options', headers }
    const response = await app.inject(payload === undefined ? request : { ...request, payload })
    expect([response.statusCode, response.json()]).toEqual([200, { got }])
  })

  it('must still be JSON without unknown fields', async () => {
    for (const payload of [' ', 'active', '{"activ":true}']) {
      const headers = { 'content-type': 'application/json' }
      const response = await app.inject({ method: 'POST', url: '/options', headers, payload })
      expect(response.statusCode).toBe(400)
    }
    const untyped = await app.inject({ method: 'POST', url: '/options', payload: '{}' })
    expect(untyped.statusCode).toBe(415)
  })
})

describe('400 validation_failed', () => {
  it.each([
    [{ to: good.to }, '/subject', 'is required'],
    [{ ...good, subject: '' }, '/subject', 'must not be empty'],
    [{ ...good, subject: 'x'.repeat(11) }, '/subject', 'must have at most 10 characters'],
    [{ ...good, subject: 7 }, '/subject', 'must be a string'],
    [{ ...good, subject: null }, '/subject', 'must be a string, not null'],
    [{ ...good, to: [] }, '/to', 'must have at least 1 item'],
    [{ ...good, to: [{}] }, '/to/0/email', 'is required'],
    [{ ...good, to: [good.to[0], { email: 1 }] }, '/to/1/email', 'must be a string'],
    [{ ...good, other: 1 }, '/other', 'is not a known field'],
    [{ ...good, 'a/b~c': 1 }, '/a~1b~0c', 'is not a known field'],
    [{ ...good, to: [{ email: 'a', x: 1 }] }, '/to/0/x', 'is not a known field'],
    [{ ...good, event: 'C' }, '/event', 'must be one of A, B'],
    [{ ...good, either: 'z' }, '/either', 'must be one of x, y'],
    [{ ...good, mode: 'z' }, '/mode', 'must be one of p, q or null'],
    [{ ...good, count: '1' }, '/count', 'must be an integer'],
    [{ ...good, count: 0 }, '/count', 'must be at least 1'],
    [{ ...good, Subject: 'x' }, '/Subject', 'is not a known field; did you mean subject?'],
    [{ ...good, email: 'a' }, '/email', 'is not a known field; did you mean email in to?'],
    [
      { ...good, plain: 'a' },
      '/plain',
      'is not a known field; did you mean list, such as [{"type":"text/plain"}]?',
    ],
    [{ ...good, at: 7 }, '/at', 'must be a string, such as "2026-11-20T18:00:00Z"'],
    [{ ...good, by: 'a@b' }, '/by', 'must be an object, such as {"email":"ada@example.com"}'],
    [{ ...good, by: [] }, '/by', 'must be an object, such as {"email":"ada@example.com"}'],
    [{ ...good, list: 'x' }, '/list', 'must be an array, such as [{"type":"text/plain"}]'],
    [[], '', 'must be an object'],
    ['"text"', '', 'must be an object'],
  ])('names in %j the path %j %s', async (payload, path, message) => {
    const response = await post(typeof payload === 'string' ? payload : JSON.stringify(payload))
    expect(response.statusCode).toBe(400)
    expect(Check(errorBody, response.json())).toBe(true)
    expect(response.json()).toMatchObject({
      success: false,
      code: 'validation_failed',
      request_id: response.headers['x-request-id'],
      errors: [{ path, message }],
    })
  })

  it('names every invalid field at once', async () => {
    const response = await post({ subject: 1, to: [{ email: 2 }], x: 3 })
    const paths = response.json().errors.map((e: { path: string }) => e.path)
    expect(paths.sort()).toEqual(['/subject', '/to/0/email', '/x'])
  })

  it('stops counting errors in a huge body, and answers at once', async () => {
    const response = await post({ ...good, to: Array.from({ length: 90_000 }, () => 1) })
    expect(response.json().errors).toEqual([{ path: '/to/0', message: 'must be an object' }])
  })

  it.each([
    ['?pageSize=0', '/pageSize', 'must be at least 1'],
    ['?pageSize=501', '/pageSize', 'must be at most 500'],
    ['?pageSize=ten', '/pageSize', 'must be an integer'],
    ['?pageSize=', '/pageSize', 'must be an integer'],
    ['?pageSize=1e400', '/pageSize', 'must be an integer'],
    ['?pageSize=Infinity', '/pageSize', 'must be an integer'],
    ['?pageSize=-1', '/pageSize', 'must be an integer'],
    ['?pageSize=0x10', '/pageSize', 'must be an integer'],
    ['?pageSize=1e1', '/pageSize', 'must be an integer'],
    ['?pageSize=%2010', '/pageSize', 'must be an integer'],
    ['?pageSize=5.0', '/pageSize', 'must be an integer'],
    ['?pageSize=05', '/pageSize', 'must be an integer'],
    ['?pageSize=99999999999999999', '/pageSize', 'must be an integer'],
    ['?pageSize=1&pageSize=2', '/pageSize', 'is given more than once'],
    ['?other=1', '/other', 'is not a known query parameter'],
    ['?page_size=1', '/page_size', 'is not a known query parameter; did you mean pageSize?'],
    ['?__proto__=1', '/__proto__', 'is not a known query parameter'],
  ])('names in the query %s the path %s %s', async (search, path, message) => {
    const response = await app.inject({ url: `/things${search}` })
    expect(response.statusCode).toBe(400)
    expect(response.json().errors).toEqual([{ path, message }])
  })

  it('reads a number in a query as a number', async () => {
    expect((await app.inject({ url: '/things?pageSize=50' })).json()).toEqual({
      query: { pageSize: 50 },
    })
  })

  it('refuses query parameters where a route has none', async () => {
    const response = await app.inject({ url: '/trace?x=1' })
    expect(response.json().errors).toEqual([
      { path: '/x', message: 'is not a known query parameter' },
    ])
  })

  it('repeats only the beginning of a very long name', async () => {
    const headers = { 'content-type': 'application/json' }
    const long = 'x'.repeat(500_000)
    const path = `/${'x'.repeat(100)}…`
    const url = '/things/1/again'
    const answers = [
      await post({ ...good, [long]: 1 }),
      await app.inject({ method: 'POST', url, headers, payload: `{"${long}":1}` }),
      await app.inject({ url: `/things?${long.slice(0, 10_000)}=1` }),
    ]
    for (const answer of answers) expect(answer.json().errors).toMatchObject([{ path }])
    const inside = await post(`{"args":{"${long}":{"${long}":"\\u0000"}}}`)
    expect(inside.json().errors[0].path).toBe(`/args${path}${path}`)
    const inPairs = await post({ ...good, [`${'~'.repeat(99)}😀${long}`]: 1 })
    expect(inPairs.json().errors[0].path).toBe(`/${'~0'.repeat(99)}…`)
  })

  it.each(['GET', 'HEAD'] as const)('refuses a body of %s before it is read', async (method) => {
    const headers = { 'content-type': 'application/json' }
    for (const payload of ['{"pageSize":1}', '{', '{}']) {
      const response = await app.inject({ method, url: '/things', headers, payload })
      expect(response.statusCode).toBe(400)
      if (method === 'GET')
        expect(response.json()).toMatchObject({
          code: 'validation_failed',
          errors: [{ path: '', message: 'a GET request takes no body' }],
        })
    }
    const chunked = await app.inject({
      ...{ method, url: '/things', headers: { ...headers, 'transfer-encoding': 'chunked' } },
    })
    expect(chunked.statusCode).toBe(400)
    const without = { ...headers, 'content-length': '0' }
    expect((await app.inject({ method, url: '/things', headers: without })).statusCode).toBe(200)
  })

  it('refuses fields where a route has no body', async () => {
    const response = await app.inject({
      method: 'POST',
      url: '/things/1/again',
      payload: { force: true },
    })
    expect(response.json().errors).toEqual([{ path: '/force', message: 'is not a known field' }])
  })

  it.each([
    ['{"subject":"Hi","to":[{"email":"\\u0000"}]}', '/to/0/email', 'must not contain NUL'],
    ['{"subject":"\\ud800","to":[]}', '/subject', 'must be well-formed Unicode'],
    ['{"args":{"a":[{"b\\udc00":1}]}}', '/args/a/0/b\udc00', 'must be well-formed Unicode'],
    ['{"args":{"__proto__":{"x":1}}}', '/args/__proto__', 'is a forbidden name'],
    ['{"args":{"constructor":{"prototype":{}}}}', '/args/constructor', 'is a forbidden name'],
  ])('names in %s the path %j %s', async (payload, path, message) => {
    expect((await post(payload)).json().errors).toEqual([
      { path: JSON.parse(JSON.stringify(path)), message },
    ])
  })

  it.each([
    ['{"subject":"Hi","to":[{"email":"a"}],"subject":"Ho"}', '/subject'],
    ['{"subject":"Hi","to":[{"email":"a"},{"email":"a","\\u0065mail":"b"}]}', '/to/1/email'],
    ['{"subject":"Hi","to":[{"email":"a"}],"args":{"a/b":{},"a/b":{}}}', '/args/a~1b'],
  ])('refuses in %s the path %j that is given twice', async (payload, path) => {
    const response = await post(payload)
    expect(response.statusCode).toBe(400)
    expect(response.json().errors).toEqual([{ path, message: 'is given twice' }])
  })

  it('reports repeated names in bounded time and words', async () => {
    const [deep, wide, long] = [
      `{"args":${'['.repeat(90_000)}{"a":1,"a":2}${']'.repeat(90_000)},"args":1}`,
      `{"args":{${Array.from({ length: 9_000 }, (_, i) => `"k${i}":{}`).join()},"k9":1}}`,
      `{"subject":"${'x\\\\'.repeat(300_000)}","${'y'.repeat(10_000)}":1,"${'y'.repeat(10_000)}":1}`,
    ]
    expect((await post(deep)).json().errors[0].message).toContain('nested deeper')
    expect((await post(wide)).json().errors).toEqual([
      { path: '/args/k9', message: 'is given twice' },
    ])
    expect((await post(long)).json().errors).toEqual([
      { path: `/${'y'.repeat(100)}…`, message: 'is given twice' },
    ])
  })

  it('accepts an emoji written as two escapes, and "constructor" as an ordinary name', async () => {
    const response = await post(
      '{"subject":"\\ud83d\\ude00","to":[{"email":"a"}],"args":{"constructor":"x"}}',
    )
    expect(response.statusCode).toBe(200)
  })

  it('refuses nesting beyond 64 levels, also 90,000', async () => {
    const nested = (depth: number) =>
      `{"subject":"Hi","to":[{"email":"a"}],"args":{"a":${'['.repeat(depth)}${']'.repeat(depth)}}}`
    expect((await post(nested(62))).statusCode).toBe(200)
    for (const depth of [63, 90_000]) {
      const response = await post(nested(depth))
      expect(response.statusCode).toBe(400)
      expect(response.json().errors[0].message).toBe('must not be nested deeper than 64 levels')
    }
  })

  it('refuses more values than any email has, before parsing', async () => {
    const many = (count: number, text = '') =>
      `{"subject":"Hi","to":[{"email":"a"}],"args":{"b":"${text}","a":[0${',0'.repeat(count)}]}}`
    expect((await post(many(90_000))).statusCode).toBe(200)
    for (const body of [many(100_000), '['.repeat(400_000), `${'{"a":'.repeat(150_000)}`]) {
      const response = await post(body)
      expect(response.statusCode).toBe(400)
      expect(response.json().errors[0].message).toBe('must not hold more than 100000 values')
    }
    // Commas and brackets within texts are text, also behind an escaped quotation mark.
    expect((await post(many(1, ',[{\\\\\\"'.repeat(50_000)))).statusCode).toBe(200)
  })

  it.each(['12345678901234567890', '-9007199254740992', '1e400', '[1,{"b":1e999}]'])(
    'refuses the number %s, which JavaScript cannot represent',
    async (number) => {
      const response = await post(`{"subject":"Hi","to":[{"email":"a"}],"args":{"a":${number}}}`)
      expect(response.json().errors[0].path).toMatch(/^\/args\/a/)
      expect(response.json().errors[0].message).toContain('send it as a string')
    },
  )

  it('names an unknown field of a route without a body by its JSON Pointer', async () => {
    const headers = { 'content-type': 'application/json' }
    const url = '/things/1/again'
    const response = await app.inject({ method: 'POST', url, headers, payload: '{"a/b~":1}' })
    expect(response.json().errors[0].path).toBe('/a~1b~0')
  })

  it.each([
    ['?pageSize=%00', ['/pageSize']],
    ['?pageToken=a%00b&pageSize=1&other=%00', ['/pageToken', '/other']],
    ['?a=1&b=?%00', ['/b']],
    ['?x%00y=1', ['/xy']],
    ['?%00', ['']],
  ])('refuses NUL in the query, by the name of its parameter: %s', async (query, paths) => {
    const response = await app.inject({ url: `/things${query}` })
    expect(response.statusCode).toBe(400)
    const { code, errors } = response.json()
    expect([code, errors]).toEqual([
      'validation_failed',
      paths.map((path) => ({ path, message: 'must not contain NUL' })),
    ])
  })
})

describe('400 invalid_json', () => {
  it.each([
    '',
    ' ',
    '{',
    '{"a":1,}',
    "{'a':1}",
    'NaN',
    '{"a":"\u0000"}',
    '\ufeff{}',
    '{"a":1} trailing',
  ])('refuses %j', async (payload) => {
    const response = await post(payload)
    expect(response.statusCode).toBe(400)
    expect(response.json().code).toBe('invalid_json')
    expect(response.body).not.toContain('trailing')
  })

  it('refuses bytes that are not UTF-8', async () => {
    const response = await post(Buffer.from('{"subject":"\xff","to":[]}', 'latin1'))
    expect(response.json().code).toBe('invalid_json')
  })

  it('refuses a missing body where one is needed', async () => {
    const answers = [await app.inject({ method: 'POST', url: '/things' }), await post('')]
    for (const answer of answers)
      expect(answer.json()).toMatchObject({
        code: 'invalid_json',
        message: 'A JSON body is required',
      })
  })
})

describe('401', () => {
  const unsent = (what: string) => `Unauthorized: send the header "Authorization: Bearer <${what}>"`
  it.each([
    undefined,
    '',
    'Bearer',
    'Bearer ',
    'Basic key-all',
    'key-all',
    'Bearer key-all extra',
    `Bearer ${'x'.repeat(600)}`,
    'Bearer wrong',
  ])('answers %j on a tenant route and on an admin route', async (authorization) => {
    const messages =
      authorization === 'Bearer wrong'
        ? {
            '/tenant': 'Unauthorized: the API key is unknown, revoked or expired',
            '/admin': "Unauthorized: this is not the operator's token",
          }
        : { '/tenant': unsent('API key'), '/admin': unsent("operator's token") }
    for (const [url, message] of Object.entries(messages)) {
      const headers = authorization === undefined ? {} : { authorization }
      const response = await app.inject({ url, headers })
      expect(response.statusCode).toBe(401)
      expect(response.headers['www-authenticate']).toBe('Bearer')
      expect(response.json()).toMatchObject({ code: 'unauthorized', message })
    }
  })

  it('comes before the body is read', async () => {
    const response = await app.inject({
      method: 'POST',
      url: '/tenant',
      headers: { 'content-type': 'application/json' },
      payload: '{',
    })
    expect(response.statusCode).toBe(401)
  })

  it('keeps the two kinds of credential apart', async () => {
    const asTenant = { authorization: 'Bearer operator' }
    expect((await app.inject({ url: '/tenant', headers: asTenant })).statusCode).toBe(401)
    const asAdmin = { authorization: 'Bearer key-all' }
    expect((await app.inject({ url: '/admin', headers: asAdmin })).statusCode).toBe(401)
    const admin = { authorization: 'bearer  operator' }
    expect((await app.inject({ url: '/admin', headers: admin })).statusCode).toBe(200)
  })

  it.each(['key-all', 'key-slow'])('does not apply to %s, whose tenant is known', async (key) => {
    const response = await app.inject({
      url: '/tenant',
      headers: { authorization: `Bearer ${key}` },
    })
    expect(response.json()).toEqual({ tenant: KEYS['key-all'] })
  })
})

describe('403', () => {
  it('names the missing scope', async () => {
    const headers = { authorization: 'Bearer key-read' }
    expect((await app.inject({ url: '/tenant', headers })).statusCode).toBe(200)
    const response = await app.inject({ method: 'POST', url: '/tenant', headers, payload: good })
    expect(response.statusCode).toBe(403)
    expect(response.json()).toMatchObject({
      code: 'forbidden',
      message: 'This operation needs an API key with the scope "send"',
    })
  })
})

describe('404 and 405', () => {
  it.each([
    ['GET', '/nothing'],
    ['POST', '/nothing'],
    ['GET', '/things/'],
    ['PROPFIND', '/nothing'],
    ['GET', '/%zz'],
    ['DELETE', '/things/a%00b'],
    ['DELETE', `/things/${'x'.repeat(2000)}`],
    ['GET', '//things'],
  ] as const)('answers 404 to %s %s', async (method, url) => {
    const response = await app.inject({ method: method as 'GET', url })
    expect(response.statusCode).toBe(404)
    const isRoute = url.includes('%00')
    const message = isRoute ? 'Not Found' : 'Not Found: there is no such route'
    expect(response.json()).toMatchObject({ success: false, code: 'not_found', message })
    expect(response.headers['x-request-id']).toBe(response.json().request_id)
  })

  it.each(['/v1/v1/email/send', '/v1/admin/v1/tenants?x=1'])(
    'explains to a client that its base address ends in /v1: %s',
    async (url) => {
      const response = await app.inject({ method: 'POST', url, payload: {} })
      expect([response.statusCode, response.json().message]).toEqual([
        404,
        'Not Found: the base address (`basePath`) must not end in /v1, as every path begins with it',
      ])
    },
  )

  it.each([
    ['PUT', '/things', 'GET, HEAD, POST'],
    ['OPTIONS', '/things?x=1', 'GET, HEAD, POST'],
    ['GET', '/things/1/again', 'POST'],
    ['PATCH', '/things/1', 'DELETE'],
    ['PROPFIND', '/admin', 'GET, HEAD'],
  ] as const)('answers 405 to %s %s, with Allow: %s', async (method, url, allow) => {
    const response = await app.inject({ method: method as 'GET', url, payload: 'not json' })
    expect(response.statusCode).toBe(405)
    expect(response.headers.allow).toBe(allow)
    expect(response.json().code).toBe('method_not_allowed')
  })
})

describe('413', () => {
  it('refuses more than 1 MiB, and less where a route allows more', async () => {
    const payload = JSON.stringify({ ...good, args: { x: 'y'.repeat(1024 * 1024) } })
    const response = await post(payload)
    expect(response.statusCode).toBe(413)
    expect(response.json().code).toBe('payload_too_large')
    const headers = { 'content-type': 'application/json' }
    const large = await app.inject({ method: 'POST', url: '/large', headers, payload })
    expect(large.statusCode).toBe(200)
  })
})

describe('415', () => {
  const accepted = [
    'application/json',
    'Application/JSON',
    'application/json; charset=utf-8',
    'application/json;charset=UTF-8',
    'application/json ; charset="utf-8"',
  ]
  it.each(accepted)('accepts %j', async (type) => {
    expect((await post(good, { 'content-type': type })).statusCode).toBe(200)
  })

  it.each([
    'text/plain',
    'application/jsonx',
    'application/json\t',
    'application/json\ttrailing',
    ' application/json',
    '\tapplication/json',
    'application/json trailing',
    'application/json;',
    'application/json; charset=latin1',
    'application/json; charset=utf-8; x=y',
    'application/json; charset=utf-8 trailing',
    'application/json, text/plain',
    'application/vnd.api+json',
    'multipart/form-data; boundary=x',
    'application/x-www-form-urlencoded',
    'garbage',
    '',
  ])('refuses %j', async (type) => {
    const response = await post('{}', { 'content-type': type })
    expect(response.statusCode).toBe(415)
    expect(response.json().code).toBe('unsupported_media_type')
  })

  it('refuses a body without a type', async () => {
    const untyped = await app.inject({ method: 'POST', url: '/things', payload: 'x' })
    expect(untyped.statusCode).toBe(415)
  })

  it.each(['gzip', 'br', 'GZIP', 'identity, gzip', ''])(
    'says what to do about a body with the encoding %j',
    async (encoding) => {
      const response = await post(good, { 'content-encoding': encoding })
      expect(response.statusCode).toBe(415)
      expect(response.headers['accept-encoding']).toBe('identity')
      expect(response.json()).toMatchObject({
        code: 'unsupported_media_type',
        message:
          'Content-Encoding is not supported: send the body uncompressed, without this header',
      })
    },
  )

  it('accepts the encoding identity', async () => {
    expect((await post(good, { 'content-encoding': 'identity' })).statusCode).toBe(200)
  })

  it('never passes a body unchecked, whatever its type is', async () => {
    const part = fc.constantFrom(
      'application/json',
      ...[' ', '\t', ';', ',', '"', 'charset=utf-8', 'charset', '=', 'x', '/', 'text/plain'],
    )
    await fc.assert(
      fc.asyncProperty(fc.array(part, { maxLength: 6 }), async (parts) => {
        const response = await post('{"unknown":1}', { 'content-type': parts.join('') })
        expect([400, 415]).toContain(response.statusCode)
      }),
      { numRuns: 300 },
    )
  })
})

describe('500 and 503', () => {
  it('reveals nothing about a fault, and logs it with the request id', async () => {
    const response = await app.inject({ url: '/bug' })
    expect(response.statusCode).toBe(500)
    expect(response.json()).toEqual({
      success: false,
      message: 'Internal Server Error',
      code: 'internal_error',
      request_id: response.headers['x-request-id'],
    })
    const line = logged.find((text) => text.includes('request.failed') && text.includes('hunter2'))
    expect(line).toContain(response.json().request_id)
  })

  it('answers 503 with Retry-After while the database is away', async () => {
    const response = await app.inject({ url: '/away' })
    expect(response.statusCode).toBe(503)
    expect(Number(response.headers['retry-after'])).toBeGreaterThanOrEqual(1)
    expect(Number(response.headers['retry-after'])).toBeLessThanOrEqual(5)
    expect(response.body).not.toContain('secret-host')
    expect(response.json().code).toBe('unavailable')
  })
})

describe('observation', () => {
  it('logs one line for each request, without query, body or header values', async () => {
    logged.length = 0
    const response = await app.inject({
      method: 'POST',
      url: '/tenant?secret=1',
      headers: { authorization: 'Bearer key-all' },
      payload: good,
    })
    const lines = logged.filter((line) => line.includes('request.finished'))
    expect(lines).toHaveLength(1)
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({
      request_id: response.headers['x-request-id'],
      method: 'POST',
      route: '/tenant',
      status: 400,
      tenant_id: 'tn_1',
      key_id: 'key_1',
    })
    expect(lines[0]).not.toMatch(/secret|key-all|example/)
  })
})

describe('registration', () => {
  it('refuses a route that does not say who may call it', () => {
    const bare = createHttpApp({
      log: createLogger({ level: 'silent' }),
      metrics: createMetrics(),
      authenticateKey: () => undefined,
    })
    expect(() => bare.get('/x', () => ({}))).toThrow('route /x declares no config.auth')
  })

  it('answers 401 on admin routes when there is no admin token', async () => {
    const bare = createHttpApp({
      log: createLogger({ level: 'silent' }),
      metrics: createMetrics(),
      authenticateKey: () => undefined,
    })
    bare.get('/admin', { config: { auth: 'admin' } }, () => ({}))
    const headers = { authorization: 'Bearer undefined' }
    expect((await bare.inject({ url: '/admin', headers })).statusCode).toBe(401)
    await bare.close()
  })
})
