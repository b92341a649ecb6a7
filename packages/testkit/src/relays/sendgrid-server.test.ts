import { createPublicKey, verify } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createDnsServer } from '../dns/dns-server.ts'
import {
  createWebhookReceiver,
  type WebhookReceiver,
  type WebhookRequest,
} from '../webhook-receiver.ts'
import { SENDGRID } from './sendgrid-errors.ts'
import { createSendGridServer, type SendGridServer } from './sendgrid-server.ts'

const isText = (body: unknown): body is string | Buffer<ArrayBuffer> =>
  typeof body === 'string' || Buffer.isBuffer(body)

const cleanups: (() => Promise<unknown>)[] = []
let sendGrid: SendGridServer
beforeEach(async () => {
  sendGrid = await createSendGridServer()
  cleanups.push(() => sendGrid.close())
  sendGrid.domains.add('example.com')
})
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup()
})

async function call(
  method: string,
  path: string,
  body?: unknown,
  headers: Readonly<Record<string, string>> = {},
) {
  const response = await fetch(`${sendGrid.apiBase}/v3${path}`, {
    method,
    headers: {
      authorization: `Bearer ${sendGrid.apiKey}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: isText(body) ? body : JSON.stringify(body) }),
  })
  const text = await response.text()
  // biome-ignore lint/suspicious/noExplicitAny: an answer is looked at field by field
  const json: any = text === '' ? undefined : JSON.parse(text)
  return { status: response.status, json, id: response.headers.get('x-message-id') }
}

const send = (body: unknown, headers?: Readonly<Record<string, string>>) =>
  call('POST', '/mail/send', body, headers)

const to = [{ email: 'b@example.net' }]
const mail = {
  personalizations: [{ to }],
  from: { email: 'a@example.com', name: 'Ada' },
  subject: 'Hello',
  content: [{ type: 'text/plain', value: 'Hi' }],
}
const withPart = (more: object) => ({ ...mail, personalizations: [{ to, ...more }] })
const withFile = (more: object) => ({
  ...mail,
  attachments: [{ content: 'aGk=', filename: 'a.txt', ...more }],
})

async function receive(): Promise<WebhookReceiver> {
  const receiver = await createWebhookReceiver()
  cleanups.push(() => receiver.close())
  return receiver
}

describe('a mail', () => {
  it('is answered with 202 and an id only, and can be read for each recipient', async () => {
    const answer = await send({
      ...mail,
      personalizations: [
        {
          to: [{ email: 'b@example.net', name: 'Bob' }],
          cc: [{ email: 'c@example.net' }],
          custom_args: { ref: 'one' },
          headers: { 'X-A': 'b' },
        },
        { to: [{ email: 'd@example.net' }], subject: 'Other', custom_args: { ref: 'two' } },
      ],
      content: [...mail.content, { type: 'text/html', value: '<p>{{not}}</p>' }],
      reply_to: { email: 'r@example.com' },
      headers: { 'Message-ID': '<1@example.com>' },
      custom_args: { ref: 'none', common: 'x' },
      categories: ['spring'],
      attachments: [
        {
          content: 'aGk=',
          filename: 'logo.png',
          type: 'image/png',
          disposition: 'inline',
          content_id: 'logo',
        },
      ],
      tracking_settings: { click_tracking: { enable: false, enable_text: false } },
    })
    expect(answer).toEqual({ status: 202, json: undefined, id: expect.stringMatching(/^[\w-]+$/) })
    const [first, second, third] = await sendGrid.waitForMails(3)
    expect(first).toMatchObject({
      id: answer.id,
      to: 'b@example.net',
      type: 'to',
      from: { email: 'a@example.com', name: 'Ada' },
      replyTo: 'r@example.com',
      subject: 'Hello',
      text: 'Hi',
      html: '<p>{{not}}</p>',
      headers: {
        'Message-ID': '<1@example.com>',
        'X-A': 'b',
        To: '"Bob" <b@example.net>',
        Cc: 'c@example.net',
      },
      meta: { ref: 'one', common: 'x' },
      attachments: [
        { filename: 'logo.png', content: Buffer.from('hi'), isInline: true, contentId: 'logo' },
      ],
      trackingSettings: { click_tracking: { enable: false } },
    })
    expect(second).toMatchObject({ to: 'c@example.net', type: 'cc' })
    expect(third).toMatchObject({ subject: 'Other', meta: { ref: 'two' }, id: answer.id })
    expect(new Set([first, second, third].map((one) => one?.messageId)).size).toBe(3)
  })

  it.each<[string, unknown, string]>([
    ['a field of no meaning', { ...mail, bcc: 'x' }, 'bcc'],
    [
      'one below',
      withPart({ reply_to: { email: 'x@example.com' } }),
      'personalizations.0.reply_to',
    ],
    ['a value of another type', { ...mail, subject: 1 }, 'subject'],
    ['null', { ...mail, reply_to: null }, 'reply_to'],
    [
      'an argument that is no text',
      withPart({ custom_args: { n: 1 } }),
      'personalizations.0.custom_args.n',
    ],
    ['no personalizations', { ...mail, personalizations: [] }, 'personalizations'],
    [
      '1001 personalizations',
      { ...mail, personalizations: Array(1001).fill({ to }) },
      'personalizations',
    ],
    ['no recipient', { ...mail, personalizations: [{ to: [] }] }, 'personalizations.0.to'],
    [
      'a recipient that is none',
      withPart({ to: [{ email: 'x' }] }),
      'personalizations.0.to.0.email',
    ],
    ['a recipient twice', withPart({ cc: [{ email: 'B@example.net' }] }), 'personalizations.0'],
    ['an empty list of copies', withPart({ cc: [] }), 'personalizations.0.cc'],
    [
      'another domain of one sender',
      withPart({ from: { email: 'a@x.example' } }),
      'personalizations.0.from',
    ],
    ['a reserved header', { ...mail, headers: { 'Reply-to': 'x' } }, 'headers.Reply-to'],
    [
      'a reserved header of one',
      withPart({ headers: { CC: 'x' } }),
      'personalizations.0.headers.CC',
    ],
    ['a header in two lines', { ...mail, headers: { 'X-A': 'a\r\nb' } }, 'headers.X-A'],
    ['a header not encoded', { ...mail, headers: { 'X-A': 'ä' } }, 'headers.X-A'],
    ['no subject', { ...mail, subject: '' }, 'subject'],
    ['no content', { ...mail, content: [] }, 'content'],
    ['empty content', { ...mail, content: [{ type: 'text/plain', value: '' }] }, 'content.0.value'],
    [
      'content with a parameter in its type',
      { ...mail, content: [{ type: 'text/plain; charset=utf-8', value: 'x' }] },
      'content.0.type',
    ],
    [
      'HTML before text',
      { ...mail, content: [{ type: 'text/html', value: 'x' }, ...mail.content] },
      'content',
    ],
    ['text twice', { ...mail, content: [...mail.content, ...mail.content] }, 'content'],
    ['a file without a name', withFile({ filename: undefined }), 'attachments.0.filename'],
    ['a file that is not base64', withFile({ content: 'a b' }), 'attachments.0.content'],
    ['a file with a parameter in its type', withFile({ type: 'a/b; c=d' }), 'attachments.0.type'],
    ['another disposition', withFile({ disposition: 'x' }), 'attachments.0.disposition'],
    ['a comma in the name of a file', withFile({ filename: 'a, b' }), 'attachments.0.filename'],
    ['an empty file', withFile({ content: '' }), 'attachments.0.content'],
    ['a comma in an id', withFile({ content_id: 'a,b' }), 'attachments.0.content_id'],
    ['one header twice', { ...mail, headers: { 'X-A': 'b', 'x-a': 'c' } }, 'headers'],
    ['no arguments in its object', withPart({ custom_args: {} }), 'personalizations.0.custom_args'],
    ['a category that is not ASCII', { ...mail, categories: ['Frühling'] }, 'categories'],
    [
      'too many arguments',
      withPart({ custom_args: { x: 'x'.repeat(10_000) } }),
      'personalizations.0.custom_args',
    ],
    ['eleven categories', { ...mail, categories: [...'abcdefghijk'] }, 'categories'],
    ['a time too far away', { ...mail, send_at: 4_000_000_000 }, 'send_at'],
    ['both kinds of reply-to', { ...mail, reply_to: to[0], reply_to_list: to }, 'reply_to'],
    ['a pool of one letter', { ...mail, ip_pool_name: 'x' }, 'ip_pool_name'],
  ])('a mail with %s is refused by name', async (_what, body, field) => {
    const { status, json } = await send(body)
    expect(status).toBe(400)
    expect(json.errors.map((one: { field: string }) => one.field)).toContain(field)
    expect(json.errors[0]).toEqual({
      message: expect.any(String),
      field: expect.any(String),
      help: null,
    })
    expect(sendGrid.mails).toEqual([])
  })

  it('a mail from an unknown domain is forbidden', async () => {
    const { status, json } = await send({ ...mail, from: { email: 'a@other.example' } })
    expect({ status, json }).toEqual({ status: 403, json: SENDGRID.unverifiedSender.json })
  })

  it('a mail in the sandbox is checked and not sent', async () => {
    const mail_settings = { sandbox_mode: { enable: true } }
    expect(await send({ ...mail, mail_settings })).toMatchObject({ status: 200 })
    expect(sendGrid.mails).toEqual([])
  })

  it('a mail of more than 30 MiB is too large', async () => {
    const value = 'x'.repeat(30 * 1024 * 1024)
    const { status } = await send({ ...mail, content: [{ type: 'text/plain', value }] })
    expect(status).toBe(413)
  })
})

describe('a request', () => {
  it.each([
    ['the key as bearer token', (key: string) => `Bearer ${key}`, 202],
    ['the bare key', (key: string) => key, 401],
    ['another key', () => 'Bearer x', 401],
  ])('a request with %s is accepted or refused as documented', async (_what, write, status) => {
    const answer = await send(mail, { authorization: write(sendGrid.apiKey) })
    expect(answer.status).toBe(status)
    if (status === 401) expect(answer.json).toEqual(SENDGRID.unauthorized.json)
  })

  it('beyond the scopes of its key is refused', async () => {
    const listed = () => call('GET', '/whitelabel/domains')
    sendGrid.setScopes(['mail.send'])
    expect(await send(mail)).toMatchObject({ status: 202 })
    expect(await listed()).toMatchObject({ status: 403, json: SENDGRID.forbidden.json })
    expect(await call('GET', '/scopes')).toMatchObject({ json: { scopes: ['mail.send'] } })
    sendGrid.setScopes(undefined)
    expect(await listed()).toMatchObject({ status: 200 })
  })

  it.each([
    ['GET', '/mail/send', undefined, 405],
    ['POST', '/mail/sent', {}, 404],
    ['GET', '/whitelabel/domains/1', undefined, 404],
    ['POST', '/mail/send', '{', 400],
  ])('%s %s has no answer', async (method, path, body, status) => {
    expect((await call(method, path, body)).status).toBe(status)
  })

  it('a request that is not UTF-8 is refused', async () => {
    const answer = await send(Buffer.from('{"subject":"\xff"}', 'latin1'))
    expect(answer.status).toBe(415)
  })

  it('a request of another type than JSON is refused', async () => {
    expect((await send('a=b', { 'content-type': 'text/plain' })).status).toBe(415)
  })

  it('is answered as scripted', async () => {
    sendGrid.setScript(({ n }) => (n === 1 ? SENDGRID.tooManyRequests : undefined))
    expect(await send(mail)).toMatchObject({ status: 429 })
    expect(await send(mail)).toMatchObject({ status: 202 })
    expect(sendGrid.requests.map(({ status }) => status)).toEqual([undefined, 202])
  })
})

describe('a domain', () => {
  const create = (more: object = {}) =>
    call('POST', '/whitelabel/domains', { domain: 'new.example', ...more })

  it('is created with three aliases, or with other records', async () => {
    const { status, json } = await create({ custom_dkim_selector: 'pr' })
    expect({ status, json }).toMatchObject({
      status: 201,
      json: {
        domain: 'new.example',
        automatic_security: true,
        valid: false,
        dns: {
          mail_cname: { type: 'cname', valid: false },
          dkim1: { type: 'cname', host: 'pr._domainkey.new.example' },
          dkim2: { type: 'cname', host: 'pr2._domainkey.new.example' },
        },
      },
    })
    const manual = await create({
      domain: 'other.example',
      automatic_security: false,
      custom_spf: true,
      ips: ['192.0.2.1'],
    })
    expect(manual.json).toMatchObject({
      ips: ['192.0.2.1'],
      dns: { mail_server: { type: 'mx' }, subdomain_spf: { type: 'txt' }, dkim: { type: 'txt' } },
    })
  })

  it.each<[string, object]>([
    ['a name that is none', { domain: 'x y' }],
    ['a name of another account', { domain: 'foreign.example' }],
    ['a name that is there', { domain: 'example.com' }],
    ['a long selector', { custom_dkim_selector: 'long' }],
    ['a field of no meaning', { selector: 'pr' }],
    ['its own SPF and automatic security', { custom_spf: true }],
  ])('a domain with %s is refused', async (_what, more) => {
    sendGrid.domains.addForeign('foreign.example')
    expect(await create(more)).toMatchObject({ status: 400, json: { errors: [{ help: null }] } })
  })

  it('is valid by the records of a name server, and can send only then', async () => {
    const dns = await createDnsServer()
    cleanups.push(() => dns.close())
    sendGrid = await createSendGridServer({ dnsServer: dns.address })
    cleanups.push(() => sendGrid.close())
    const { json: made } = await create()
    const validate = () => call('POST', `/whitelabel/domains/${made.id}/validate`)
    const from = { ...mail, from: { email: 'a@new.example' } }
    expect((await validate()).json).toMatchObject({
      valid: false,
      validation_results: { dkim1: { valid: false, reason: expect.stringContaining('Expected') } },
    })
    expect(await send(from)).toMatchObject({ status: 403 })
    const records: { host: string; data: string }[] = Object.values(made.dns)
    for (const { host, data } of records) dns.set(host, 'CNAME', [data])
    expect((await validate()).json).toEqual({
      id: made.id,
      valid: true,
      validation_results: {
        mail_cname: { valid: true, reason: null },
        dkim1: { valid: true, reason: null },
        dkim2: { valid: true, reason: null },
      },
    })
    expect(await send(from)).toMatchObject({ status: 202 })
    dns.setScript(() => ({ rcode: 2 }))
    expect(await validate()).toMatchObject({ status: 500 })
  })

  it('is valid as scripted', async () => {
    const { json: made } = await create()
    const validate = () => call('POST', `/whitelabel/domains/${made.id}/validate`)
    sendGrid.domains.setVerification(() => ({ dkim2: 'not there yet' }))
    expect((await validate()).json).toMatchObject({
      valid: false,
      validation_results: { dkim1: { valid: true }, dkim2: { reason: 'not there yet' } },
    })
    sendGrid.domains.setVerification(undefined)
    expect((await validate()).json).toMatchObject({ valid: true })
  })

  it('is shown, found and deleted', async () => {
    const id = sendGrid.domains.find('example.com')?.id
    expect((await call('GET', `/whitelabel/domains/${id}`)).json).toMatchObject({ valid: true })
    expect((await call('GET', '/whitelabel/domains?domain=example.com')).json).toHaveLength(1)
    expect((await call('GET', '/whitelabel/domains?domain=no.example')).json).toEqual([])
    expect(await call('DELETE', `/whitelabel/domains/${id}`)).toMatchObject({ status: 204 })
    expect(await call('DELETE', `/whitelabel/domains/${id}`)).toMatchObject({ status: 404 })
    expect(await send(mail)).toMatchObject({ status: 403 })
  })
})

describe('the webhook', () => {
  const isSigned = (request: WebhookRequest | undefined): boolean => {
    const signature = request?.header('x-twilio-email-event-webhook-signature') ?? ''
    const timestamp = request?.header('x-twilio-email-event-webhook-timestamp') ?? ''
    const key = createPublicKey({
      key: Buffer.from(sendGrid.verificationKey, 'base64'),
      format: 'der',
      type: 'spki',
    })
    const signed = Buffer.concat([Buffer.from(timestamp), request?.body ?? Buffer.alloc(0)])
    return verify('sha256', signed, key, Buffer.from(signature, 'base64'))
  }

  it('is set, signed and tested through the API', async () => {
    const receiver = await receive()
    const settings = { enabled: true, url: receiver.origin, delivered: true, bounce: true }
    const path = '/user/webhooks/event'
    expect(await call('PATCH', `${path}/settings`, settings)).toMatchObject({
      status: 200,
      json: { enabled: true, url: receiver.origin, delivered: true, open: false },
    })
    expect(await call('PATCH', `${path}/settings/signed`, { enabled: true })).toMatchObject({
      json: { public_key: sendGrid.verificationKey },
    })
    expect((await call('GET', `${path}/settings/signed`)).json.public_key).toBe(
      sendGrid.verificationKey,
    )
    expect(await call('POST', `${path}/test`, { url: receiver.origin })).toMatchObject({
      status: 204,
    })
    const [tested] = receiver.requests
    expect(tested?.json).toContainEqual(expect.objectContaining({ event: 'spamreport' }))
    expect(isSigned(tested)).toBe(true)
    expect(await call('PATCH', `${path}/settings`, { event: true })).toMatchObject({ status: 400 })
  })

  it('gets one flat object for each event, with the arguments among its fields', async () => {
    const receiver = await receive()
    sendGrid.setWebhook(receiver.origin)
    sendGrid.setFate(() => ['processed', { event: 'bounce', type: 'blocked' }])
    await send(withPart({ custom_args: { ref: 'r1', event: 'mine', email: 'mine' } }))
    const [request] = await receiver.waitForRequests(1)
    const [taken] = sendGrid.mails
    expect(request?.json).toMatchObject([
      { event: 'processed', email: 'b@example.net', ref: 'r1', sg_message_id: taken?.messageId },
      { event: 'bounce', type: 'blocked', status: '5.1.1', reason: expect.any(String) },
    ])
    expect(taken?.messageId.startsWith(`${taken.id}.`)).toBe(true)
    expect(isSigned(request)).toBe(true)
    // Serialising the JSON again gives other bytes than were signed.
    expect(request?.body.toString()).not.toBe(JSON.stringify(request?.json))
  })

  it('gets an event again until it answers 2xx', async () => {
    const receiver = await receive()
    receiver.setScript([500, 301, 204])
    sendGrid.setWebhook(receiver.origin)
    await send(mail)
    await receiver.waitForRequests(3)
    await sendGrid.callbacksSettled()
    expect(sendGrid.batches.at(-1)).toMatchObject({
      isAccepted: true,
      attempts: [{ status: 500 }, { status: 301 }, { status: 204 }],
    })
  })

  it('gets wrongly signed, early or missing events on request', async () => {
    const receiver = await receive()
    sendGrid.setWebhook(receiver.origin)
    sendGrid.setCallbacks('manual')
    await send(mail)
    const [taken] = sendGrid.mails
    if (taken === undefined) throw new Error('nothing was taken')
    const events = sendGrid.eventsOf(taken, ['delivered'])
    await sendGrid.callBack({ events, tamper: (body) => body.replace('delivered', 'bounce') })
    sendGrid.setSigning('other')
    await sendGrid.callBack({ events })
    sendGrid.setSigning('own')
    await sendGrid.callBack({ events, timestamp: 1_600_000_000 })
    sendGrid.setSigning('none')
    await sendGrid.callBack({ events })
    expect(receiver.requests.map(isSigned)).toEqual([false, false, true, false])
    const stamp = 'x-twilio-email-event-webhook-timestamp'
    expect(receiver.requests[2]?.header(stamp)).toBe('1600000000')
    expect(receiver.requests[3]?.header(stamp)).toBeUndefined()
  })
})
