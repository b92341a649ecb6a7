/** Received messages are had back byte for byte, by their own tenant, whatever is in them. */

import { createConcurrencyLimiter } from '@postrider/runtime/concurrency-limiter'
import type { FastifyInstance } from 'fastify'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { emptyTables } from '../../../test/empty-tables.ts'
import { rawMail, routeOf } from '../../../test/inbound.ts'
import { useInbound } from '../../../test/inbound-worker.ts'
import { silent } from '../../../test/sending.ts'
import { testLimiter } from '../../../test/webhook-api.ts'
import { createHttpApp } from '../../platform/http/app.ts'
import type { Person } from '../../platform/http/sessions/session.ts'
import { createMetrics } from '../../platform/metrics.ts'
import { inboundPreviewRoute } from './preview/routes.ts'
import { type InboundMessageRouteDeps, inboundMessageRoutes } from './routes.ts'

const world = useInbound()
let app: FastifyInstance
const opened: FastifyInstance[] = []

const A = 'tn_01ARZ3NDEKTSV4RRFFQ69G5FAV'
const B = 'tn_01ARZ3NDEKTSV4RRFFQ69G5FAW'
const person = (tenantId: string, content: boolean): Person => ({
  ...{ userId: 'usr_1', sessionId: 'ses_1', operatorRole: undefined, content: false },
  memberships: [{ tenantId, role: 'support', content }],
})
const PEOPLE: Readonly<Record<string, Person>> = {
  reads: person(A, true),
  lists: person(A, false),
  elsewhere: person(B, true),
}

async function open(change: Partial<InboundMessageRouteDeps> = {}): Promise<FastifyInstance> {
  const one = createHttpApp({
    log: silent,
    metrics: createMetrics(),
    authenticateKey: (key) => {
      if (key === 'sender') return { tenantId: 'tn_a', keyId: key, scopes: ['send'] }
      if (key === 'lister') return { tenantId: 'tn_a', keyId: key, scopes: ['read'] }
      if (key === 'reader') return { tenantId: 'tn_a', keyId: key, scopes: ['read', 'content'] }
      return key === 'b' ? { tenantId: 'tn_b', keyId: key, scopes: [] } : undefined
    },
    sessions: {
      cookieName: 'session',
      find: async (token) => PEOPLE[token],
      isOwnOrigin: () => true,
      hasTenant: async () => true,
    },
  })
  inboundPreviewRoute(one, {
    ...{ db: world.db, parser: world.parser, attachmentLimiter: testLimiter },
  })
  inboundMessageRoutes(one, {
    db: world.db,
    parser: world.parser,
    limiter: testLimiter,
    attachmentLimiter: testLimiter,
    publicUrl: 'https://post.example.com',
    ...change,
  })
  opened.push(one)
  await one.ready()
  return one
}

beforeEach(async () => {
  app = await open()
})
afterEach(async () => {
  for (const one of opened.splice(0)) await one.close()
})

/** As they are stored. */
const PIECE_BYTES = 512 * 1024

const get = (path: string, key = 'reader', on = app) =>
  on.inject({
    method: 'GET',
    url: `/v1/inbound/messages${path}`,
    headers: { authorization: `Bearer ${key}` },
  })

const withAttachments = (...parts: readonly (readonly [disposition: string, content: string])[]) =>
  rawMail({
    header: 'Content-Type: multipart/mixed; boundary=b\r\n',
    body: `${parts
      .map(
        ([disposition, content]) =>
          `--b\r\nContent-Type: text/html\r\nContent-Disposition: ${disposition}\r\nContent-Transfer-Encoding: base64\r\n\r\n${Buffer.from(content).toString('base64')}\r\n`,
      )
      .join('')}--b--\r\n`,
  })

describe('getRawInboundMessage', () => {
  it.each([
    ['a small one', 1_000],
    ['of exactly one piece', PIECE_BYTES],
    ['of two and a byte', 2 * PIECE_BYTES + 1],
  ])('answers the received bytes as a file: %s', async (_, length) => {
    const bytes = Buffer.alloc(length)
    rawMail().copy(bytes)
    for (let at = rawMail().length; at < length; at += 1) bytes[at] = at % 251
    const [id] = await world.receive({ raw: bytes })
    const answer = await get(`/${id}/raw`)
    expect(answer.statusCode).toBe(200)
    expect(answer.rawPayload.equals(bytes)).toBe(true)
    expect(answer.headers).toMatchObject({
      'content-type': 'message/rfc822',
      'content-length': String(bytes.length),
      'content-disposition': `attachment; filename="${id}.eml"; filename*=UTF-8''${id}.eml`,
      'x-content-type-options': 'nosniff',
      'content-security-policy': "default-src 'none'; sandbox",
    })
  })

  it('is refused when too many requests of its tenant wait, and cut when retention deletes the message', async () => {
    const [id] = await world.receive({ raw: Buffer.alloc(PIECE_BYTES + 1, 'a: b\n') })
    const full = createConcurrencyLimiter({
      name: 'full',
      atOnceMax: 0,
      atOncePerCallerMax: 1,
      waitingPerCallerMax: 0,
    })
    const refused = await get(`/${id}/raw`, 'reader', await open({ limiter: full }))
    expect(refused.statusCode).toBe(429)
    let reads = 0
    const losing = await open({
      limiter: {
        async run(_, work) {
          reads += 1
          if (reads === 2) await emptyTables(world.db, 'inbound_raw')
          return await work()
        },
      },
    })
    await expect(get(`/${id}/raw`, 'reader', losing)).rejects.toThrow()
  })
})

describe('a message whose content was removed', () => {
  it('is still listed, and its bytes and attachments are 410, or 404 for another tenant', async () => {
    const [id] = await world.receive({ raw: withAttachments(['attachment; filename=a', 'a']) })
    await world.worker().runOnce()
    await emptyTables(world.db, 'inbound_raw')
    const shown = await get(`/${id}`)
    expect(shown.json().inbound_message).toMatchObject({ inbound_id: id })
    for (const path of [`/${id}/raw`, `/${id}/attachments/0`]) {
      const removed = await get(path)
      expect(removed.statusCode).toBe(410)
      expect(removed.json()).toMatchObject({
        code: 'content_removed',
        message: expect.stringContaining('POSTRIDER_CONTENT_RETENTION'),
      })
      expect((await get(path, 'b')).statusCode).toBe(404)
    }
  })
})

describe('getInboundAttachment', () => {
  it('answers the content with a safe name and type', async () => {
    const raw = withAttachments(
      ["attachment; filename*=utf-8''%E2%82%AC%20rates.html", '<script>alert(1)</script>'],
      ['attachment; filename="../../etc/pass\\"wd"', 'two'],
      ['attachment', ''],
    )
    const [id] = await world.receive({ raw })
    const [euro, path, empty, none] = await Promise.all(
      [0, 1, 2, 3].map((n) => get(`/${id}/attachments/${n}`)),
    )
    expect(euro?.payload).toBe('<script>alert(1)</script>')
    expect(euro?.headers).toMatchObject({
      'content-type': 'application/octet-stream',
      'content-disposition':
        'attachment; filename="_ rates.html"; filename*=UTF-8\'\'%E2%82%AC%20rates.html',
      'x-content-type-options': 'nosniff',
    })
    expect(path?.payload).toBe('two')
    expect(path?.headers['content-disposition']).not.toMatch(/\/|\\|"[^;]*"[^;]*"/)
    expect(empty).toMatchObject({ statusCode: 200, payload: '' })
    expect(empty?.headers['content-disposition']).toContain('attachment-2')
    expect(none?.statusCode).toBe(404)
    for (const n of ['-1', 'x', '1.5'])
      expect((await get(`/${id}/attachments/${n}`)).statusCode).not.toBe(200)
  })

  it('is bounded in time, and frees its place', async () => {
    const [id] = await world.receive({
      raw: withAttachments(['attachment; filename=a', 'a'.repeat(9_000_000)]),
    })
    const one = createConcurrencyLimiter({
      name: 'one',
      atOnceMax: 1,
      atOncePerCallerMax: 1,
      waitingPerCallerMax: 10,
    })
    const on = await open({ attachmentLimiter: one, sendMsMax: 50 })
    await on.listen({ port: 0, host: '127.0.0.1' })
    const { port } = on.server.address() as { port: number }
    const fetchIt = () =>
      fetch(`http://127.0.0.1:${port}/v1/inbound/messages/${id}/attachments/0`, {
        headers: { authorization: 'Bearer reader' },
      })
    // Nobody reads it.
    const unread = await fetchIt()
    expect((await get(`/${id}/attachments/7`, 'reader', on)).statusCode).toBe(404)
    await expect(unread.text()).rejects.toThrow()
    const left = await fetchIt()
    await left.body?.cancel()
    expect((await get(`/${id}/attachments/7`, 'reader', on)).statusCode).toBe(404)
  })
})

describe('getInboundMessage and listInboundMessages', () => {
  it('show the state of each message, newest first', async () => {
    const [first] = await world.receive({ routes: [[routeOf({ username: 'sales' }), 'sales@x']] })
    await world.worker().runOnce()
    const second = await world.fetched({ mailerId: 'imap_1', folder: 'INBOX' })
    await world.receive({ routes: [[routeOf({ tenantId: 'tn_b' }), 'other@x']] })
    const { inbound_message } = (await get(`/${first}`)).json()
    expect(inbound_message).toEqual({
      inbound_id: first,
      state: 'reported',
      mailer_id: null,
      folder: null,
      domain: 'in.example.com',
      username: 'sales',
      from: { name: 'A', email: 'a@sender.example' },
      subject: 'Hello',
      authentication: { spf: 'none', dkim: 'none', dmarc: 'none' },
      bytes: rawMail().length,
      received_at: expect.stringMatching(/Z$/),
      reported_at: expect.stringMatching(/Z$/),
      problem: null,
      raw_url: `https://post.example.com/v1/inbound/messages/${first}/raw`,
    })
    const list = (await get('')).json()
    expect(list.inbound_messages).toMatchObject([
      {
        ...{ inbound_id: second, state: 'waiting', mailer_id: 'imap_1', domain: null },
        ...{ from: null, subject: null, authentication: null },
      },
      inbound_message,
    ])
    expect(list).not.toHaveProperty('nextPageToken')
    const page = (await get('?pageSize=1')).json()
    expect(page.inbound_messages).toMatchObject([{ inbound_id: second }])
    const next = (await get(`?pageSize=1&pageToken=${page.nextPageToken}`)).json()
    expect(next.inbound_messages).toEqual([inbound_message])
    expect(next).not.toHaveProperty('nextPageToken')
  })

  it('show the sender and the subject only to who may read the content of mail', async () => {
    const [id] = await world.receive()
    await world.worker().runOnce()
    const { authentication } = (await get(`/${id}`)).json().inbound_message
    const shown = { inbound_id: id, from: null, subject: null, authentication }
    expect((await get(`/${id}`, 'lister')).json().inbound_message).toMatchObject(shown)
    const listed = await get('', 'lister')
    expect(listed.json().inbound_messages).toMatchObject([shown])
    expect(listed.body).not.toMatch(/a@sender|Hello/i)
  })

  it('find one message by its id, and nothing by a malformed id', async () => {
    const [first = ''] = await world.receive()
    await world.receive({ raw: rawMail({ messageId: '<2@x>' }) })
    const found = (await get(`?inbound_id=${first}`)).json()
    expect(found.inbound_messages).toMatchObject([{ inbound_id: first }])
    expect(found).not.toHaveProperty('nextPageToken')
    const unknown = 'in_01JD4M8W6ZQ3V5T7X9Y2A4C6E8'
    for (const id of ['', 'x', first.slice(3), unknown, 'x'.repeat(500)]) {
      const answer = await get(`?inbound_id=${id}`)
      expect(answer.statusCode).toBe(200)
      expect(answer.json().inbound_messages).toEqual([])
    }
    expect((await get(`?inbound_id=${first}`, 'b')).json().inbound_messages).toEqual([])
  })
})

describe('messages of another tenant', () => {
  it('are not found, like unknown ones', async () => {
    const [id] = await world.receive({ raw: withAttachments(['attachment', 'secret']) })
    const paths = [`/${id}`, `/${id}/raw`, `/${id}/attachments/0`]
    for (const path of paths) expect((await get(path)).statusCode).toBe(200)
    const missing = 'in_01JD4M8W6ZQ3V5T7X9Y2A4C6E8'
    for (const path of [...paths, `/${missing}`, `/${missing}/raw`, '/in_x', '/x/raw']) {
      const answer = await get(path, 'b')
      expect(answer.statusCode).toBe(404)
      expect(answer.json()).toMatchObject({ code: 'not_found' })
    }
    expect((await get('', 'b')).json().inbound_messages).toEqual([])
    for (const path of ['', ...paths]) {
      expect((await get(path, 'sender')).statusCode).toBe(403)
      expect((await get(path, 'nobody')).statusCode).toBe(401)
    }
  })

  it('[contract 7.1] opens the content of mail to the scope content alone', async () => {
    const [inboundId] = await world.receive({ raw: withAttachments(['attachment', 'secret']) })
    for (const path of ['', `/${inboundId}`])
      expect((await get(path, 'lister')).statusCode).toBe(200)
    for (const path of [`/${inboundId}/raw`, `/${inboundId}/attachments/0`]) {
      const refused = await get(path, 'lister')
      expect(refused.statusCode).toBe(403)
      expect(refused.json().message).toContain('"content"')
    }
  })
})

describe('the preview of a received message', () => {
  const preview = (id: string | undefined, who: string, tenant = A) =>
    app.inject({
      method: 'GET',
      url: `/ui/api/v1/inbound/messages/${id}/preview?tenant=${tenant}`,
      headers: { cookie: `session=${who}` },
    })

  const routes = [[routeOf({ tenantId: A }), 'desk@x']] as const

  it('shows its HTML in a page that runs and loads nothing, or its text as text', async () => {
    const html = '<p>Hi</p><script>alert(1)</script>'
    const [ofHtml] = await world.receive({
      routes,
      raw: rawMail({ header: 'Content-Type: text/html\r\n', body: `<link rel=x>${html}` }),
    })
    const shown = await preview(ofHtml, 'reads')
    expect(shown.statusCode).toBe(200)
    expect(shown.payload).toContain(`<bgsound rel=x>${html}`)
    expect(shown.headers).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': expect.stringMatching(/^sandbox; default-src 'none'; /),
      'x-content-type-options': 'nosniff',
    })
    const [ofText] = await world.receive({
      routes,
      raw: rawMail({ messageId: '<t@x>', body: 'a < b & <script>\r\n' }),
    })
    expect((await preview(ofText, 'reads')).payload).toContain('a &lt; b &amp; &lt;script&gt;')
  })

  it('is for people with the permission content, each in the own tenant, and for no key', async () => {
    const [id] = await world.receive({ routes })
    expect((await preview(id, 'nobody')).statusCode).toBe(401)
    expect((await preview(id, 'lists')).statusCode).toBe(403)
    expect((await preview(id, 'elsewhere')).statusCode).toBe(403)
    expect((await preview(id, 'elsewhere', B)).statusCode).toBe(404)
    expect((await preview('in_x', 'reads')).statusCode).toBe(404)
    expect((await get(`/${id}/preview`)).statusCode).toBe(404)
  })
})
