import { generateKeyPairSync } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createDnsServer } from '../dns/dns-server.ts'
import { createWebhookReceiver, type WebhookReceiver } from '../webhook-receiver.ts'
import { headerOf } from './relayed-mail.ts'
import { SPARKPOST } from './sparkpost-errors.ts'
import { createSparkPostServer, type SparkPostServer } from './sparkpost-server.ts'

const isText = (body: unknown): body is string | Buffer<ArrayBuffer> =>
  typeof body === 'string' || Buffer.isBuffer(body)

const cleanups: (() => Promise<unknown>)[] = []
let sparkPost: SparkPostServer
beforeEach(async () => {
  sparkPost = await createSparkPostServer()
  cleanups.push(() => sparkPost.close())
  sparkPost.domains.add('example.com')
})
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup()
})

interface Answer {
  readonly status: number
  // biome-ignore lint/suspicious/noExplicitAny: an answer is looked at field by field
  readonly json: any
}

async function call(
  method: string,
  path: string,
  body?: unknown,
  headers: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  const response = await fetch(`${sparkPost.apiBase}/v1${path}`, {
    method,
    headers: {
      authorization: sparkPost.apiKey,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: isText(body) ? body : JSON.stringify(body) }),
  })
  const text = await response.text()
  return { status: response.status, json: text === '' ? undefined : JSON.parse(text) }
}

const transmit = (body: unknown, headers?: Readonly<Record<string, string>>) =>
  call('POST', '/transmissions', body, headers)

const content = { from: { email: 'a@example.com', name: 'Ada' }, subject: 'Hello', text: 'Hi' }
const mail = { recipients: [{ address: { email: 'b@example.net' } }], content }
const withContent = (more: object) => ({ ...mail, content: { ...content, ...more } })

async function receive(status = 200): Promise<WebhookReceiver> {
  const receiver = await createWebhookReceiver({ script: () => status })
  cleanups.push(() => receiver.close())
  return receiver
}

describe('a transmission', () => {
  it('is answered with its id, and can be read for each recipient as rendered', async () => {
    const { status, json } = await transmit({
      options: { open_tracking: false, click_tracking: false, perform_substitutions: false },
      campaign_id: 'spring',
      metadata: { ref: 'one', common: 'x' },
      recipients: [
        { address: { email: 'B@example.net', name: 'Bob' }, metadata: { ref: 'two' } },
        { address: { email: 'c@example.net', header_to: 'b@example.net' } },
      ],
      content: {
        ...content,
        html: '<p>{{not}} rendered</p>',
        reply_to: 'r@example.com',
        headers: { 'Message-ID': '<1@example.com>', CC: 'c@example.net' },
        attachments: [{ name: 'a.txt', type: 'text/plain', data: 'aGk=' }],
        inline_images: [{ name: 'logo', type: 'image/png', data: 'aGk=' }],
      },
    })
    expect({ status, json }).toEqual({
      status: 200,
      json: {
        results: {
          total_rejected_recipients: 0,
          total_accepted_recipients: 2,
          id: expect.stringMatching(/^\d+$/),
        },
      },
    })
    const [first, second] = await sparkPost.waitForMails(2)
    expect(first).toMatchObject({
      id: json.results.id,
      to: 'B@example.net',
      from: { email: 'a@example.com', name: 'Ada' },
      replyTo: 'r@example.com',
      subject: 'Hello',
      text: 'Hi',
      html: '<p>{{not}} rendered</p>',
      headers: {
        'Message-ID': '<1@example.com>',
        CC: 'c@example.net',
        To: '"Bob" <B@example.net>',
      },
      meta: { ref: 'two', common: 'x' },
      campaignId: 'spring',
      attachments: [
        { filename: 'a.txt', type: 'text/plain', content: Buffer.from('hi'), isInline: false },
        { filename: 'logo', contentId: 'logo', isInline: true },
      ],
    })
    expect(second).toMatchObject({ to: 'c@example.net', meta: { ref: 'one' } })
    expect(second === undefined ? '' : headerOf(second, 'to')).toBe('b@example.net')
    expect(sparkPost.ignoredFields).toEqual([])
  })

  it('a transmission of a raw message has the headers of that message', async () => {
    const email_rfc822 =
      'From: Ada <a@example.com>\r\nSubject: Raw\r\nList-Unsubscribe: <x>\r\n\r\nHi'
    await transmit({ ...mail, content: { email_rfc822 } })
    expect(sparkPost.mails[0]).toMatchObject({
      from: { email: 'a@example.com', name: 'Ada' },
      subject: 'Raw',
      headers: { 'List-Unsubscribe': '<x>' },
      rfc822: email_rfc822,
    })
  })

  it('loses List-Unsubscribe, which SparkPost sets itself, and the test can see that', async () => {
    await transmit(withContent({ headers: { 'List-Unsubscribe': '<x>', 'X-A': 'b' } }))
    const [taken] = sparkPost.mails
    expect(taken?.headers).toEqual({ 'X-A': 'b', To: 'b@example.net' })
    expect(taken?.droppedHeaders).toEqual(['List-Unsubscribe'])
  })

  it('keeps List-Unsubscribe when it is transactional', async () => {
    const body = withContent({ headers: { 'List-Unsubscribe': '<x>' } })
    await transmit({ ...body, options: { transactional: true } })
    expect(sparkPost.mails[0]).toMatchObject({
      headers: { 'List-Unsubscribe': '<x>' },
      droppedHeaders: [],
    })
  })

  it('has its headers rendered even without substitutions', async () => {
    const options = { perform_substitutions: false }
    const subject =
      '{{ name }} {{{missing}}}{{opening_double_curly()}}x{{ closing_double_curly() }}'
    const substitution_data = { name: 'B & C' }
    const body = withContent({ subject, text: '{{name}}' })
    await transmit({ ...body, options, substitution_data })
    expect(sparkPost.mails[0]).toMatchObject({ subject: 'B & C {{x}}', text: '{{name}}' })
    await transmit({ ...withContent({ html: '{{name}}|{{{name}}}' }), substitution_data })
    expect(sparkPost.mails[1]?.html).toBe('B &amp; C|B & C')
    expect(await transmit(withContent({ subject: 'x {{ if }} y' }))).toMatchObject({ status: 422 })
    expect(await transmit(withContent({ subject: 'x {{ 1 + }} y' }))).toMatchObject({
      status: 422,
      json: { errors: [{ code: '3000' }] },
    })
    expect(await transmit(withContent({ subject: 'x {{ y' }))).toMatchObject({ status: 422 })
  })

  it('accepts its valid recipients, and names the others', async () => {
    const recipients = [{ address: 'b@example.net' }, { address: { name: 'x' } }, { address: 'x' }]
    const { status, json } = await transmit({ ...mail, recipients })
    expect({ status, json }).toMatchObject({
      status: 200,
      json: {
        errors: [{ code: '2000' }],
        results: {
          rcpt_to_errors: [{ code: '1400' }, { code: '1300' }],
          total_rejected_recipients: 2,
          total_accepted_recipients: 1,
        },
      },
    })
    expect(sparkPost.mails.map(({ to }) => to)).toEqual(['b@example.net'])
  })

  it.each<[string, unknown, number, string | undefined]>([
    ['no recipients', { content }, 422, '1400'],
    ['no content', { recipients: mail.recipients }, 422, '1400'],
    ['an empty list of recipients', { ...mail, recipients: [] }, 422, '1400'],
    ['no recipient that is one', { ...mail, recipients: [{ address: 'x' }] }, 400, '5002'],
    ['a stored list', { ...mail, recipients: { list_id: 'x' } }, 422, '1603'],
    ['no subject', { ...mail, content: { from: content.from, text: 'x' } }, 422, '1400'],
    ['no body', { ...mail, content: { from: content.from, subject: 'x' } }, 422, '1400'],
    ['an option that is text', { ...mail, options: { open_tracking: 'no' } }, 422, '1300'],
    ['a header that is no text', withContent({ headers: { 'X-A': 1 } }), 422, '1300'],
    ['a header that it makes', withContent({ headers: { subject: 'x' } }), 422, '3002'],
    ['a header in two lines', withContent({ headers: { 'X-A': 'b\r\nC: d' } }), 422, '3002'],
    ['a header without a name', withContent({ headers: { 'X A': 'b' } }), 422, '3002'],
    ['a name of a campaign too long', { ...mail, campaign_id: 'x'.repeat(65) }, 422, '1300'],
    ['metadata too long', { ...mail, metadata: { x: 'x'.repeat(10_240) } }, 422, '2007'],
    [
      'substitutions too long',
      { ...mail, substitution_data: { x: 'x'.repeat(102_400) } },
      422,
      '2002',
    ],
    [
      'an attachment that is not base64',
      withContent({ attachments: [{ name: 'a', type: 'text/plain', data: 'a b\r\n' }] }),
      422,
      '1300',
    ],
    [
      'an attachment without a type',
      withContent({ attachments: [{ name: 'a', data: 'aGk=' }] }),
      422,
      '1400',
    ],
    [
      'images of one name',
      withContent({
        inline_images: [
          { name: 'a', type: 'image/png', data: 'aGk=' },
          { name: 'a', type: 'image/png', data: 'aGk=' },
        ],
      }),
      422,
      '1300',
    ],
    ['too much content', withContent({ text: 'x'.repeat(20_000_001) }), 413, undefined],
    ['an unknown domain', withContent({ from: 'a@other.example' }), 400, '7001'],
    ['a subdomain of its domain', withContent({ from: 'a@mail.example.com' }), 400, '7001'],
    ['a sender without a local part', withContent({ from: '@example.com' }), 400, '2008'],
    ['a return-path elsewhere', { ...mail, return_path: 'b@other.example' }, 400, '7001'],
    [
      'raw and other content',
      withContent({ email_rfc822: 'From: a@example.com\r\n\r\nx' }),
      422,
      '1301',
    ],
    ['no JSON', '{', 422, '1300'],
  ])('a transmission with %s is refused', async (_what, body, status, code) => {
    const answer = await transmit(body)
    expect(answer.status).toBe(status)
    expect(answer.json.errors[0].code).toBe(code)
    expect(sparkPost.mails).toEqual([])
  })

  it('names the fields that mean nothing to SparkPost', async () => {
    await transmit({ ...withContent({ bcc: 'x' }), option: {} })
    expect(sparkPost.ignoredFields.toSorted()).toEqual(['content.bcc', 'option'])
    expect(sparkPost.mails).toHaveLength(1)
  })
})

describe('a request', () => {
  it.each([
    ['the bare key', (key: string) => key, 200],
    ['Basic with the key as name', (key: string) => `Basic ${btoa(`${key}:`)}`, 200],
    ['a bearer token', (key: string) => `Bearer ${key}`, 401],
    ['another key', () => 'x', 401],
  ])('a request with %s is accepted or refused as documented', async (_what, write, status) => {
    const { json, ...answer } = await transmit(mail, { authorization: write(sparkPost.apiKey) })
    expect(answer.status).toBe(status)
    if (status === 401) expect(json).toEqual(SPARKPOST.unauthorized.json)
  })

  it('beyond the scopes of its key is refused', async () => {
    sparkPost.setPermissions(['transmissions'])
    expect(await transmit(mail)).toMatchObject({ status: 200 })
    expect(await call('GET', '/account')).toEqual({ status: 403, json: SPARKPOST.forbidden.json })
    sparkPost.setPermissions(undefined)
    expect(await call('GET', '/account')).toMatchObject({ status: 200 })
  })

  it.each([
    ['POST', '/nothing', {}, 404, '1101'],
    ['GET', '/transmissions', undefined, 405, '1102'],
    ['POST', '/transmissions/x', {}, 404, '1101'],
  ])('%s %s has no answer', async (method, path, body, status, code) => {
    const answer = await call(method, path, body)
    expect(answer).toMatchObject({ status, json: { errors: [{ code }] } })
  })

  it('a request that is not UTF-8 is refused', async () => {
    const answer = await transmit(Buffer.from('{"subject":"\xff"}', 'latin1'))
    expect(answer.status).toBe(400)
  })

  it('a request of another type than JSON is refused', async () => {
    expect(await transmit('a=b', { 'content-type': 'text/plain' })).toMatchObject({
      status: 415,
      json: { errors: [{ code: '1700' }] },
    })
  })

  it('is answered as scripted, carried out or not', async () => {
    sparkPost.setScript(() => SPARKPOST.hourlyLimit)
    expect(await transmit(mail)).toEqual({ status: 420, json: SPARKPOST.hourlyLimit.json })
    expect(sparkPost.mails).toEqual([])
    sparkPost.setScript(() => ({ ending: 'rst', isCarriedOut: true }))
    await expect(transmit(mail)).rejects.toThrow()
    expect(sparkPost.mails).toHaveLength(1)
    sparkPost.setScript(() => ({
      status: 200,
      headers: { 'content-length': '1000' },
      body: '{"results":{"tot',
      ending: 'fin',
    }))
    await expect(transmit(mail)).rejects.toThrow()
    const gate = Promise.withResolvers<void>()
    sparkPost.setScript(() => ({ isCarriedOut: true, after: gate.promise }))
    const late = transmit(mail)
    await sparkPost.waitForMails(2)
    gate.resolve()
    expect(await late).toMatchObject({ status: 200, json: { results: {} } })
    sparkPost.setScript(undefined)
    sparkPost.cutBodies(1)
    await expect(transmit(mail)).rejects.toThrow()
    expect(sparkPost.cutOff).toBe(1)
    expect(await transmit(mail)).toMatchObject({ status: 200 })
  })
})

describe('a sending domain', () => {
  const pair = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    privateKeyEncoding: { type: 'pkcs8', format: 'der' },
    publicKeyEncoding: { type: 'spki', format: 'der' },
  })
  const dkim = {
    selector: 'pr1',
    private: pair.privateKey.toString('base64'),
    public: pair.publicKey.toString('base64'),
  }
  const own = { domain: 'new.example', generate_dkim: false, dkim }

  it('is created with a new key, or with a given one', async () => {
    const made = await call('POST', '/sending-domains', { domain: 'other.example' })
    expect(made).toMatchObject({
      status: 200,
      json: { results: { domain: 'other.example', dkim: { signing_domain: 'other.example' } } },
    })
    expect(made.json.results.dkim.private).toBeUndefined()
    const given = await call('POST', '/sending-domains', own)
    expect(given).toMatchObject({ status: 200, json: { results: { domain: 'new.example' } } })
    expect(given.json.results.dkim).toBeUndefined()
    expect(sparkPost.domains.find('new.example')?.dkim.public).toBe(dkim.public)
  })

  it('gets a new key unless the request forbids that', async () => {
    await call('POST', '/sending-domains', { domain: 'new.example', dkim })
    expect(sparkPost.domains.find('new.example')?.dkim.public).not.toBe(dkim.public)
  })

  it.each<[string, unknown, number, string]>([
    ['no name', {}, 422, '1400'],
    ['a name that is none', { domain: 'x y' }, 422, '1300'],
    ['a name that is there', { domain: 'example.com' }, 409, '1602'],
    ['a name of another account', { domain: 'foreign.example' }, 400, '7004'],
    ['no key', { domain: 'new.example', generate_dkim: false }, 422, '1400'],
    ['half a key', { ...own, dkim: { selector: 'x', public: dkim.public } }, 422, '1400'],
    ['a key in PEM', { ...own, dkim: { ...dkim, private: 'MII\nA' } }, 422, '1300'],
    ['keys of two pairs', { ...own, dkim: { ...dkim, public: 'MIIB' } }, 422, '1300'],
    ['a tracking domain', { domain: 'new.example', tracking_domain: 'x.example' }, 400, '1200'],
  ])('a sending domain with %s is refused', async (_what, body, status, code) => {
    sparkPost.domains.addForeign('foreign.example')
    const answer = await call('POST', '/sending-domains', body)
    expect(answer).toMatchObject({ status, json: { errors: [{ code }] } })
  })

  it('verifies by the records of a name server, and can send only then', async () => {
    const dns = await createDnsServer()
    cleanups.push(() => dns.close())
    const strict = await createSparkPostServer({ dnsServer: dns.address })
    cleanups.push(() => strict.close())
    sparkPost = strict
    await call('POST', '/sending-domains', own)
    const from = withContent({ from: 'a@new.example' })
    const verify = () => call('POST', '/sending-domains/new.example/verify', { dkim_verify: true })
    expect(await transmit(from)).toMatchObject({ status: 400 })

    expect((await verify()).json.results).toMatchObject({
      ownership_verified: false,
      dkim_status: 'invalid',
      dns: { dkim_error: 'DNS record not found' },
    })
    dns.set('pr1._domainkey.new.example', 'TXT', ['v=DKIM1; k=rsa; p=AAAA'])
    expect((await verify()).json.results.dns.dkim_error).toBe('p= is another key')
    dns.set('pr1._domainkey.new.example', 'TXT', [`v=DKIM1; k=rsa; p=${dkim.public}`])
    expect((await verify()).json.results).toMatchObject({
      ownership_verified: true,
      dkim_status: 'valid',
      cname_status: 'unverified',
      compliance_status: 'valid',
    })
    expect(await transmit(from)).toMatchObject({ status: 200 })
  })

  it('changes its key once the record of the next one exists', async () => {
    const dns = await createDnsServer()
    cleanups.push(() => dns.close())
    sparkPost = await createSparkPostServer({ dnsServer: dns.address })
    cleanups.push(() => sparkPost.close())
    await call('POST', '/sending-domains', { domain: 'new.example' })
    const change = () => call('PUT', '/sending-domains/new.example', { dkim })
    expect(await change()).toMatchObject({ status: 400, json: { errors: [{ code: '1404' }] } })
    expect(sparkPost.domains.find('new.example')?.dkim.selector).not.toBe('pr1')
    dns.set('pr1._domainkey.new.example', 'TXT', [`p=${dkim.public}`])
    expect(await change()).toMatchObject({ status: 200 })
    expect(sparkPost.domains.find('new.example')?.dkim.selector).toBe('pr1')
  })

  it('verifies as scripted', async () => {
    await call('POST', '/sending-domains', own)
    sparkPost.domains.setVerification(() => ({ dkim: 'pending', error: 'soon' }))
    const verify = () => call('POST', '/sending-domains/new.example/verify', { dkim_verify: true })
    expect((await verify()).json.results).toMatchObject({
      dkim_status: 'pending',
      dns: { dkim_error: 'soon' },
    })
    sparkPost.domains.setVerification(undefined)
    expect((await verify()).json.results).toMatchObject({ dkim_status: 'valid' })
  })

  it('is shown, listed and deleted', async () => {
    const shown = await call('GET', '/sending-domains/example.com')
    expect(shown.json.results).toMatchObject({ status: { dkim_status: 'valid' } })
    expect(JSON.stringify(shown.json)).not.toContain('private')
    const listed = await call('GET', '/sending-domains')
    expect(listed.json.results).toMatchObject([{ domain: 'example.com' }])
    expect(await call('DELETE', '/sending-domains/example.com')).toEqual({ status: 204 })
    expect(await call('DELETE', '/sending-domains/example.com')).toMatchObject({
      status: 404,
      json: { errors: [{ code: '1600' }] },
    })
    expect(await transmit(mail)).toMatchObject({ status: 400 })
  })
})

describe('the webhook', () => {
  it('is pinged at its registration, and refused when the answer is not 200', async () => {
    const refusing = await receive(204)
    const body = { name: 'x', target: refusing.origin, events: ['delivery'] }
    expect(await call('POST', '/webhooks', body)).toMatchObject({ status: 400 })
    const receiver = await receive()
    const made = await call('POST', '/webhooks', {
      ...body,
      target: `${receiver.origin}/callbacks/sparkpost/x`,
      custom_headers: { 'X-Callback-Secret': 'hush' },
      auth_type: 'basic',
      auth_credentials: { username: 'u', password: 'p' },
    })
    expect(made).toMatchObject({ status: 200, json: { results: { id: expect.any(String) } } })
    const [ping] = receiver.requests
    expect(ping).toMatchObject({ path: '/callbacks/sparkpost/x', json: [{ msys: {} }] })
    expect(ping?.header('x-callback-secret')).toBe('hush')
    expect(ping?.header('authorization')).toBe(`Basic ${btoa('u:p')}`)
    expect(ping?.header('x-messagesystems-batch-id')).toMatch(/./)
  })

  it('gets events in the documented form', async () => {
    const receiver = await receive()
    await sparkPost.registerWebhook({ target: receiver.origin })
    sparkPost.setFate(() => ['injection', { type: 'bounce', num_retries: '3' }, 'out_of_band'])
    await transmit({ ...mail, metadata: { ref: 'r1' } })
    await receiver.waitForRequests(2)
    const [taken] = sparkPost.mails
    const events = receiver.requests[1]?.json as { msys: Record<string, Record<string, unknown>> }[]
    expect(events.map(({ msys }) => msys.message_event?.type)).toEqual([
      'injection',
      'bounce',
      'out_of_band',
    ])
    expect(events[1]?.msys.message_event).toMatchObject({
      error_code: '550',
      num_retries: '3',
      rcpt_meta: { ref: 'r1' },
      raw_rcpt_to: 'b@example.net',
      transmission_id: taken?.id,
      message_id: taken?.messageId,
    })
    const bounced = events[2]?.msys.message_event
    expect(bounced).not.toHaveProperty('rcpt_meta')
    expect(bounced).not.toHaveProperty('num_retries')
    expect(bounced).toMatchObject({ message_id: taken?.messageId })
  })

  it('has all events once callbacks are settled, also those about to be posted', async () => {
    const receiver = await receive()
    await sparkPost.registerWebhook({ target: receiver.origin })
    sparkPost.setScript(() => ({ isCarriedOut: true, ending: 'hang' }))
    const hanging = transmit(mail).catch((error: unknown) => error)
    await sparkPost.waitForMails(1)
    await sparkPost.callbacksSettled()
    expect(receiver.requests).toHaveLength(2)
    await sparkPost.close()
    expect(await hanging).toBeInstanceOf(Error)
  })

  it('gets a batch again until it answers 200, under one id', async () => {
    const receiver = await receive()
    await sparkPost.registerWebhook({ target: receiver.origin })
    receiver.clear()
    receiver.setScript([503, { ending: 'rst' }, 202, 200])
    await transmit(mail)
    await receiver.waitForRequests(4)
    await sparkPost.callbacksSettled()
    const ids = receiver.requests.map((one) => one.header('x-messagesystems-batch-id'))
    expect(new Set(ids).size).toBe(1)
    expect(sparkPost.batches.at(-1)).toMatchObject({
      isAccepted: true,
      attempts: [{ status: 503 }, { status: undefined }, { status: 202 }, { status: 200 }],
    })
  })

  it('gets a batch in parts, twice or in another order on request', async () => {
    const receiver = await receive()
    await sparkPost.registerWebhook({ target: receiver.origin })
    receiver.clear()
    sparkPost.setCallbacks('manual')
    await transmit(mail)
    const [taken] = sparkPost.mails
    if (taken === undefined) throw new Error('nothing was taken')
    await sparkPost.callBack({
      batchMax: 1,
      repeats: 1,
      parallel: 2,
      arrange: (events) => [...events].reverse(),
    })
    expect(receiver.requests).toHaveLength(4)
    await sparkPost.callBack({
      events: sparkPost.eventsOf(taken, [
        'spam_complaint',
        { type: 'new_type', class: 'ai_event' },
      ]),
      headers: { 'X-Callback-Secret': 'wrong' },
      tamper: (body) => body.replace('new_type', 'newer'),
    })
    expect(receiver.requests[4]?.json).toMatchObject([
      { msys: { message_event: { type: 'spam_complaint', fbtype: 'abuse' } } },
      { msys: { ai_event: { type: 'newer' } } },
    ])
  })

  it('gets nothing more after its deletion', async () => {
    const receiver = await receive()
    const made = await call('POST', '/webhooks', { name: 'x', target: receiver.origin, events: [] })
    expect(await call('DELETE', `/webhooks/${made.json.results.id}`)).toMatchObject({ status: 204 })
    await expect(sparkPost.callBack()).rejects.toThrow('no webhook')
  })
})
