/**
 * getEmailContent and getRawEmail (docs/reference/sending.md#content) over the real HTTP application, with a
 * sender and a mail server.
 */
import { getEmailContentAnswer } from '@postrider/contract'
import { createConcurrencyLimiter } from '@postrider/runtime/concurrency-limiter'
import { Check } from 'typebox/value'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { accept, drain, useSending } from '../../../test/sender.ts'
import { addDomainMailer, addMailer, silent, trackingUrls } from '../../../test/sending.ts'
import { createHttpApp, type HttpApp } from '../../platform/http/app.ts'
import { createMetrics } from '../../platform/metrics.ts'
import { compress } from '../../platform/values/zstd.ts'
import { readSmall, type StoredContent } from '../record/stored-content.ts'
import { contentRoutes } from './routes.ts'

const world = useSending()
const KEYS = {
  a: { tenantId: 'tn_a', keyId: 'key_a', scopes: [] },
  b: { tenantId: 'tn_b', keyId: 'key_b', scopes: [] },
  reader: {
    tenantId: 'tn_a',
    keyId: 'key_r',
    scopes: ['read', 'send', 'webhooks', 'mailers', 'keys'],
  },
  content: { tenantId: 'tn_a', keyId: 'key_c', scopes: ['content'] },
} as const

let app: HttpApp
beforeEach(() => {
  app = createHttpApp({
    log: silent,
    metrics: createMetrics(),
    authenticateKey: (key) => KEYS[key as keyof typeof KEYS],
  })
  contentRoutes(app, {
    db: world.db,
    trackingUrls,
    limiter: createConcurrencyLimiter({
      name: 'contents',
      atOnceMax: 1,
      atOncePerCallerMax: 1,
      waitingPerCallerMax: 1,
    }),
  })
})
afterEach(() => app.close())

const get = (path: string, key = 'content') =>
  app.inject({
    method: 'GET',
    url: `/v1/email/${path}`,
    headers: { authorization: `Bearer ${key}` },
  })
async function contentOf(refId: string) {
  const response = await get(`${refId}/content`)
  expect(response.statusCode).toBe(200)
  expect(Check(getEmailContentAnswer, response.json())).toBe(true)
  return response.json().content
}
const rawOf = async (refId: string, email?: string) => {
  const query = email === undefined ? '' : `?email=${encodeURIComponent(email)}`
  return await get(`${refId}/raw${query}`)
}

const HTML = '<p>Hello <a href="https://a.example/x">you</a> %unsubscribe_url%</p>'
const tracked = {
  content: [
    { type: 'text/html' as const, value: HTML },
    { type: 'text/plain' as const, value: 'Hello you %unsubscribe_url%' },
  ],
  settings: { open_tracking: true, click_tracking: true, unsubscribe: true },
}

describe('getEmailContent', () => {
  it('shows what was accepted, without tracking, and attachments without their bytes', async () => {
    await addMailer(world.db)
    const files = ['', 'a', 'ab', 'abc', 'x'.repeat(200_000)].map((text, i) => ({
      filename: `f${i}.pdf`,
      content: Buffer.from(text).toString('base64'),
    }))
    const refId = await accept(world.db, {
      ...tracked,
      from: { email: 'news@example.com', name: 'Näws' },
      to: [{ email: 'ada@example.com', name: 'Ada "L"' }],
      cc: [{ email: 'bob@example.com' }],
      bcc: [{ email: 'hidden@example.com' }],
      replyTo: { email: 'help@example.com' },
      subject: 'Grüße',
      headers: { 'X-Order': '12' },
      attachments: [
        ...files,
        { filename: 'p.png', content: 'YWJj', disposition: 'inline', content_id: 'pic' },
      ],
    })
    const { attachments, ...content } = await contentOf(refId)
    expect(content).toEqual({
      ref_id: refId,
      created_at: expect.any(String),
      from: { email: 'news@example.com', name: 'Näws' },
      to: [{ email: 'ada@example.com', name: 'Ada "L"' }],
      cc: [{ email: 'bob@example.com', name: '' }],
      reply_to: { email: 'help@example.com', name: '' },
      subject: 'Grüße',
      parts: [
        { type: 'text/plain', value: 'Hello you %unsubscribe_url%' },
        { type: 'text/html', value: HTML },
      ],
      headers: [{ name: 'X-Order', value: '12' }],
      template_problem: null,
    })
    expect(attachments.map((one: { size: number }) => one.size)).toEqual([0, 1, 2, 3, 200_000, 3])
    expect(attachments[0]).toMatchObject({
      filename: 'f0.pdf',
      type: 'application/pdf',
      disposition: 'attachment',
      content_id: null,
    })
    expect(attachments[5]).toMatchObject({
      type: 'image/png',
      disposition: 'inline',
      content_id: 'pic',
    })
  })

  it('shows an email of one text, without attachments', async () => {
    await addMailer(world.db)
    const refId = await accept(world.db, {
      content: [{ type: 'text/plain', value: 'Hi \u2028 👋' }],
    })
    expect(await contentOf(refId)).toMatchObject({
      parts: [{ type: 'text/plain', value: 'Hi \u2028 👋' }],
      attachments: [],
      cc: [],
    })
  })
})

describe('getRawEmail', () => {
  it('is byte for byte what the mail server got, for each recipient', async () => {
    const server = await world.serve()
    await addMailer(world.db, { port: server.port })
    const refId = await accept(world.db, {
      ...tracked,
      to: [{ email: 'ada@example.com' }, { email: 'Eve@Example.com' }],
      bcc: [{ email: 'hidden@example.com' }],
      subject: 'Grüße',
      attachments: [
        { filename: 'a.bin', content: Buffer.alloc(300_000, 'abc').toString('base64') },
      ],
    })
    const early = (await rawOf(refId, 'ada@example.com')).rawPayload
    await drain(world.db, world.sender())
    const sent = server.messages.map(({ recipients, raw }) => [String(recipients[0]), raw] as const)
    expect(sent).toHaveLength(3)
    for (const [to, raw] of sent) {
      const response = await rawOf(refId, to.replace(/[<>]/g, ''))
      expect(response.statusCode).toBe(200)
      expect(response.headers).toMatchObject({
        'content-type': 'message/rfc822',
        'content-disposition': `attachment; filename="${refId}.eml"; filename*=UTF-8''${refId}.eml`,
        'content-length': String(response.rawPayload.length),
        'content-security-policy': "default-src 'none'; sandbox",
        'cache-control': 'private, no-store',
        'x-content-type-options': 'nosniff',
      })
      expect(response.rawPayload.equals(raw)).toBe(true)
      expect(response.payload).not.toContain('hidden@')
    }
    expect(sent.some(([, raw]) => raw.equals(early))).toBe(true)
  })

  it('needs no address where there is one recipient, and one of several where there are more', async () => {
    await addMailer(world.db)
    const one = await accept(world.db)
    expect((await rawOf(one)).statusCode).toBe(200)
    expect((await rawOf(one, 'ADA@example.com')).statusCode).toBe(200)
    const two = await accept(world.db, { cc: [{ email: 'bob@example.com' }] })
    for (const email of [undefined, 'nobody'])
      expect((await rawOf(two, email)).json()).toMatchObject({
        code: 'validation_failed',
        errors: [{ path: '/email' }],
      })
    const absent = await rawOf(two, 'eve@example.com')
    expect(absent.statusCode).toBe(404)
    expect(absent.json().message).toBe('The email has no such recipient')
  })

  it('writes the message of a sending domain as a mail server would get it', async () => {
    await addDomainMailer(world.db)
    const refId = await accept(world.db, { from: { email: 'news@example.com' } })
    const { payload } = await rawOf(refId)
    expect(payload).toContain(`Message-ID: <${refId}.0@example.com>\r\n`)
  })

  it('is 404 with the reason where a template could not be rendered', async () => {
    await addMailer(world.db)
    const refId = await accept(world.db)
    const { rows } = await world.db.query<StoredContent>(
      'select content, attachments from sending_content',
    )
    const [stored] = rows.map((row) => readSmall(row)(refId))
    if (stored === undefined) throw new Error('there is no email')
    const broken = JSON.stringify({ ...stored, templateProblem: 'no x' })
    const content = await compress(Buffer.from(`\n${refId} ${broken}`))
    await world.db.query('update sending_content set content = $1', [content])
    expect((await rawOf(refId)).json()).toMatchObject({
      code: 'not_found',
      message: 'There is no message: the template could not be rendered (no x)',
    })
    expect(await contentOf(refId)).toMatchObject({ template_problem: 'no x' })
  })
})

describe.each(['content', 'raw'])('the %s of an email', (what) => {
  it('is read with the scope content, not with others', async () => {
    await addMailer(world.db)
    const refId = await accept(world.db)
    const statusOf = async (key: string) => (await get(`${refId}/${what}`, key)).statusCode
    expect(await statusOf('content')).toBe(200)
    expect(await statusOf('a')).toBe(200)
    expect(await statusOf('reader')).toBe(403)
    expect(await statusOf('nobody')).toBe(401)
  })

  it('has the same 404 for another tenant, an unknown id, a malformed one and an old email', async () => {
    await addMailer(world.db)
    const refId = await accept(world.db)
    const refusals = [
      await get(`${refId}/${what}`, 'b'),
      await get(`01JD4M8W6ZQ3V5T7X9Y2A4C6E8/${what}`),
      await get(`x/${what}`),
    ]
    await world.db.query('delete from sending_email')
    await world.db.query('delete from sending_recipient')
    refusals.push(await get(`${refId}/${what}`))
    for (const { statusCode, ...response } of refusals) {
      expect(statusCode).toBe(404)
      expect(response.json()).toMatchObject({
        code: 'not_found',
        message: 'There is no such email, or it is gone: it is kept for POSTRIDER_RETENTION only',
      })
    }
  })

  it('is 410 when it was removed and the record is kept, and 404 for another tenant', async () => {
    await addMailer(world.db)
    const refId = await accept(world.db, { cc: [{ email: 'bob@example.com' }] })
    await world.db.query('delete from sending_content')
    const removed = await get(`${refId}/${what}?email=bob@example.com`)
    expect(removed.statusCode).toBe(410)
    expect(removed.json()).toMatchObject({
      code: 'content_removed',
      message: expect.stringContaining('POSTRIDER_CONTENT_RETENTION'),
    })
    expect((await get(`${refId}/${what}?email=eve@example.com`)).statusCode).toBe(404)
    expect((await get(`${refId}/${what}`, 'b')).statusCode).toBe(404)
  })

  it('is read by one call of a tenant at a time, and too many are 429', async () => {
    await addMailer(world.db)
    const refId = await accept(world.db)
    const answers = await Promise.all([1, 2, 3, 4].map(() => get(`${refId}/${what}`)))
    expect(answers.map(({ statusCode }) => statusCode).sort()).toEqual([200, 200, 429, 429])
  })
})
