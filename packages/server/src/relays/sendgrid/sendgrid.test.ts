/** The adapter against a SendGrid as strict as its documents, over real connections. */
import {
  createSendGridServer,
  createWebhookReceiver,
  type SendGridServer,
} from '@postrider/testkit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createClock } from '../../platform/clock.ts'
import { createEgress, type Egress } from '../../platform/egress/index.ts'
import { createRelayCalls, type Relays } from '../call-relays.ts'
import type { RelayAccount, RelayDomain, RelayDomainOutcome, RelayMail } from '../relay.ts'
import { sendgrid } from './sendgrid.ts'

let server: SendGridServer
let egress: Egress
let relays: Relays
let account: RelayAccount

beforeEach(async () => {
  server = await createSendGridServer()
  egress = createEgress({ allowNetworks: ['127.0.0.0/8'] })
  relays = createRelayCalls({
    egress,
    clock: createClock(),
    adapterOf: () => sendgrid,
    deliverCallback: () => Promise.reject(new Error('a provider calls back by itself')),
  })
  const { apiBase, apiKey } = server
  account = { tenantId: 'tn_a', kind: 'sendgrid', apiKey, apiBase, configVersion: 1 }
})
afterEach(async () => {
  await egress.close()
  await server.close()
})

const refId = '01JD3Z5V9S8QWERTY0ABCDEFGH'
const mail: RelayMail = {
  refId,
  n: 3,
  from: { address: 'shop@example.com', name: 'Käse & Co, "Shop"' },
  to: { address: 'ann@example.org', name: 'Ann' },
  type: 'cc',
  shown: { to: [{ address: 'bob@example.org' }], cc: [{ address: 'ann@example.org' }] },
  replyTo: { address: 'help@example.com' },
  subject: 'Grüße {{name}} <%x%>',
  text: 'Hi -name-',
  html: '<img src="cid:logo">Hi {{name}}',
  headers: [
    ['Message-ID', '<1@example.com>'],
    ['List-Unsubscribe', '<https://example.com/u>'],
    ['List-Unsubscribe-Post', 'List-Unsubscribe=One-Click'],
    ['X-Note', 'Grüße '.repeat(40)],
    ['Content-Type', 'text/odd'],
  ],
  attachments: [
    { filename: 'logo.png', content: 'aGk=', contentId: 'logo' },
    { filename: 'Größe.csv', content: 'aGk=', type: 'text/csv; charset=utf-8' },
  ],
  campaignId: 'spring',
}
const send = (change: Partial<RelayMail> = {}) => relays.send(account, { ...mail, ...change })

describe('a copy', () => {
  it('arrives unchanged, under the id that was answered', async () => {
    server.domains.add('example.com')
    const result = await send()
    const [taken] = server.mails
    expect(result).toEqual({
      kind: 'answered',
      outcome: { kind: 'accepted', providerMessageId: taken?.id },
    })
    expect(server.mails).toHaveLength(1)
    expect(taken).toMatchObject({
      to: 'ann@example.org',
      from: { email: 'shop@example.com', name: 'Käse & Co, "Shop"' },
      replyTo: 'help@example.com',
      subject: mail.subject,
      text: mail.text,
      html: mail.html,
      meta: { postrider_ref: `${refId}.3` },
      categories: ['spring'],
      attachments: [
        { filename: 'logo.png', type: 'image/png', isInline: true, contentId: 'logo' },
        { filename: 'Größe.csv', type: 'text/csv', isInline: false },
      ],
    })
    expect(taken?.headers).toMatchObject({
      To: '"Ann" <ann@example.org>',
      'Message-ID': '<1@example.com>',
      'List-Unsubscribe': '<https://example.com/u>',
    })
  })

  it('a copy of almost nothing is accepted', async () => {
    server.domains.add('example.com')
    const { text: _t, html: _h, replyTo: _r, campaignId: _c, ...rest } = mail
    const least = { ...rest, subject: '', headers: [], attachments: [] }
    for (const body of [{ text: '' }, { html: '' }, { text: '', html: '' }, { html: '<p>' }])
      expect(await relays.send(account, { ...least, ...body })).toMatchObject({
        outcome: { kind: 'accepted' },
      })
  })

  it.each([
    ['an address that is none', { to: { address: 'a..b@example.org' } }, 'invalid_recipient'],
    ['an empty file', { attachments: [{ filename: 'a', content: '' }] }, 'content_rejected'],
    [
      'a sender of a domain that is not verified',
      { from: { address: 'a@example.net' } },
      'sender_not_allowed',
    ],
    ['more than SendGrid takes', { text: 'x'.repeat(31 * 1024 * 1024) }, 'message_too_large'],
  ])('a copy of %s is refused for good', async (_name, change, category) => {
    server.domains.add('example.com')
    expect(await send(change)).toMatchObject({
      kind: 'answered',
      outcome: {
        kind: 'failed',
        failure: { category, retryable: false, authRejected: false },
      },
    })
    expect(server.mails).toEqual([])
  })

  it('is refused with a wrong key, which is not repeated', async () => {
    const apiKey = 'SG.another-key-altogether'
    const result = await relays.send({ ...account, apiKey }, mail)
    expect(result).toMatchObject({
      outcome: { failure: { category: 'auth_rejected', authRejected: true } },
    })
    expect(JSON.stringify(result)).not.toContain(apiKey)
  })

  it('is not lost at an address that does not belong to SendGrid', async () => {
    const apiBase = `${account.apiBase}/v2`
    expect(await relays.send({ ...account, apiBase }, mail)).toMatchObject({
      outcome: { failure: { category: 'protocol_error', retryable: false } },
    })
  })
})

const domain: RelayDomain = {
  domain: 'example.com',
  dkim: { selector: 'pr', privateKey: 'private', publicKey: 'public' },
  options: {},
}

async function ask(step: 'create' | 'verify' | 'delete', change: Partial<RelayDomain> = {}) {
  const call = sendgrid.domains[step](account, { ...domain, ...change })
  const result = await relays.domain(account, call)
  if (result.kind !== 'answered') throw new Error(result.kind)
  return result.outcome
}
const numberOf = (outcome: RelayDomainOutcome) =>
  outcome.kind === 'done' ? outcome.providerId : outcome.kind

describe('a domain', () => {
  it('is made once, verified when its records are found, and deleted', async () => {
    const made = await ask('create')
    expect(made).toMatchObject({ kind: 'done', agrees: false, records: { length: 3 } })
    const providerId = numberOf(made) ?? ''
    expect(await ask('create')).toEqual({ ...made, wasThere: true })
    expect(server.domains.all).toHaveLength(1)

    const reason = 'Expected CNAME'
    server.domains.setVerification(() => ({ dkim1: reason }))
    expect(await ask('verify', { providerId })).toMatchObject({
      agrees: false,
      detail: `dkim1: ${reason}`,
    })
    server.domains.setVerification(undefined)
    expect(await ask('verify')).toEqual({ ...made, agrees: true })
    expect(await send()).toMatchObject({ outcome: { kind: 'accepted' } })

    expect(await ask('delete')).toEqual({ kind: 'absent' })
    expect(await ask('delete', { providerId })).toMatchObject({ kind: 'done' })
    expect(server.domains.all).toEqual([])
    expect(await ask('delete', { providerId })).toEqual({ kind: 'absent' })
    expect(await ask('verify', { providerId })).toEqual({ kind: 'absent' })
  })

  it('a domain with its own addresses has its records in the zone of its owner', async () => {
    const options = { ips: ['192.0.2.1'], selector: 'abc' }
    const made = await ask('create', { options })
    expect(made).toMatchObject({
      records: [
        { type: 'MX', purpose: 'return_path', priority: 10 },
        { type: 'TXT', purpose: 'spf', required: true },
        { type: 'TXT', purpose: 'dkim', name: 'abc._domainkey.example.com' },
      ],
    })
    expect(server.domains.all).toMatchObject([{ ips: ['192.0.2.1'], isCustomSpf: true }])
  })

  it('is taken when another account has it, and fails with a malformed selector', async () => {
    server.domains.addForeign('example.net')
    expect(await ask('create', { domain: 'example.net' })).toMatchObject({ kind: 'taken' })
    expect(await ask('create', { options: { selector: 'selector' } })).toMatchObject({
      kind: 'failed',
      failure: { category: 'unknown', retryable: false },
    })
  })

  it('fails for the moment when SendGrid cannot look it up', async () => {
    const providerId = numberOf(await ask('create')) ?? ''
    server.domains.setVerification(() => 'fails')
    expect(await ask('verify', { providerId })).toMatchObject({
      kind: 'failed',
      failure: { category: 'temporary', retryable: true },
    })
  })
})

describe('callbacks', () => {
  it('are authentic as sent, and report the mail', async () => {
    server.domains.add('example.com')
    const receiver = await createWebhookReceiver()
    server.setWebhook(receiver.origin)
    server.setFate(() => ['processed', 'deferred', 'delivered', 'spamreport'])
    await send()
    await server.callbacksSettled()
    const [request] = await receiver.waitForRequests(1)
    if (request === undefined) throw new Error('no callback')
    await receiver.close()
    const headers = Object.fromEntries(
      request.rawHeaders.map(([name, value]) => [name.toLowerCase(), value]),
    )
    const { verificationKey } = server
    const isAuthentic = (body: Buffer) =>
      sendgrid.callbacks.isAuthentic({ headers, body }, { verificationKey }, Date.now())
    expect(isAuthentic(request.body)).toBe(true)
    expect(isAuthentic(Buffer.from(JSON.stringify(request.json)))).toBe(false)
    const facts = sendgrid.callbacks.read(request.body.toString()) ?? []
    expect(facts.map(({ kind }) => kind)).toEqual([
      'processed',
      'deferred',
      'delivered',
      'complained',
    ])
    const { id } = server.mails[0] ?? {}
    for (const fact of facts)
      expect(fact).toMatchObject({
        ref: { refId, n: 3 },
        providerSendId: id,
        email: 'ann@example.org',
      })
    expect(new Set(facts.map(({ factId }) => factId)).size).toBe(4)
  })

  it('test callbacks name no mail', async () => {
    const receiver = await createWebhookReceiver()
    server.setWebhook(receiver.origin)
    await server.test()
    const [request] = await receiver.waitForRequests(1)
    await receiver.close()
    const facts = sendgrid.callbacks.read(request?.body.toString() ?? '') ?? []
    expect(facts.length).toBeGreaterThan(5)
    for (const { ref } of facts) expect(ref).toBeUndefined()
  })
})
