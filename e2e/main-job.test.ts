/** The main job over a real process, a real database, a real SMTP server and a real receiver. */
import { PostriderError } from '@postrider/client'
import type { SmtpServer, SmtpServerOptions, WebhookReceiver } from '@postrider/testkit'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import {
  certificate,
  createWorld,
  eventsOf,
  type Tenant,
  type World,
  waitForEvents,
} from './world.ts'

const FROM = 'news@sender.test'
const ULID = /^[0-9A-HJKMNP-TV-Z]{26}$/
const MICROS = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/
const ZERO_TRACKING = {
  ...{ time: '', ip: '', user_agent: '', browser_name: '', browser_version: '', os: '' },
  ...{ device_type: '', platform: '', country: '', city: '', region: '', time_zone: '' },
  bot: false,
}

let world: World
beforeAll(async () => {
  world = createWorld()
  await world.start()
})
afterEach(() => world.closePeers())
afterAll(() => world.destroy())

type SecureMode = 'Auto' | 'Tls' | 'SSL' | 'None'

const mailerBody = (smtp: SmtpServer, secure: SecureMode = 'None') => ({
  name: 'News',
  email: FROM,
  config_type: 'smtp' as const,
  connection_type: 'basic' as const,
  config: { host: '127.0.0.1', port: smtp.port, secure },
})

const mailBody = (to: string) => ({
  from: { email: FROM, name: 'The News' },
  to: [{ email: to }],
  subject: 'Hello',
  content: [{ type: 'text/plain' as const, value: 'Hi there.' }],
})

interface Ready extends Tenant {
  readonly smtp: SmtpServer
  readonly receiver: WebhookReceiver
  readonly webhookId: string
  readonly mailerId: string
}

/** A tenant with one webhook for deliveries and failures, and one mailer. */
async function getReady(smtpOptions: SmtpServerOptions = {}): Promise<Ready> {
  const [tenant, smtp, receiver] = await Promise.all([
    world.newTenant(),
    world.newSmtpServer(smtpOptions),
    world.newReceiver(),
  ])
  const { webhook_id: webhookId } = await tenant.client.registerWebhook({
    webhook_url: `${receiver.origin}/events?of=mail`,
    event: 'EMAIL_EVENT',
    method: 'POST',
    headers: { 'X-Secret-Of-Ours': 'Sesame, open!', authorization: 'Basic eDp5' },
    webhook_options: { events: { delivery: true, smtp_error: true } },
  })
  const { mailer } = await tenant.client.configureSMTP(mailerBody(smtp))
  return { ...tenant, smtp, receiver, webhookId, mailerId: mailer.mailer_id }
}

async function codeOf(promise: Promise<unknown>): Promise<[number, string, string]> {
  const error = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  if (!(error instanceof PostriderError)) throw new Error(`not refused: ${String(error)}`)
  return [error.status, error.code, error.message]
}

describe('a delivered mail', () => {
  it('arrives as requested, with a copy for each recipient', async () => {
    const { client, smtp, receiver } = await getReady()
    const { recipients } = await client.sendEmail({
      from: { email: FROM, name: 'Grüße & "Co"' },
      to: [{ email: 'ada@recipient.test', name: 'Ada' }],
      cc: [{ email: 'bob@recipient.test' }],
      bcc: [{ email: 'secret@recipient.test' }],
      replyTo: { email: 'answers@sender.test' },
      subject: 'Ein Gruß',
      headers: { 'X-Order': '1234' },
      content: [
        { type: 'text/plain', value: 'line one\n.\n..two\n' },
        { type: 'text/html', value: '<p>Grüße</p>' },
      ],
      attachments: [{ filename: 'a.txt', content: 'aGVsbG8=', type: 'text/plain' }],
    })
    expect(recipients).toEqual([
      { email: 'ada@recipient.test', type: 'to', status: 'queued' },
      { email: 'bob@recipient.test', type: 'cc', status: 'queued' },
      { email: 'secret@recipient.test', type: 'bcc', status: 'queued' },
    ])
    const messages = await smtp.waitForMessages(3)
    expect(messages.map((message) => message.recipients).sort()).toEqual([
      ['ada@recipient.test'],
      ['bob@recipient.test'],
      ['secret@recipient.test'],
    ])
    for (const { from, raw, messageId } of messages) {
      const text = raw.toString('utf8')
      expect(from).toBe(FROM)
      expect(messageId).toMatch(/^<[^<>@\s]+@[^<>@\s]+>$/)
      expect(text).toMatch(/^From: .*<news@sender\.test>\r\n/m)
      expect(text).toMatch(/^To: "?Ada"? <ada@recipient\.test>\r\n/m)
      expect(text).toMatch(/^Cc: <?bob@recipient\.test>?\r\n/m)
      expect(text).toMatch(/^Reply-To: <?answers@sender\.test>?\r\n/m)
      expect(text).toMatch(/^Subject: =\?UTF-8\?/im)
      expect(text).toMatch(/^X-Order: 1234\r\n/m)
      expect(text).not.toMatch(/secret@recipient/)
      expect(text).not.toMatch(/^bcc:/im)
      expect(text).toContain('line one\r\n.\r\n..two\r\n')
      expect(text).toContain('aGVsbG8=')
    }
    expect(new Set(messages.map((message) => message.messageId)).size).toBe(3)
    const events = await waitForEvents(receiver, 3)
    expect(events.map((event) => event.event)).toEqual(Array(3).fill('MAIL_DELIVERED'))
    expect(new Set(events.map(({ details }) => `${details.event_at}`)).size).toBe(3)
  })

  it('[2.3 2.4 2.5 6.5] is reported field by field, in the trace of its send', async () => {
    const { client, smtp, receiver, webhookId, mailerId } = await getReady()
    const traceId = '4bf92f3577b34da6a3ce929d0e0e4736'
    const custom_args = { order: 12, tags: ['a', 'ü'], nested: { deep: null } }
    const { ref_id } = await client.sendEmail(
      { ...mailBody('ada@recipient.test'), custom_args },
      { headers: { traceparent: `00-${traceId}-00f067aa0ba902b7-01` } },
    )
    expect(ref_id).toMatch(ULID)
    const [request] = await receiver.waitForRequests(1)
    const [message] = smtp.messages
    expect(request?.json).toEqual([
      {
        event: 'MAIL_DELIVERED',
        success: true,
        details: {
          ref_id,
          mailer_id: mailerId,
          email: ['ada@recipient.test'],
          custom_args,
          message_id: message?.messageId,
          thread_id: '',
          webhook_id: webhookId,
          event_at: expect.stringMatching(MICROS),
          tracking: ZERO_TRACKING,
          failed_reason: '',
        },
      },
    ])
    expect(request).toMatchObject({ method: 'POST', path: '/events?of=mail', httpVersion: '1.1' })
    expect(request?.rawHeaders).toContainEqual(['X-Secret-Of-Ours', 'Sesame, open!'])
    expect(request?.rawHeaders).toContainEqual(['authorization', 'Basic eDp5'])
    expect(request?.header('content-type')).toMatch(/^application\/json(;|$)/)
    expect(request?.header('traceparent')).toMatch(
      new RegExp(`^00-${traceId}-[0-9a-f]{16}-[0-9a-f]{2}$`),
    )
  })

  it('[2.4] has null for custom_args that were not given', async () => {
    const { client, receiver } = await getReady()
    await client.sendEmail(mailBody('ada@recipient.test'))
    const [event] = await waitForEvents(receiver, 1)
    expect(event?.details.custom_args).toBeNull()
  })
})

describe('[6.4] a failing mail', () => {
  it('[6.4.1 6.4.4] is deferred, reported, tried again and then delivered', async () => {
    const { client, smtp, receiver, webhookId, mailerId } = await getReady({
      script: { 'ada@recipient.test': ['450-4.2.1 Mailbox busy,\n450 4.2.1 try later', 'ok'] },
    })
    const { ref_id } = await client.sendEmail(mailBody('ada@recipient.test'))
    const [failed, delivered] = await waitForEvents(receiver, 2)
    const [message] = smtp.messages
    expect(failed).toEqual({
      event: 'SMTP_ERROR',
      success: false,
      details: {
        ref_id,
        mailer_id: mailerId,
        email: ['ada@recipient.test'],
        custom_args: null,
        message_id: message?.messageId,
        thread_id: '',
        webhook_id: webhookId,
        event_at: expect.stringMatching(MICROS),
        tracking: ZERO_TRACKING,
        failed_reason: expect.stringMatching(/./),
        attempt: 1,
        max_attempts: 5,
        retry_scheduled: true,
        provider_error: '450-4.2.1 Mailbox busy, 450 4.2.1 try later',
      },
    })
    expect(delivered).toMatchObject({ event: 'MAIL_DELIVERED', details: { ref_id } })
    expect(String(delivered?.details.event_at) > String(failed?.details.event_at)).toBe(true)
  })

  it('[6.4.4] is given up at attempt 1 when the refusal is permanent', async () => {
    const { client, smtp, receiver } = await getReady({
      script: { 'ada@recipient.test': ['550 5.1.1 No such user'] },
    })
    await client.sendEmail(mailBody('ada@recipient.test'))
    const [event] = await waitForEvents(receiver, 1)
    expect(event?.details).toMatchObject({
      attempt: 1,
      max_attempts: 5,
      retry_scheduled: false,
      provider_error: '550 5.1.1 No such user',
    })
    expect(smtp.transactions).toEqual([])
  })

  it('[6.4.1 6.4.3] has one SMTP_ERROR per attempt, and only the last one is final', async () => {
    const { client, receiver } = await getReady({
      script: { 'ada@recipient.test': ['451 4.3.0 Not now'] },
    })
    const { ref_id } = await client.sendEmail({
      ...mailBody('ada@recipient.test'),
      settings: { max_attempts: 3 },
    })
    const events = await waitForEvents(receiver, 3)
    expect(events.map(({ details }) => details)).toMatchObject([
      { ref_id, attempt: 1, max_attempts: 3, retry_scheduled: true },
      { ref_id, attempt: 2, max_attempts: 3, retry_scheduled: true },
      { ref_id, attempt: 3, max_attempts: 3, retry_scheduled: false },
    ])
  })

  it('may have been delivered, and says so, when the answer to the message was lost', async () => {
    const { client, smtp, receiver } = await getReady({
      script: { 'ada@recipient.test': ['dot: rst', 'ok'] },
    })
    await client.sendEmail(mailBody('ada@recipient.test'))
    const [failed, delivered] = await waitForEvents(receiver, 2)
    expect(failed?.details).toMatchObject({ attempt: 1, retry_scheduled: true })
    expect(failed?.details.failed_reason).toMatch(/may have been delivered/)
    expect(delivered?.event).toBe('MAIL_DELIVERED')
    const [first, second] = smtp.transactions
    expect(first?.messageId).toBe(second?.messageId)
    expect(first?.raw).toEqual(second?.raw)
  })

  it('is not sent a second time where the mailer says at_most_once', async () => {
    const { client, smtp, receiver } = await getReady({
      script: { 'ada@recipient.test': ['dot: fin'] },
    })
    await client.configureSMTP({
      ...mailerBody(smtp),
      email: 'once@sender.test',
      uncertain: 'at_most_once',
    })
    await client.sendEmail({
      ...mailBody('ada@recipient.test'),
      from: { email: 'once@sender.test' },
    })
    const [event] = await waitForEvents(receiver, 1)
    expect(event?.details).toMatchObject({ attempt: 1, retry_scheduled: false })
    expect(smtp.transactions).toHaveLength(1)
  })

  it('is tried again when the connection breaks before the end of the message, or cannot be made', async () => {
    const { client, smtp, receiver } = await getReady({
      script: { 'ada@recipient.test': ['data: rst', 'ok'] },
    })
    await client.sendEmail(mailBody('ada@recipient.test'))
    const events = await waitForEvents(receiver, 2)
    expect(events.map((event) => event.event)).toEqual(['SMTP_ERROR', 'MAIL_DELIVERED'])
    expect(events[0]?.details.provider_error).toMatch(/./)
    expect(smtp.messages).toHaveLength(1)
  })
})

describe('the ways to secure the connection', () => {
  const users = { 'me@sender.test': 'pässword' }
  const implicit: SmtpServerOptions = { auth: { users }, tls: { mode: 'implicit', ...certificate } }
  const startTls: SmtpServerOptions = {
    auth: { users, tlsOnly: true },
    tls: { mode: 'starttls', ...certificate },
  }
  const plain: SmtpServerOptions = { auth: { users } }

  const modes: readonly [mode: SecureMode, what: string, o: SmtpServerOptions, isTls: boolean][] = [
    ['SSL', 'TLS from the first byte', implicit, true],
    ['Tls', 'STARTTLS', startTls, true],
    ['Auto', 'STARTTLS where it is offered', startTls, true],
    ['Auto', 'plain text where it is not', plain, false],
    ['None', 'plain text', plain, false],
  ]
  for (const [secure, what, options, isTls] of modes) {
    it(`${secure} logs in and sends by ${what}`, async () => {
      const { client } = await world.newTenant()
      const smtp = await world.newSmtpServer(options)
      const body = mailerBody(smtp, secure)
      const config = { ...body.config, username: 'me@sender.test', password: 'pässword' }
      const { mailer } = await client.configureSMTP({ ...body, config })
      expect(mailer).toMatchObject({ state: 'active', config: { secure, tls_verify: true } })
      expect(JSON.stringify(mailer)).not.toContain('pässword')
      await client.sendEmail(mailBody('ada@recipient.test'))
      await smtp.waitForMessages(1)
      const used = smtp.connections.at(-1)
      expect(used).toMatchObject({ secure: isTls, username: 'me@sender.test' })
    })
  }

  it('Tls never continues in plain text', async () => {
    const { client } = await world.newTenant()
    const smtp = await world.newSmtpServer(plain)
    const [status, code] = await codeOf(client.configureSMTP(mailerBody(smtp, 'Tls')))
    expect([status, code]).toEqual([422, 'mailer_unreachable'])
    expect(smtp.connections.flatMap((one) => one.commands).join()).not.toMatch(/AUTH|MAIL/)
  })

  it('verify a certificate unless tls_verify is false', async () => {
    const { client } = await world.newTenant()
    const expired = await world.newSmtpServer({
      tls: { mode: 'implicit', ...certificate },
      script: () => undefined,
    })
    const body = mailerBody(expired, 'SSL')
    const elsewhere = { ...body.config, host: '127.0.0.2' }
    const server = await world.newSmtpServer({
      ...implicit,
      host: '127.0.0.2',
      port: expired.port,
    })
    expect(server.port).toBe(expired.port)
    const [status, code] = await codeOf(client.configureSMTP({ ...body, config: elsewhere }))
    expect([status, code]).toEqual([422, 'mailer_unreachable'])
    const config = { ...elsewhere, tls_verify: false }
    const login = { username: 'me@sender.test', password: 'pässword' }
    const { mailer } = await client.configureSMTP({ ...body, config: { ...config, ...login } })
    expect(mailer.config.tls_verify).toBe(false)
  })

  it('answer a rejected login with the reply of the server', async () => {
    const { client } = await world.newTenant()
    const smtp = await world.newSmtpServer(plain)
    const body = mailerBody(smtp)
    const config = { ...body.config, username: 'me@sender.test', password: 'wrong' }
    const [status, code, message] = await codeOf(client.configureSMTP({ ...body, config }))
    expect([status, code]).toEqual([422, 'mailer_auth_failed'])
    expect(message).toContain('535 5.7.8 authentication credentials invalid')
  })
})

describe('a login that is rejected after the configuration', () => {
  it('[6.4.4] is final for the mail that met it, with the reply of the server', async () => {
    const { client, smtp, receiver, mailerId } = await getReady({
      auth: { users: {}, required: false },
      script: ({ phase }) => (phase === 'auth' ? '535 5.7.8 Bad credentials' : undefined),
    })
    const login = { username: 'me', password: 'old' }
    const config = { host: '127.0.0.1', port: smtp.port, secure: 'None' as const, ...login }
    await client.updateSMTP({ mailer_id: mailerId, config, verify: false })
    await client.sendEmail(mailBody('ada@recipient.test'))
    const [event] = await waitForEvents(receiver, 1)
    expect(event).toMatchObject({
      event: 'SMTP_ERROR',
      details: {
        attempt: 1,
        retry_scheduled: false,
        provider_error: '535 5.7.8 Bad credentials',
      },
    })
    expect(JSON.stringify(event)).not.toMatch(/password|b2xk/)
    expect(smtp.transactions).toEqual([])
  })
})

describe('an idempotency key', () => {
  const post = async (tenant: Tenant, key: string, body: object) => {
    const response = await fetch(`${world.service().origin}/v1/email/send`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${tenant.apiKey}`,
        'content-type': 'application/json',
        'idempotency-key': key,
      },
      body: JSON.stringify(body),
    })
    return { response, answer: (await response.json()) as Record<string, unknown> }
  }

  it('returns the first answer again, and sends one mail', async () => {
    const ready = await getReady()
    const first = await post(ready, 'order-1', mailBody('ada@recipient.test'))
    const again = await post(ready, 'order-1', mailBody('ada@recipient.test'))
    expect(first.response.status).toBe(202)
    expect(again.response.status).toBe(202)
    expect(again.answer).toEqual(first.answer)
    expect(first.response.headers.get('idempotent-replayed')).toBeNull()
    expect(again.response.headers.get('idempotent-replayed')).toBe('true')
    const other = await post(ready, 'order-1', mailBody('bob@recipient.test'))
    expect(other.response.status).toBe(409)
    expect(other.answer.code).toBe('idempotency_mismatch')
    const next = await post(ready, 'order-2', mailBody('ada@recipient.test'))
    expect(next.answer.ref_id).not.toBe(first.answer.ref_id)
    await waitForEvents(ready.receiver, 2)
    expect(ready.smtp.messages).toHaveLength(2)
  })
})

describe('a webhook', () => {
  it('[6.2.6] gets the same bytes again after a failure', async () => {
    const { client, receiver } = await getReady()
    receiver.setScript([503, { ending: 'rst' }, { status: 302, headers: { location: '/other' } }])
    await client.sendEmail(mailBody('ada@recipient.test'))
    const requests = await receiver.waitForRequests(4)
    for (const request of requests) {
      expect(request.path).toBe('/events?of=mail')
      expect(request.body).toEqual(requests[0]?.body)
    }
    expect(receiver.requests.at(-1)?.answer.status).toBe(200)
  })

  it('[2.2] gets the events of its switches, and no others', async () => {
    const { client, smtp, receiver } = await getReady({
      script: { 'ada@recipient.test': ['450 4.2.0 later', 'ok'] },
    })
    await client.updateWebhook({
      event: 'EMAIL_EVENT',
      webhook_options: { events: { delivery: true } },
    })
    await client.sendEmail(mailBody('ada@recipient.test'))
    await smtp.waitForMessages(1)
    const [event] = await waitForEvents(receiver, 1)
    expect(event?.event).toBe('MAIL_DELIVERED')
    expect(eventsOf(receiver.requests)).toHaveLength(1)
  })

  it('[2.1 4.2 5.2] is listed without header values, changed and deleted', async () => {
    const { client, receiver, webhookId } = await getReady()
    const { webhooks } = await client.listWebhooks()
    expect(webhooks).toMatchObject([
      {
        webhook_id: webhookId,
        event: 'EMAIL_EVENT',
        url: `${receiver.origin}/events?of=mail`,
        method: 'POST',
        active: true,
      },
    ])
    expect([...(webhooks[0]?.headers_present ?? [])].sort()).toEqual([
      'X-Secret-Of-Ours',
      'authorization',
    ])
    expect(JSON.stringify(webhooks)).not.toContain('Sesame')
    await client.updateWebhook({ event: 'EMAIL_EVENT', headers: { 'X-Other': 'value' } })
    await client.sendEmail(mailBody('ada@recipient.test'))
    const [request] = await receiver.waitForRequests(1)
    expect(request?.rawHeaders).toContainEqual(['X-Other', 'value'])
    expect(request?.header('x-secret-of-ours')).toBeUndefined()
    await client.deleteWebhook({ event: 'EMAIL_EVENT' })
    expect((await client.listWebhooks()).webhooks).toEqual([])
  })
})

describe('a tenant', () => {
  it('cannot see or use anything of another tenant', async () => {
    const one = await getReady()
    const other = await getReady()
    const [status, code] = await codeOf(other.client.getSMTPConfig(one.mailerId))
    expect([status, code]).toEqual([404, 'not_found'])
    const mail = { ...mailBody('ada@recipient.test'), mailer_id: one.mailerId }
    const [refused] = await codeOf(other.client.sendEmail(mail))
    expect([404, 422]).toContain(refused)
    await other.client.sendEmail(mailBody('ada@recipient.test'))
    await waitForEvents(other.receiver, 1)
    expect(one.smtp.messages).toEqual([])
    expect(one.receiver.requests).toEqual([])
  })
})
