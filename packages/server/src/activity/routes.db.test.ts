/**
 * getEmailLogs and the trace (docs/reference/sending.md#trace) over the real HTTP application, of mail really
 * sent.
 */
import {
  type EmailLog,
  getEmailAnswer,
  getEmailLogsAnswer,
  type TracedEmail,
} from '@postrider/contract'
import { createConcurrencyLimiter } from '@postrider/runtime/concurrency-limiter'
import type { FastifyInstance } from 'fastify'
import { Check } from 'typebox/value'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { emptyTables } from '../../test/empty-tables.ts'
import { accept, drain, eventsOf, TRACEPARENT, useSending } from '../../test/sender.ts'
import { addMailer, cancelEmail, silent, unsubscribe } from '../../test/sending.ts'
import type { Db } from '../platform/db/index.ts'
import { createHttpApp } from '../platform/http/app.ts'
import { timeOfUlid } from '../platform/ids.ts'
import { createMetrics } from '../platform/metrics.ts'
import { activityRoutes } from './routes.ts'

const world = useSending()
const KEYS = {
  a: { tenantId: 'tn_a', keyId: 'key_a', scopes: [] },
  b: { tenantId: 'tn_b', keyId: 'key_b', scopes: [] },
  reader: { tenantId: 'tn_a', keyId: 'key_r', scopes: ['read'] },
  sender: { tenantId: 'tn_a', keyId: 'key_s', scopes: ['send'] },
} as const

let app: FastifyInstance
beforeEach(async () => {
  await emptyTables(world.db, 'suppressions_address')
  app = serve(world.db)
})

function serve(db: Db): FastifyInstance {
  const served = createHttpApp({
    log: silent,
    metrics: createMetrics(),
    authenticateKey: (key) => KEYS[key as keyof typeof KEYS],
  })
  const limiter = createConcurrencyLimiter({
    name: 'reads',
    atOnceMax: 2,
    atOncePerCallerMax: 2,
    waitingPerCallerMax: 4,
  })
  const exportLimiter = createConcurrencyLimiter({
    name: 'exports',
    atOnceMax: 4,
    atOncePerCallerMax: 2,
    waitingPerCallerMax: 0,
  })
  const clock = { now: () => new Date() }
  const readTenant = () => Promise.reject(new Error('usage.db.test.ts has it'))
  activityRoutes(served, { db, clock, limiter, exportLimiter, readTenant, exportPageSize: 2 })
  return served
}

async function get(path: string, key: keyof typeof KEYS = 'a') {
  const headers = { authorization: `Bearer ${key}` }
  const response = await app.inject({ method: 'GET', url: path, headers })
  return { status: response.statusCode, body: response.json() }
}

async function logs(query = '', key?: keyof typeof KEYS): Promise<EmailLog[]> {
  const { status, body } = await get(`/v1/email/logs${query}`, key)
  expect({ status, body, isRight: Check(getEmailLogsAnswer, body) }).toMatchObject({
    status: 200,
    isRight: true,
  })
  return body.logs
}

async function trace(refId: string, query = ''): Promise<TracedEmail> {
  const { status, body } = await get(`/v1/email/${refId}${query}`)
  expect({ status, body, isRight: Check(getEmailAnswer, body) }).toMatchObject({
    status: 200,
    isRight: true,
  })
  return body.email
}

/** To one who is served, one who is refused for good, and one who is put off once. */
async function sendMixed() {
  let isPutOff = false
  const server = await world.serve((now) => {
    if (now.phase !== 'rcpt') return undefined
    if (now.recipient?.startsWith('bob@')) return '550 5.1.1 no such user'
    if (!now.recipient?.startsWith('carol@') || isPutOff) return undefined
    isPutOff = true
    return '450 4.2.0 later'
  })
  const { mailerId } = await addMailer(world.db, { port: server.port })
  const refId = await accept(world.db, {
    to: [{ email: 'Ada@example.com' }, { email: 'bob@example.com' }],
    bcc: [{ email: 'carol@example.com' }],
    campaign_id: 'spring',
    custom_args: { order: 17 },
  })
  await drain(world.db, world.sender())
  return { refId, mailerId }
}

describe('listLogs', () => {
  it("finds a server's words by those of another mail, and by their group", async () => {
    let n = 76
    const server = await world.serve((now) => {
      n += 1
      return now.phase === 'rcpt' ? `554 odd box <${now.recipient}>, id ${n}` : undefined
    })
    await addMailer(world.db, { port: server.port })
    await accept(world.db, { to: [{ email: 'ada@example.com' }, { email: 'bob@example.com' }] })
    await drain(world.db, world.sender())
    const found = async (reason: string) =>
      (await logs(`?failedReason=${encodeURIComponent(reason)}`)).map(({ email }) => email)
    const both = ['bob@example.com', 'ada@example.com']
    const [one] = await logs()
    expect(await found(one?.failed_reason ?? '')).toEqual(both)
    expect(await found('554 odd box <eve@example.net>, id 1')).toEqual(both)
    expect(await found('554 odd box <address> id #')).toEqual(both)
    expect(await found('554 odd box')).toEqual([])
  })

  it('[3.6] shows the state of each recipient', async () => {
    const { refId, mailerId } = await sendMixed()
    const own = {
      ref_id: refId,
      from: 'news@example.com',
      subject: 'Hello',
      mailer_id: mailerId,
      campaign_id: 'spring',
      opens: 0,
      clicks: 0,
      created_at: timeOfUlid(refId).toISOString(),
      test: false,
    }
    const isTime = expect.stringMatching(/^20\d\d-.*\.\d{3}Z$/)
    expect(await logs()).toEqual([
      {
        ...own,
        email: 'carol@example.com',
        recipient_type: 'bcc',
        status: 'delivered',
        failed_reason: '',
        message_id: `<${refId}.2@example.com>`,
        attempts: 2,
        delivered_at: isTime,
      },
      {
        ...own,
        email: 'bob@example.com',
        recipient_type: 'to',
        status: 'failed',
        failed_reason: expect.stringMatching(/\w/),
        message_id: `<${refId}.1@example.com>`,
        attempts: 1,
        delivered_at: null,
      },
      {
        ...own,
        email: 'Ada@example.com',
        recipient_type: 'to',
        status: 'delivered',
        failed_reason: '',
        message_id: `<${refId}.0@example.com>`,
        attempts: 1,
        delivered_at: isTime,
      },
    ])
    const day = new Date().toISOString().slice(0, 10)
    const statusOf = async (query: string) => (await logs(query)).map(({ email }) => email)
    expect(await statusOf('?email=ADA@example.com')).toEqual(['Ada@example.com'])
    expect(await statusOf('?status=failed&recipientDomain=example.com')).toEqual([
      'bob@example.com',
    ])
    const reason = encodeURIComponent('The recipient address does not exist')
    expect(await statusOf(`?failedReason=${reason}`)).toEqual(['bob@example.com'])
    expect(await statusOf('?failedReason=The%20mailbox%20is%20full')).toEqual([])
    expect(await statusOf(`?startDeliveredDate=${day}&recipientType=to`)).toEqual([
      'Ada@example.com',
    ])
    expect(await statusOf('?campaignId=spring&subject=HELL&pageSize=1')).toHaveLength(1)
    expect(await statusOf(`?mailerId=${mailerId}&status=failed`)).toEqual(['bob@example.com'])
    expect(await statusOf(`?mailerId=${mailerId}`)).toHaveLength(3)
    expect(await statusOf(`?mailerId=smtp_1&refId=${refId}`)).toEqual([])
    expect(await statusOf('?mailerId=smtp_1')).toEqual([])
  })

  it('[3.2] finds suppressed and cancelled recipients by their status', async () => {
    await addMailer(world.db)
    await unsubscribe(world.db, 'ada@example.com')
    const refId = await accept(world.db, {
      to: [{ email: 'ada@example.com' }, { email: 'b@example.com' }],
    })
    await cancelEmail(world.db, 'tn_a', refId)
    const found = async (status: string) =>
      (await logs(`?status=${status}`)).map((log) => [log.email, log.status, log.attempts])
    expect(await found('suppressed')).toEqual([['ada@example.com', 'suppressed', 0]])
    expect(await found('rejected')).toEqual([['b@example.com', 'rejected', 0]])
    expect(await found('queued')).toEqual([])
  })

  it('[3.3] shows waiting mail as held while its mailer is not active', async () => {
    const { mailerId } = await addMailer(world.db)
    await accept(world.db)
    const found = async () => (await logs()).map(({ status }) => status)
    expect(await found()).toEqual(['queued'])
    await world.db.query(`update mailers_mailer set state = 'deactivated' where mailer_id = $1`, [
      mailerId,
    ])
    expect(await found()).toEqual(['held'])
    expect(await logs('?status=held')).toHaveLength(1)
    expect(await logs('?status=queued')).toHaveLength(0)
    await world.db.query(`update mailers_mailer set state = 'active' where mailer_id = $1`, [
      mailerId,
    ])
    expect(await found()).toEqual(['queued'])
    expect(await logs('?status=held')).toHaveLength(0)
  })

  it('[3.2] counts opens and clicks by people, and finds them', async () => {
    const { refId } = await sendMixed()
    await world.db.query(
      `insert into tracking_recipient (tenant_id, ref_id, n, day, opens, clicks, bot_opens, bot_clicks,
         opened_at, clicked_at, unsubscribed_at)
       select tenant_id, ref_id, n, day,
              5, 3, case n when 1 then 5 else 2 end, case n when 2 then 3 else 1 end,
              case when n <> 1 then now() end, case when n <> 2 then now() end,
              case when n = 2 then now() end
         from sending_recipient where ref_id = $1`,
      [refId],
    )
    const counts = async (query: string, key?: keyof typeof KEYS) =>
      (await logs(query, key)).map((log) => [log.email.slice(0, 3), log.opens, log.clicks])
    expect(await counts('')).toEqual([
      ['car', 3, 0],
      ['bob', 0, 2],
      ['Ada', 3, 2],
    ])
    const named = async (query: string) => (await counts(query)).map(([name]) => name)
    expect(await named('?status=opened')).toEqual(['car', 'Ada'])
    expect(await named('?status=clicked')).toEqual(['bob', 'Ada'])
    expect(await named('?status=unsubscribed')).toEqual(['car'])
    expect(await named('?status=spam')).toEqual([])
    expect(await named('?status=opened&recipientType=to')).toEqual(['Ada'])
    expect(await named('?status=opened&email=bob@example.com')).toEqual([])
    expect(await named(`?status=clicked&refId=${refId}&campaignId=spring`)).toEqual(['bob', 'Ada'])
    expect(await counts('?status=opened', 'b')).toEqual([])
    const { body } = await get('/v1/email/logs?status=opened&pageSize=1')
    expect(await named(`?status=opened&pageToken=${body.nextPageToken}`)).toEqual(['Ada'])
  })

  it.each(['', '1', 'x y', '%25', `01JD4M8W6ZQ3V5T7X9Y2A4C6E8x`, 'x'.repeat(500)])(
    'answers nothing where refId is no id: %j',
    async (refId) => {
      await sendMixed()
      expect(await logs(`?refId=${encodeURIComponent(refId)}`)).toEqual([])
      expect(await logs(`?status=failed&refId=${encodeURIComponent(refId)}`)).toEqual([])
    },
  )

  it('shows logs to their tenant only, and to keys that may read', async () => {
    const { refId } = await sendMixed()
    expect(await logs('', 'reader')).toHaveLength(3)
    for (const query of ['', `?refId=${refId}`, '?email=bob@example.com', '?status=failed'])
      expect(await logs(query, 'b')).toEqual([])
    expect((await get('/v1/email/logs', 'sender')).status).toBe(403)
  })

  it.each([
    ['?nothing=1', 'nothing'],
    ['?status=done', 'status'],
    ['?email=nobody', 'email'],
    ['?recipientDomain=a%20b', 'recipientDomain'],
    ['?startCreatedAt=yesterday', 'startCreatedAt'],
    ['?endCreatedAt=2026-02-30', 'endCreatedAt'],
    ['?startCreatedAt=2026-01-02&endCreatedAt=2026-01-01', 'startCreatedAt'],
    ['?startDeliveredDate=1', 'startDeliveredDate'],
    ['?endDeliveredDate=2026-01-02T00:00:00+01:00', 'endDeliveredDate'],
    ['?startDeliveredDate=2026-01-02&endDeliveredDate=2026-01-01', 'startDeliveredDate'],
    ['?recipientType=all', 'recipientType'],
    ['?subject=', 'subject'],
    ['?failedReason=', 'failedReason'],
    ['?campaignId=', 'campaignId'],
    ['?pageSize=501', 'pageSize'],
    ['?pageSize=0', 'pageSize'],
    ['?pageToken=abc', 'pageToken'],
  ])('refuses %s', async (query, name) => {
    const { status, body } = await get(`/v1/email/logs${query}`)
    expect({ status, body }).toMatchObject({
      status: 400,
      body: { code: 'validation_failed', errors: [{ path: `/${name}` }] },
    })
  })

  it('refuses a page token with other filters', async () => {
    await sendMixed()
    const { body } = await get('/v1/email/logs?pageSize=1&campaignId=spring')
    const token = body.nextPageToken
    expect(await logs(`?pageSize=2&campaignId=spring&pageToken=${token}`)).toHaveLength(2)
    const other = await get(`/v1/email/logs?pageSize=1&pageToken=${token}`)
    expect(other.body.errors).toMatchObject([{ path: '/pageToken' }])
  })
})

describe('getTrace', () => {
  it('[3.6] has the message, each attempt with its reply, and each event', async () => {
    const { refId, mailerId } = await sendMixed()
    const email = await trace(refId)
    expect(email).toMatchObject({
      ref_id: refId,
      from: 'news@example.com',
      subject: 'Hello',
      mailer_id: mailerId,
      campaign_id: 'spring',
      custom_args: { order: 17 },
      traceparent: TRACEPARENT,
      created_at: timeOfUlid(refId).toISOString(),
      events_truncated: false,
      deliveries: [],
      deliveries_truncated: false,
    })
    expect(email.recipients.map((r) => [r.email, r.type, r.status, r.message_id])).toEqual([
      ['Ada@example.com', 'to', 'delivered', `<${refId}.0@example.com>`],
      ['bob@example.com', 'to', 'failed', `<${refId}.1@example.com>`],
      ['carol@example.com', 'bcc', 'delivered', `<${refId}.2@example.com>`],
    ])
    const [, bob, carol] = email.recipients
    expect(bob?.attempts).toMatchObject([
      {
        attempt: 1,
        max_attempts: 5,
        outcome: 'failed',
        provider_error: '550 5.1.1 no such user',
        classified: { category: 'invalid_recipient', by: 'enhanced_code', evidence: '5.1.1' },
        retry_scheduled: false,
        next_attempt_at: null,
        mailer_id: mailerId,
      },
    ])
    expect(bob).toMatchObject({ failed_reason: expect.stringMatching(/\w/), delivered_at: null })
    expect(carol).toMatchObject({ failed_reason: '', delivered_at: expect.any(String) })
    expect(email.recipients.map(({ waiting }) => waiting)).toEqual([null, null, null])
    expect(carol?.attempts).toMatchObject([
      { attempt: 1, outcome: 'deferred', provider_error: '450 4.2.0 later', retry_scheduled: true },
      {
        attempt: 2,
        outcome: 'accepted',
        failed_reason: '',
        classified: null,
        next_attempt_at: null,
      },
    ])
    expect(carol?.attempts[0]?.next_attempt_at).not.toBeNull()
    const recorded = await eventsOf(world.db, refId)
    expect(recorded).toHaveLength(4)
    expect(email.events).toEqual(
      recorded.map(({ event, success, details }) => ({
        event_id: expect.stringMatching(/^evt_\w+$/),
        event,
        event_at: details.event_at,
        success,
        details,
      })),
    )
  })

  it('says what comes next for those who wait', async () => {
    const { mailerId } = await addMailer(world.db)
    const refId = await accept(world.db, { to: [{ email: 'ada@example.com' }] })
    const inAnHour = new Date(Date.now() + 3_600_000).toISOString()
    const laterId = await accept(world.db, {
      to: [{ email: 'ada@example.com' }],
      send_at: inAnHour,
      settings: { max_attempts: 3 },
    })
    const waitOf = async (id: string) => (await trace(id)).recipients[0]?.waiting
    const isTime = expect.stringMatching(/^20\d\d-.*\.\d{3}Z$/)
    const first = { attempt: 1, max_attempts: 5, due_at: isTime, expires_at: isTime }
    expect(await waitOf(refId)).toEqual({ ...first, mailer_id: mailerId })
    expect(await waitOf(laterId)).toMatchObject({ attempt: 1, max_attempts: 3, due_at: inAnHour })
  })

  it('can be limited to one recipient', async () => {
    const { refId } = await sendMixed()
    const email = await trace(refId, '?recipient=BOB@example.com')
    expect(email.recipients.map((r) => r.email)).toEqual(['bob@example.com'])
    expect(email.events.map((e) => [e.event, e.details.email])).toEqual([
      ['SMTP_ERROR', ['bob@example.com']],
    ])
    expect((await get(`/v1/email/${refId}?recipient=eve@example.com`)).status).toBe(404)
    expect((await get(`/v1/email/${refId}?recipient=eve`)).body.errors).toMatchObject([
      { path: '/recipient' },
    ])
  })

  it('names the webhook deliveries that carried its events', async () => {
    const { refId } = await sendMixed()
    const other = await accept(world.db)
    await drain(world.db, world.sender())
    const add = async (id: string, of: string) =>
      await world.db.query(
        `insert into webhooks_delivery (tenant_id, delivery_id, day, webhook_id, status, mode,
                 event_ids, event_days, traceparent, attempts, last_attempt)
         select tenant_id, $1, day, 'wh_1', 'delivered', 'array', array[event_id], array[day], '', 1,
                 '{"attempt":1,"at":"2026-11-20T00:00:00Z","duration_ms":3,"status":200,"error":null,"response":"ok","timings":null,"header_names":[]}'
           from webhooks_event where ref_id = $2 and event = 'MAIL_DELIVERED' limit 1`,
        [id, of],
      )
    const idOf = (ms: number) => `dlv_${refId.slice(0, 10)}000000000000000${ms}`
    await add(idOf(1), refId)
    await add(idOf(2), other)
    const email = await trace(refId)
    expect(email.deliveries).toEqual([
      {
        delivery_id: idOf(1),
        webhook_id: 'wh_1',
        status: 'delivered',
        created_at: expect.stringMatching(/Z$/),
        next_attempt_at: null,
        event_ids: [expect.stringMatching(/^evt_\w+$/)],
        attempts: [expect.objectContaining({ status: 200, response: 'ok' })],
      },
    ])
    const delivered = email.events.filter(({ event }) => event === 'MAIL_DELIVERED')
    expect(delivered.map(({ event_id: id }) => id)).toContain(email.deliveries[0]?.event_ids[0])
    expect((await trace(refId, '?recipient=bob@example.com')).deliveries).toEqual([])
  })

  it('exists before the first attempt, and for scheduled mail', async () => {
    await addMailer(world.db)
    const queued = await accept(world.db)
    const later = await accept(world.db, {
      send_at: new Date(Date.now() + 3_600_000).toISOString(),
    })
    for (const [refId, status] of [
      [queued, 'queued'],
      [later, 'scheduled'],
    ] as const)
      expect(await trace(refId)).toMatchObject({
        recipients: [{ status, attempts: [], attempts_truncated: false }],
        events: [],
      })
  })

  it('says what was left out', async () => {
    await addMailer(world.db)
    const refId = await accept(world.db)
    await world.db.query(
      `insert into sending_attempt (tenant_id, ref_id, n, attempt, day, mailer_id, max_attempts,
         started_at, finished_at, outcome, retry_scheduled)
       select tenant_id, ref_id, 0, k, day, 'm', 60, now(), now(), 'deferred', true
         from sending_email, generate_series(1, 51) k`,
    )
    await world.db.query(
      `insert into webhooks_event (tenant_id, event_id, day, ref_id, event, event_at, attempt, body, traceparent)
       select tenant_id, 'evt_01JD4M8W6Z' || lpad(k::text, 16, '0'), current_date, ref_id, 'MAIL_OPENED', now() + k * interval '1 us', 0,
              '{"event":"MAIL_OPENED","success":true,"details":{"webhook_id":"","k":' || k || '}}', ''
         from sending_email, generate_series(1, 2001) k`,
    )
    const email = await trace(refId)
    expect(email.recipients[0]?.attempts.map(({ attempt }) => attempt)).toEqual(
      Array.from({ length: 50 }, (_, i) => i + 2),
    )
    expect(email.recipients[0]?.attempts_truncated).toBe(true)
    expect(email.events).toHaveLength(2000)
    expect(email.events[0]?.details).toEqual({ k: 2 })
    expect(email.events_truncated).toBe(true)
  })

  it('shows the HTTP status of a relay provider not as a reply code', async () => {
    const { refId } = await sendMixed()
    await world.db.query(
      `update sending_attempt set provider_error = '400 Refused', category = 'invalid_recipient',
              mailer_id = 'domain_01JD4M8W6ZQ3V5T7X9Y2A4C6E8'
        where ref_id = $1 and outcome = 'failed'`,
      [refId],
    )
    const [, bob] = (await trace(refId)).recipients
    expect(bob?.attempts[0]).toMatchObject({
      provider_error: '400 Refused',
      classified: { category: 'invalid_recipient', by: 'words', evidence: 'refused' },
    })
  })

  it('answers the same 404 for an unknown email and for one of another tenant', async () => {
    const { refId } = await sendMixed()
    const answerOf = async (path: string, key?: keyof typeof KEYS) => {
      const { status, body } = await get(path, key)
      return { status, body: { ...body, request_id: '' } }
    }
    const unknown = await answerOf('/v1/email/01JD4M8W6ZQ3V5T7X9Y2A4C6E8')
    expect(unknown).toMatchObject({
      status: 404,
      body: { code: 'not_found', message: 'Not Found: there is no such email' },
    })
    expect(await answerOf(`/v1/email/${refId}`, 'b')).toEqual(unknown)
    for (const path of ['/v1/email/7ZZZZZZZZZZZZZZZZZZZZZZZZZ', '/v1/email/x'])
      expect(await answerOf(path)).toEqual(unknown)
  })
})

describe('exportLogs', () => {
  const path = '/v1/email/logs/export'
  async function text(query: string, key: keyof typeof KEYS = 'a') {
    const headers = { authorization: `Bearer ${key}` }
    const response = await app.inject({ method: 'GET', url: `${path}${query}`, headers })
    return { status: response.statusCode, headers: response.headers, text: response.body }
  }

  it('answers all logs of all pages as NDJSON', async () => {
    await sendMixed()
    await accept(world.db, { to: [{ email: 'eve@example.com' }], subject: 'Other' })
    const all = await text('?format=ndjson')
    expect(all.headers['content-type']).toBe('application/x-ndjson; charset=utf-8')
    const lines = all.text.split('\n')
    expect(lines.pop()).toBe('')
    expect(lines.map((line) => JSON.parse(line))).toEqual(await logs())
    expect(lines).toHaveLength(4)
    expect((await text('?format=ndjson&subject=other')).text.split('\n')).toHaveLength(2)
    expect((await text('?format=ndjson', 'b')).text).toBe('')
    expect((await text('?format=ndjson&refId=x')).text).toBe('')
  })

  it('answers them as CSV, in which no text is a formula', async () => {
    await addMailer(world.db)
    const refId = await accept(world.db, {
      to: [{ email: '+ada@example.com' }],
      subject: '=HYPERLINK("https://example.test","a, b")',
    })
    const csv = await text('?format=csv')
    expect(csv.headers).toMatchObject({
      'content-type': 'text/csv; charset=utf-8',
      'content-disposition': 'attachment; filename="email-logs.csv"',
    })
    const [log] = await logs()
    expect(csv.text).toBe(
      'ref_id,email,recipient_type,from,subject,mailer_id,campaign_id,status,failed_reason,message_id,attempts,opens,clicks,created_at,delivered_at,test\r\n' +
        `${refId},'+ada@example.com,to,news@example.com,"'=HYPERLINK(""https://example.test"",""a, b"")",${log?.mailer_id},,queued,,<${refId}.0@example.com>,0,0,0,${log?.created_at},,false\r\n`,
    )
    expect((await text('?format=csv', 'b')).text.split('\r\n')).toHaveLength(2)
  })

  it.each([
    ['', 'format'],
    ['?format=xml', 'format'],
    ['?format=csv&pageSize=1', 'pageSize'],
    ['?format=csv&status=done', 'status'],
    ['?format=csv&email=nobody', 'email'],
  ])('refuses %s like any request', async (query, name) => {
    const { status, text: body } = await text(query)
    expect([status, JSON.parse(body).errors[0].path]).toEqual([400, `/${name}`])
  })

  /** Over a socket; `before` is called before each page is read. */
  async function listen(before: (page: number) => Promise<void>) {
    await sendMixed()
    let pages = 0
    const server = serve({
      ...world.db,
      async transaction(work, o) {
        await before(++pages)
        return await world.db.transaction(work, o)
      },
    })
    cleanups.push(async () => {
      // The test's own client keeps some that it has not read to their end.
      server.server.closeAllConnections()
      await server.close()
    })
    const origin = await server.listen({ host: '127.0.0.1', port: 0 })
    const headers = { authorization: 'Bearer a' }
    const read = (signal?: AbortSignal) =>
      fetch(`${origin}${path}?format=ndjson`, { headers, ...(signal && { signal }) })
    return { read, pagesRead: () => pages }
  }
  const cleanups: (() => Promise<unknown>)[] = []
  afterEach(async () => {
    for (const cleanup of cleanups.splice(0)) await cleanup()
  })

  it('ends with an error when it is interrupted', async () => {
    const { read } = await listen(async (page) => {
      if (page === 2) throw new Error('the database is gone')
    })
    const response = await read()
    expect(response.status).toBe(200)
    let text = ''
    const reading = async () => {
      for await (const chunk of response.body ?? []) text += Buffer.from(chunk).toString()
    }
    await expect(reading()).rejects.toThrow()
    expect(text.split('\n').slice(2)).toEqual(['{"error":"The export broke off"}', ''])
  })

  it('runs twice at most for one tenant, and stops when its reader has gone', async () => {
    const opened = Promise.withResolvers<void>()
    const { read, pagesRead } = await listen(async (page) => {
      if (page === 2 || page === 4) await opened.promise
    })
    const gone = new AbortController()
    const held = [await read(gone.signal), await read()]
    expect(held.map(({ status }) => status)).toEqual([200, 200])
    const third = await read()
    expect([third.status, third.headers.get('retry-after')]).toEqual([429, '1'])
    gone.abort()
    opened.resolve()
    expect((await held[1]?.text())?.split('\n')).toHaveLength(4)
    // Two first pages and two second ones, which are read ahead.
    expect(pagesRead()).toBe(4)
    let status = 429
    while (status === 429) status = (await read()).status
    expect(status).toBe(200)
  })
})
