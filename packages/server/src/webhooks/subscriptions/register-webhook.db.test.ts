import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { registerWebhookAnswer } from '@postrider/contract'
import { createConcurrencyLimiter } from '@postrider/runtime/concurrency-limiter'
import { createWebhookReceiver, type WebhookReceiver } from '@postrider/testkit'
import { Check } from 'typebox/value'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { createWebhookApi, testKeyRing, type WebhookApi } from '../../../test/webhook-api.ts'
import { createEgress } from '../../platform/egress/index.ts'
import { refusedHosts, unreadableHosts } from '../../platform/egress/refused-hosts.fixture.ts'
import { createRateLimit } from '../../platform/limits/rate-limit.ts'
import { failureDelayMs } from './check-receiver.ts'
import { openHeaders } from './custom-headers.ts'

const pem = (name: string) =>
  readFileSync(new URL(`../../../../testkit/certs/${name}`, import.meta.url), 'utf8')

let api: WebhookApi
let receiver: WebhookReceiver
let secure: WebhookReceiver

beforeAll(async () => {
  api = await createWebhookApi()
  receiver = await createWebhookReceiver()
  secure = await createWebhookReceiver({
    tls: { key: pem('localhost.key'), cert: pem('localhost.pem') },
  })
})
afterEach(() => api.clear())
afterAll(async () => {
  await api.close()
  await receiver.close()
  await secure.close()
})

const email = (change: object = {}) => ({
  webhook_url: `${receiver.origin}/hook`,
  event: 'EMAIL_EVENT',
  method: 'POST',
  webhook_options: { events: { delivery: true } },
  ...change,
})
const domain = (change: object = {}) => ({
  webhook_url: `${receiver.origin}/domains`,
  event: 'DOMAIN_VERIFICATION',
  method: 'POST',
  ...change,
})
const headers = (given: object) => email({ headers: given })

/** Nothing stands in the database after a refusal. */
async function refusal(body: object | string, key?: string) {
  const answer = await api.register(body, key)
  expect(await api.stored()).toBeUndefined()
  expect(await api.stored('tn_a', 'DOMAIN_VERIFICATION')).toBeUndefined()
  expect(answer.body).toMatchObject({ success: false, request_id: expect.any(String) })
  return answer
}
async function refusedPaths(body: object | string) {
  const { status, body: answer } = await refusal(body)
  expect({ status, code: answer.code }).toEqual({ status: 400, code: 'validation_failed' })
  return answer.errors?.map((error) => error.path)
}

describe('registerWebhook: 201', () => {
  it('[4.1] says that the webhook was created, and names it', async () => {
    const answer = await api.register(email())
    expect(answer.status).toBe(201)
    expect(answer.body).toEqual({
      success: true,
      message: 'Webhook Created',
      webhook_id: expect.stringMatching(/^wh_[0-9A-HJKMNP-TV-Z]{26}$/),
    })
    expect(Check(registerWebhookAnswer, answer.body)).toBe(true)
    expect(await api.stored()).toMatchObject({
      webhook_id: answer.body.webhook_id,
      url: `${receiver.origin}/hook`,
      active: true,
    })
  })

  it('[2.2] stores the given switches, and every other one as false', async () => {
    await api.register(
      email({ webhook_options: { events: { smtp_error: true, phishing: true, open: false } } }),
    )
    const stored = await api.stored()
    expect(stored?.options).toEqual({
      delivery: false,
      open: false,
      click: false,
      bounce: false,
      spam: false,
      unsubscribe: false,
      policy_rejection: false,
      generation_failure: false,
      generation_rejection: false,
      smtp_error: true,
      phishing: true,
      imap_error: false,
    })
  })

  it.each([
    'delivery',
    'open',
    'click',
    'bounce',
    'spam',
    'unsubscribe',
    'policy_rejection',
    'generation_failure',
    'generation_rejection',
    'smtp_error',
  ])('[4.1.1] accepts the core event %s alone', async (key) => {
    const answer = await api.register(email({ webhook_options: { events: { [key]: true } } }))
    expect(answer.status).toBe(201)
  })

  it('[4.1.2] registers DOMAIN_VERIFICATION without options', async () => {
    expect(await api.register(domain())).toMatchObject({ status: 201 })
    expect(await api.stored('tn_a', 'DOMAIN_VERIFICATION')).toMatchObject({ options: null })
  })

  it('[2.1] registers one webhook of each event type for a tenant', async () => {
    expect((await api.register(email())).status).toBe(201)
    expect((await api.register(domain())).status).toBe(201)
    expect((await api.list()).body.webhooks).toHaveLength(2)
  })

  it('registers the same URL and event type for another tenant', async () => {
    expect((await api.register(email())).status).toBe(201)
    expect((await api.register(email(), 'b')).status).toBe(201)
  })

  it('accepts a key with the scope webhooks', async () => {
    expect((await api.register(email(), 'webhooks')).status).toBe(201)
  })

  it('connects once, and sends nothing', async () => {
    const server = createServer()
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const ended = once(server, 'connection').then(async ([socket]: Socket[]) => {
      await once(socket?.resume() ?? server, 'close')
      return socket?.bytesRead
    })
    const { port } = server.address() as AddressInfo
    const answer = await api.register(email({ webhook_url: `http://127.0.0.1:${port}/` }))
    expect(answer.status).toBe(201)
    expect(await ended).toBe(0)
    server.close()
    await once(server, 'close')
  })

  it('speaks TLS to an https URL, with its host name', async () => {
    const url = `https://hooks.example.test:${secure.port}/hook?a=b`
    expect((await api.register(email({ webhook_url: url }))).status).toBe(201)
    expect(await api.stored()).toMatchObject({ url })
    expect(secure.requests).toEqual([])
  })

  it('stores headers in their spelling and order, sealed for this webhook', async () => {
    const given = { 'X-Secret': 'canary-header', 'a-Second': '', Authorization: 'Bearer canary-2' }
    const { body } = await api.register(headers(given))
    const sealed = (await api.stored())?.headers_sealed ?? ''
    expect(sealed).not.toContain('canary')
    const owner = { tenantId: 'tn_a', webhookId: String(body.webhook_id) }
    expect(openHeaders(testKeyRing, owner, sealed)).toEqual(Object.entries(given))
    expect(() => openHeaders(testKeyRing, { ...owner, webhookId: 'wh_other' }, sealed)).toThrow()
    expect(() => openHeaders(testKeyRing, { ...owner, tenantId: 'tn_b' }, sealed)).toThrow()
  })

  it('accepts twenty headers of 4 KiB each', async () => {
    const given = Object.fromEntries(
      Array.from({ length: 20 }, (_, i) => {
        const name = `X-Header-${i}`
        return [name, 'v'.repeat(4096 - name.length)]
      }),
    )
    expect((await api.register(headers(given))).status).toBe(201)
  })

  it('accepts one of many concurrent registrations, and answers 409 to the others', async () => {
    const answers = await Promise.all(Array.from({ length: 8 }, () => api.register(email())))
    expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array(7).fill(409)])
    const { rows } = await api.database.db.query('select 1 from webhooks_stream')
    expect(rows).toHaveLength(1)
  })
})

describe('registerWebhook: 400', () => {
  it.each([
    ['/webhook_url', { webhook_url: undefined }],
    ['/webhook_url', { webhook_url: '' }],
    ['/webhook_url', { webhook_url: 7 }],
    ['/webhook_url', { webhook_url: 'hooks.example.com/x' }],
    ['/webhook_url', { webhook_url: 'https://' }],
    ['/webhook_url', { webhook_url: 'https://a b.example.com/' }],
    ['/webhook_url', { webhook_url: ' https://hooks.example.com/' }],
    ['/webhook_url', { webhook_url: 'https://hooks.example.com/\r\nX: y' }],
    ['/webhook_url', { webhook_url: `https://hooks.example.com/${'x'.repeat(2048)}` }],
    ['/webhook_url', { webhook_url: 'https://hooks.example.test:0/' }],
    ['/webhook_url', { webhook_url: 'https://hooks.example.test:22/' }],
    ['/webhook_url', { webhook_url: 'https://hooks.example.test:25/' }],
    ['/webhook_url', { webhook_url: 'https://hooks.example.test:5432/' }],
    ['/webhook_url', { webhook_url: 'https://hooks.example.test:6379/' }],
    ['/webhook_url', { webhook_url: 'https://hooks.example.test:6667/' }],
    ['/event', { event: undefined }],
    ['/event', { event: 'INCOMING_EMAIL' }],
    ['/event', { event: 'email_event' }],
    ['/method', { method: undefined }],
    ['/method', { method: 'PUT' }],
    ['/method', { method: 'post' }],
    ['/headers', { headers: ['X-Secret'] }],
    ['/headers', { headers: ['X-Secret'] }],
    ['/headers/X-Number', { headers: { 'X-Number': 7 } }],
    ['/webhook_options', { webhook_options: true }],
    ['/webhook_options/filters', { webhook_options: { filters: {} } }],
    ['/webhook_options/events', { webhook_options: { events: ['delivery'] } }],
    ['/webhook_options/events/delivery', { webhook_options: { events: { delivery: 'true' } } }],
    ['/webhook_options/events/opened', { webhook_options: { events: { opened: true } } }],
    ['/active', { active: true }],
    ['/webhook_id', { webhook_id: 'wh_1' }],
  ])('names the invalid field: %s in %j', async (path, change) => {
    expect(await refusedPaths(email(change))).toEqual([path])
  })

  it('names all invalid fields at once', async () => {
    const paths = await refusedPaths({ event: 'X', method: 'GET', other: 1 })
    expect(paths?.sort()).toEqual(['/event', '/method', '/other', '/webhook_url'])
  })

  it('[4.1.1] refuses no event at all, and phishing and imap_error alone', async () => {
    const none = { phishing: true, imap_error: true, delivery: false }
    for (const options of [undefined, {}, { events: {} }, { events: none }]) {
      const { status, body } = await refusal(email({ webhook_options: options }))
      expect({ status, code: body.code, message: body.message }).toEqual({
        status: 400,
        code: 'at_least_one_event_required',
        message: 'at least one of webhook_options.events must be true for EMAIL_EVENT',
      })
    }
  })

  it('[4.1.2] accepts empty options for DOMAIN_VERIFICATION', async () => {
    expect((await api.register(domain({ webhook_options: {} }))).status).toBe(201)
  })

  it('[4.1.2] refuses events for DOMAIN_VERIFICATION, also an empty object', async () => {
    for (const options of [{ events: { delivery: true } }, { events: {} }]) {
      const { status, body } = await refusal(domain({ webhook_options: options }))
      expect({ status, code: body.code, message: body.message }).toEqual({
        status: 400,
        code: 'events_not_allowed',
        message: 'invalid webhook_options.events for DOMAIN_VERIFICATION',
      })
    }
  })

  it.each([
    'Host',
    'content-length',
    'Content-Type',
    'Transfer-Encoding',
    'connection',
    'TE',
    'Trailer',
    'upgrade',
    'Expect',
    'Keep-Alive',
    'traceparent',
    'TraceState',
    'Proxy-Authorization',
    'proxy-anything',
  ])('refuses the reserved header name %s', async (name) => {
    expect(await refusedPaths(headers({ [name]: 'x' }))).toEqual([`/headers/${name}`])
  })

  it('refuses header names and values that cannot be sent', async () => {
    const given = {
      '': 'x',
      'X Y': 'x',
      'X:Y': 'x',
      'X/Y~Z': 'x',
      Näme: 'x',
      'X-Break': 'a\r\nHost: evil',
      'X-Tab': '\ta',
      'X-End': 'a ',
      'X-Umlaut': 'ä',
      'X-Big': 'x'.repeat(4097),
      'X-Good': 'fine\tvalue',
      'x-good': 'twice',
    }
    expect(await refusedPaths(headers(given))).toEqual([
      '/headers/',
      '/headers/X Y',
      '/headers/X:Y',
      '/headers/X~1Y~0Z',
      '/headers/Näme',
      '/headers/X-Break',
      '/headers/X-Tab',
      '/headers/X-End',
      '/headers/X-Umlaut',
      '/headers/X-Big',
      '/headers/x-good',
    ])
  })

  it('refuses more than twenty headers', async () => {
    const given = Object.fromEntries(Array.from({ length: 21 }, (_, i) => [`X-${i}`, 'x']))
    expect(await refusedPaths(headers(given))).toEqual(['/headers'])
  })

  it.each([
    'ftp://hooks.example.test/',
    'mailto:hooks@example.test',
    'https://user@hooks.example.test/',
    'https://user:secret@hooks.example.test/',
    'https://@hooks.example.test/',
    'https://:@hooks.example.test/',
    'https:\\\\@hooks.example.test/',
    'https:@hooks.example.test/',
    'https://internal.example.test/',
    'https://both.example.test/',
    'https://10.0.0.1/',
    'https://169.254.169.254/latest/meta-data',
    'https://[::1]/',
    'https://[::ffff:10.0.0.1]/',
    'https://0x0a000001/',
  ])('refuses a URL with url_not_allowed: %s', async (url) => {
    const { status, body } = await refusal(email({ webhook_url: url }))
    expect({ status, code: body.code }).toEqual({ status: 400, code: 'url_not_allowed' })
    expect(JSON.stringify(body)).not.toMatch(/10\.1\.2\.3|10\.0\.0\.1|169\.254/)
  })

  it('refuses a fragment, which no request carries', async () => {
    for (const webhook_url of ['https://hooks.example.test/#x', 'https://hooks.example.test/#'])
      expect(await refusal(email({ webhook_url }))).toMatchObject({
        status: 400,
        body: { code: 'validation_failed', errors: [{ path: '/webhook_url' }] },
      })
  })

  describe.each(Object.entries(refusedHosts))('refuses a host that is %s', (_, hosts) => {
    let strict: WebhookApi
    const egress = createEgress({ allowNetworks: [] })
    beforeAll(async () => {
      strict = await createWebhookApi({ egress })
    })
    afterAll(async () => {
      await strict.close()
      await egress.close()
    })
    it.each(hosts)('refuses %s without a connection', async (host) => {
      const webhook_url = `http://${host}:${receiver.port}/`
      const before = receiver.connections
      const { status, body } = await strict.register(email({ webhook_url }))
      expect({ status, code: body.code }).toEqual({ status: 400, code: 'url_not_allowed' })
      expect(receiver.connections).toBe(before)
    })
  })

  it('refuses a malformed host', async () => {
    for (const host of unreadableHosts) {
      const { status } = await refusal(email({ webhook_url: `https://${host}:8443/` }))
      expect(status).toBeGreaterThanOrEqual(400)
    }
  })

  it('refuses a name whose address changes to a forbidden one after the check', async () => {
    const answers = ['127.0.0.1', '10.1.2.3']
    const egress = createEgress({
      allowNetworks: ['127.0.0.0/8'],
      lookup: async () => [{ address: answers.shift() ?? '', family: 4 }],
    })
    const rebound = await createWebhookApi({ egress })
    const url = `http://hooks.example.test:${receiver.port}/`
    const answer = await rebound.register(email({ webhook_url: url }))
    expect(answer).toMatchObject({ status: 400, body: { code: 'url_not_allowed' } })
    expect(answers).toEqual([])
    await rebound.close()
    await egress.close()
  })

  it('refuses http unless the operator allows it', async () => {
    const strict = await createWebhookApi({ allowHttp: false })
    const answer = await strict.register(email())
    expect(answer).toMatchObject({ status: 400, body: { code: 'url_not_allowed' } })
    await strict.close()
  })

  it('refuses a body that is no JSON object', async () => {
    for (const text of ['', '{', '{"event":}', '\u0000'])
      expect(await refusal(text)).toMatchObject({ status: 400, body: { code: 'invalid_json' } })
    for (const text of ['null', '[]', '"EMAIL_EVENT"'])
      expect(await refusal(text)).toMatchObject({
        status: 400,
        body: { code: 'validation_failed' },
      })
  })

  it('refuses a query parameter', async () => {
    const answer = await api.call('POST', '/v1/webhook/register?dry=1', { payload: email() })
    expect(answer).toMatchObject({ status: 400, body: { errors: [{ path: '/dry' }] } })
  })
})

describe('registerWebhook: 401', () => {
  it('refuses a request without a key, and with an unknown key', async () => {
    for (const key of ['', 'nobody']) {
      const answer = await refusal(email(), key)
      expect(answer).toMatchObject({ status: 401, body: { code: 'unauthorized' } })
      expect(answer.headers['www-authenticate']).toBe('Bearer')
    }
  })

  it('is answered before anything about the body', async () => {
    expect((await refusal('{', 'nobody')).status).toBe(401)
  })
})

describe('registerWebhook: 403', () => {
  it.each(['reader', 'sender'])('refuses a key of another scope: %s', async (key) => {
    const answer = await refusal(email(), key)
    expect(answer).toMatchObject({ status: 403, body: { code: 'forbidden' } })
  })
})

describe('registerWebhook: 409', () => {
  it('[4.1.3] refuses an event type that is registered already, and changes nothing', async () => {
    await api.register(email())
    const before = await api.stored()
    const { status, body } = await api.register(email({ webhook_url: `${receiver.origin}/other` }))
    expect({ status, code: body.code, message: body.message }).toEqual({
      status: 409,
      code: 'webhook_exists',
      message: 'Webhook Already Exists',
    })
    expect(await api.stored()).toEqual(before)
  })

  it('refuses an event type whose webhook is inactive', async () => {
    await api.register(email())
    await api.update({ event: 'EMAIL_EVENT', active: false })
    expect((await api.register(email())).status).toBe(409)
  })
})

describe('registerWebhook: 413', () => {
  it('refuses a body of more than 1 MiB', async () => {
    const answer = await refusal(JSON.stringify(email({ webhook_url: 'x'.repeat(1_100_000) })))
    expect(answer).toMatchObject({ status: 413, body: { code: 'payload_too_large' } })
  })
})

describe('registerWebhook: 415', () => {
  it('refuses another content type', async () => {
    const answer = await api.call('POST', '/v1/webhook/register', {
      payload: 'event=EMAIL_EVENT',
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
    })
    expect(answer).toMatchObject({ status: 415, body: { code: 'unsupported_media_type' } })
  })
})

describe('registerWebhook: 422', () => {
  it('[7] refuses a URL that cannot be connected to in the same words for every cause', async () => {
    const closed = await createWebhookReceiver()
    await closed.close()
    const urls = [
      `${closed.origin}/refused`,
      'https://nowhere.example.test/',
      `https://hooks.example.test:${receiver.port}/no-tls`,
      `https://127.0.0.2:${secure.port}/nobody-listens`,
    ]
    const messages = new Set<unknown>()
    for (const url of urls) {
      const { status, body } = await refusal(email({ webhook_url: url }))
      expect({ status, code: body.code }).toEqual({ status: 422, code: 'url_unreachable' })
      messages.add(body.message)
    }
    expect(messages.size).toBe(1)
  })

  it('does not reveal the cause by status, headers, body, log or time', async () => {
    const silent = createServer((socket) => socket.on('error', () => socket.destroy()))
    const resetting = createServer((socket) => socket.resetAndDestroy())
    const greeting = createServer((socket) => socket.end('220 ready\r\n'))
    const servers = [silent, resetting, greeting]
    for (const server of servers) server.listen(0, '127.0.0.1')
    await Promise.all(servers.map((server) => once(server, 'listening')))
    const portOf = (server: Server) => (server.address() as AddressInfo).port
    const closed = await createWebhookReceiver()
    await closed.close()
    const waits: number[] = []
    const quick = await createWebhookApi({
      connectTimeoutMs: 1_500,
      wait: async (ms) => waits.push(ms),
    })
    const urls = [
      `https://127.0.0.1:${closed.port}/`,
      `https://hooks.example.test:${closed.port}/`,
      `https://127.0.0.1:${portOf(silent)}/`,
      `https://127.0.0.1:${portOf(resetting)}/`,
      `https://127.0.0.1:${portOf(greeting)}/`,
      `https://127.0.0.1:${receiver.port}/`,
      `https://nowhere.example.test:${secure.port}/`,
    ]
    const answers = new Set<string>()
    for (const url of urls) {
      const { status, headers: given, body } = await quick.register(email({ webhook_url: url }))
      const { 'x-request-id': _, date: __, ...shown } = given
      const { request_id: ___, ...said } = body
      answers.add(JSON.stringify({ status, shown, said }))
    }
    expect([...answers]).toHaveLength(1)
    expect([...answers][0]).toContain('"status":422')
    expect(quick.seen.filter((text) => /ECONN|ETIMEDOUT|ENOTFOUND|ERR_|Egress/.test(text))).toEqual(
      [],
    )
    expect(waits).toHaveLength(urls.length)
    await quick.close()
    for (const server of servers) server.close()
  })

  it('is answered at a fixed time, not when the cause is known', async () => {
    const waiting = Promise.withResolvers<void>()
    const time = Promise.withResolvers<void>()
    const patient = await createWebhookApi({
      wait: () => {
        waiting.resolve()
        return time.promise
      },
    })
    const unresolved = email({ webhook_url: 'https://nowhere.example.test/' })
    let isAnswered = false
    const answer = patient.register(unresolved).finally(() => {
      isAnswered = true
    })
    await waiting.promise
    await patient.list()
    expect(isAnswered).toBe(false)
    time.resolve()
    expect((await answer).status).toBe(422)
    await patient.close()
  })

  it.each([
    [0, 1_000],
    [400, 600],
    [999.5, 0.5],
    [1_000, 4_000],
    [4_990, 10],
    [5_020, 0],
  ])('delays the answer to a failure after %d ms by %d ms', (elapsedMs, delayMs) => {
    expect(failureDelayMs(elapsedMs, 5_000)).toBeCloseTo(delayMs)
  })

  it('refuses a certificate that is not valid for the host', async () => {
    const expired = await createWebhookReceiver({
      tls: { key: pem('expired.key'), cert: pem('expired.pem') },
    })
    const url = `https://hooks.example.test:${expired.port}/`
    expect((await refusal(email({ webhook_url: url }))).status).toBe(422)
    await expired.close()
  })
})

describe('registerWebhook: 429', () => {
  const limited = (usesMax: number) =>
    createWebhookApi({ limit: createRateLimit({ name: 'checks', usesMax, windowS: 60 }) })

  it('[contract 2] refuses more failed checks than a tenant may make, and says when to try again', async () => {
    const other = await limited(3)
    const closed = await createWebhookReceiver()
    await closed.close()
    const attempt = (key?: string) => other.register(email({ webhook_url: closed.origin }), key)
    for (let i = 0; i < 3; i += 1) expect((await attempt()).status).toBe(422)
    const { status, headers: given, body } = await attempt()
    expect({ status, code: body.code }).toEqual({ status: 429, code: 'rate_limited' })
    const seconds = String(given['retry-after'])
    expect(seconds).toMatch(/^[1-9]\d?$/)
    expect(given['ratelimit-policy']).toBe('"checks";q=3;w=60')
    expect(given.ratelimit).toBe(`"checks";r=0;t=${seconds}`)
    expect((await attempt('b')).status).toBe(422)
    expect((await other.list()).status).toBe(200)
    await other.close()
  })

  it('counts neither checks without a connection nor successful ones', async () => {
    const other = await limited(1)
    for (const webhook_url of [
      'nonsense',
      `${receiver.origin.replace(/\d+$/, '25')}/`,
      'https://10.0.0.1/',
      'https://[::1]/',
      'ftp://hooks.example.test/',
    ])
      expect((await other.register(email({ webhook_url }))).status).toBe(400)
    expect((await other.register(email())).status).toBe(201)
    expect((await other.register(email())).status).toBe(409)
    expect((await other.register(domain())).status).toBe(201)
    await other.close()
  })

  it.each(['https://nowhere.example.test/', 'https://internal.example.test/'])(
    'counts %s before its name is looked up',
    async (webhook_url) => {
      const other = await limited(1)
      expect([400, 422]).toContain((await other.register(email({ webhook_url }))).status)
      other.lookedUp.length = 0
      expect((await other.register(email({ webhook_url }))).status).toBe(429)
      expect(other.lookedUp).toEqual([])
      await other.close()
    },
  )

  it('bounds concurrent and waiting checks', async () => {
    const answers = Promise.withResolvers<void>()
    const other = await createWebhookApi({
      limiter: createConcurrencyLimiter({
        name: 'checks-at-once',
        atOnceMax: 2,
        atOncePerCallerMax: 1,
        waitingPerCallerMax: 1,
      }),
      wait: () => answers.promise,
    })
    const webhook_url = 'https://nowhere.example.test/'
    const status = async (key: string) => (await other.register(email({ webhook_url }), key)).status
    const asked = ['a', 'a', 'a', 'b'].map(status)
    expect(await Promise.race(asked)).toBe(429)
    answers.resolve()
    const statuses = await Promise.all(asked)
    expect(statuses.slice(0, 3).sort()).toEqual([422, 422, 429])
    expect(statuses[3]).toBe(422)
    await other.close()
  })
})

describe('registerWebhook', () => {
  it('checks shape and rules first, then registration, address, connection', async () => {
    const closed = await createWebhookReceiver()
    await closed.close()
    const unreachable = `${closed.origin}/`
    const refused = 'https://10.0.0.1/'
    const code = async (change: object) => (await api.register(email(change))).body.code
    expect(await code({ webhook_url: refused, webhook_options: {} })).toBe(
      'at_least_one_event_required',
    )
    expect(await code({ webhook_url: refused })).toBe('url_not_allowed')
    expect(await code({ webhook_url: unreachable })).toBe('url_unreachable')
    await api.register(email())
    expect(await code({ webhook_url: unreachable })).toBe('webhook_exists')
    expect(await code({ webhook_url: refused })).toBe('webhook_exists')
    expect(await code({ webhook_url: refused, headers: { Host: 'x' } })).toBe('validation_failed')
    expect(await code({ webhook_options: {} })).toBe('at_least_one_event_required')
  })
})

it('writes no header value into any answer or log line', async () => {
  const value = 'canary-value-1'
  await api.register(headers({ 'X-Secret': value }))
  await api.register(headers({ 'X-Secret': value }))
  await api.update({ event: 'EMAIL_EVENT', headers: { 'X-Secret': value, Host: value } })
  await api.register(headers({ 'X-Bad': `${value}\n` }), 'b')
  await api.register(headers({ 'X-Bad': value, host: value }), 'b')
  await api.list()
  expect(api.seen.length).toBeGreaterThan(10)
  expect(api.seen.filter((text) => text.includes(value))).toEqual([])
})
