/** The adapter over real connections, at a SparkPost that is as strict as its documents. */
import { generateKeyPairSync } from 'node:crypto'
import {
  createDnsServer,
  createSparkPostServer,
  createWebhookReceiver,
  SPARKPOST,
  type SparkPostServer,
} from '@postrider/testkit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createClock } from '../../platform/clock.ts'
import { createEgress } from '../../platform/egress/index.ts'
import { createRelayCalls, type Relays } from '../call-relays.ts'
import type { RelayAccount, RelayDomain, RelayMail } from '../relay.ts'
import { aMail, account as anAccount, refId } from './mail.fixture.ts'
import { sparkpost } from './sparkpost.ts'

const cleanups: (() => Promise<unknown>)[] = []
let server: SparkPostServer
let account: RelayAccount
let relays: Relays

async function start(o: Parameters<typeof createSparkPostServer>[0] = {}) {
  server = await createSparkPostServer(o)
  cleanups.push(() => server.close())
  account = { ...anAccount, apiKey: server.apiKey, apiBase: server.apiBase }
}

beforeEach(async () => {
  const egress = createEgress({ allowNetworks: ['127.0.0.0/8'] })
  cleanups.push(() => egress.close())
  relays = createRelayCalls({
    egress,
    clock: createClock(),
    adapterOf: () => sparkpost,
    deliverCallback: async () => undefined,
  })
  await start()
  server.domains.add('example.com')
})
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

const send = (change: Partial<RelayMail> = {}) => relays.send(account, aMail(change))

describe('a mail', () => {
  it('arrives unchanged, and SparkPost ignores nothing of the request', async () => {
    const mail = aMail({
      n: 4,
      type: 'bcc',
      to: { address: 'Hidden@example.net' },
      shown: {
        to: [{ address: 'ann@example.net', name: 'Ann {{A}}, Dr.' }, { address: 'b@example.net' }],
        cc: [{ address: 'c@example.net', name: 'Çarl' }],
      },
      from: { address: 'news@example.com', name: 'The {{ news }}' },
      replyTo: { address: 'help@example.com' },
      subject: 'Über {{subject}} and {{{more}}}',
      text: 'Hi {{name}}',
      html: '<p>{{name}} <img src="cid:logo">',
      headers: [
        ['Message-ID', '<1@example.com>'],
        ['X-Mustache', '{{#each}}'],
        ['List-Unsubscribe', '<https://example.com/u>'],
        ['List-Unsubscribe-Post', 'List-Unsubscribe=One-Click'],
      ],
      attachments: [
        { filename: 'a.pdf', content: 'AAAA' },
        { filename: 'l.png', content: 'AAAA', contentId: 'logo' },
      ],
      campaignId: 'x'.repeat(300),
    })
    const result = await relays.send(account, mail)
    const [taken, ...others] = server.mails
    expect(others).toEqual([])
    expect(result).toEqual({
      kind: 'answered',
      outcome: { kind: 'accepted', providerMessageId: taken?.id },
    })
    expect(taken).toMatchObject({
      to: 'Hidden@example.net',
      from: { email: 'news@example.com', name: 'The {{ news }}' },
      replyTo: 'help@example.com',
      subject: mail.subject,
      text: mail.text,
      html: mail.html,
      headers: {
        To: String.raw`"Ann {\{A}}, Dr." <ann@example.net>, b@example.net`,
        Cc: '"Çarl" <c@example.net>',
        ...Object.fromEntries(mail.headers),
      },
      attachments: [
        { filename: 'a.pdf', type: 'application/pdf', isInline: false },
        { contentId: 'logo', type: 'image/png', isInline: true },
      ],
      meta: { postrider_ref: `${refId}.4` },
      campaignId: 'x'.repeat(64),
      droppedHeaders: [],
    })
    expect(server.ignoredFields).toEqual([])
  })

  it('a mail with braces in the sender address is sent from there', async () => {
    expect(await send({ from: { address: '{{a}}@example.com' } })).toMatchObject({
      outcome: { kind: 'accepted' },
    })
  })

  it('a mail without a text is sent', async () => {
    for (const bodies of [{ text: '' }, { text: '', html: '' }, { text: '', html: '<p>' }])
      expect(await send(bodies)).toMatchObject({ outcome: { kind: 'accepted' } })
  })

  it.each([
    ['unauthorized', { category: 'auth_rejected', authRejected: true, retryable: false }],
    ['forbidden', { category: 'auth_rejected', authRejected: true, retryable: false }],
    ['unverifiedDomain', { category: 'sender_not_allowed', retryable: false }],
    ['restrictedDomain', { category: 'sender_not_allowed', retryable: false }],
    ['hourlyLimit', { category: 'sender_rate_limited', retryable: true }],
    ['dailyLimit', { category: 'sender_quota_exhausted', retryable: false }],
    ['sandboxLimit', { category: 'sender_quota_exhausted', retryable: false }],
    ['monthlyLimit', { category: 'sender_quota_exhausted', retryable: false }],
    [
      'tooManyRequests',
      { category: 'sender_rate_limited', retryable: true, retryAfterMsMin: 5_000 },
    ],
    ['noResources', { category: 'temporary', retryable: true }],
    ['databaseFailed', { category: 'temporary', retryable: true }],
    ['unavailable', { category: 'temporary', retryable: true }],
  ] as const)('answered with %s has failed', async (name, failure) => {
    server.setScript(() => SPARKPOST[name])
    expect(await send()).toMatchObject({ kind: 'answered', outcome: { kind: 'failed', failure } })
  })

  it('is refused from an unverified domain, and with a wrong key', async () => {
    expect(await send({ from: { address: 'a@example.org' } })).toMatchObject({
      outcome: { failure: { category: 'sender_not_allowed', retryable: false } },
    })
    account = { ...account, apiKey: 'another-key-altogether' }
    expect(await send()).toMatchObject({ outcome: { failure: { authRejected: true } } })
  })

  it('a mail to a malformed address is refused, although the status is 200', async () => {
    expect(await send({ to: { address: 'no one@example.net' } })).toMatchObject({
      outcome: { failure: { category: 'invalid_recipient', retryable: false } },
    })
  })

  it('is uncertain when its answer cannot be read', async () => {
    server.setScript(() => ({ status: 200, body: '{"results":{"total_rej' }))
    expect(await send()).toMatchObject({
      kind: 'uncertain',
      failure: { category: 'uncertain', retryable: true },
    })
  })

  it('a mail that is too large is not sent', async () => {
    const content = 'A'.repeat(28 * 1024 * 1024)
    expect(await send({ attachments: [{ filename: 'a', content }] })).toMatchObject({
      outcome: { failure: { category: 'message_too_large', retryable: false } },
    })
    expect(server.requests).toEqual([])
  })
})

describe('a domain', () => {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', {
    modulusLength: 2048,
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    publicKeyEncoding: { type: 'spki', format: 'der' },
  })
  const domainOf = (domain: string, selector = 'pr1'): RelayDomain => ({
    domain,
    dkim: { selector, privateKey, publicKey: publicKey.toString('base64') },
    options: { sharedWithSubaccounts: true },
  })
  const { create, verify, changeKey, delete: remove } = sparkpost.domains

  it('is created, verified once its record is published, changed, and deleted', async () => {
    const dns = await createDnsServer()
    cleanups.push(() => dns.close())
    await start({ dnsServer: dns.address })
    const domain = domainOf('mail.example.org')
    const created = await relays.domain(account, create(account, domain))
    if (created.kind !== 'answered' || created.outcome.kind !== 'done') throw new Error('not made')
    expect(created.outcome.agrees).toBe(false)
    expect(server.domains.find(domain.domain)).toMatchObject({ sharedWithSubaccounts: true })
    expect(await relays.domain(account, verify(account, domain))).toMatchObject({
      outcome: { kind: 'done', agrees: false, detail: expect.stringContaining('DNS') },
    })
    for (const { name, value } of created.outcome.records) dns.set(name, 'TXT', [value])
    expect(await relays.domain(account, verify(account, domain))).toMatchObject({
      outcome: { kind: 'done', agrees: true },
    })
    const other = domainOf('mail.example.org', 'pr2')
    const change = changeKey?.(account, other)
    if (change === undefined) throw new Error('it takes keys')
    expect(await relays.domain(account, change)).toMatchObject({
      outcome: { kind: 'failed', failure: { category: 'sender_domain_dns', retryable: true } },
    })
    expect(server.ignoredFields).toEqual([])
    expect(await relays.domain(account, remove(account, domain))).toMatchObject({
      outcome: { kind: 'done' },
    })
    for (const call of [remove(account, domain), verify(account, domain), change])
      expect(await relays.domain(account, call)).toEqual({
        kind: 'answered',
        outcome: { kind: 'absent' },
      })
  })

  it('a domain that exists is reported with its owner', async () => {
    server.domains.addForeign('taken.example.org')
    const createAgain = (name: string) => relays.domain(account, create(account, domainOf(name)))
    expect(await createAgain('example.com')).toMatchObject({
      outcome: {
        kind: 'taken',
        isOwn: true,
        records: [{ value: expect.stringContaining(server.domains.all[0]?.dkim.public ?? '-') }],
      },
    })
    expect(await createAgain('taken.example.org')).toMatchObject({
      outcome: { kind: 'taken', isOwn: false },
    })
  })

  it('gets a new key, and is signed with it from then on', async () => {
    const call = changeKey?.(account, domainOf('example.com'))
    if (call === undefined) throw new Error('it takes keys')
    expect(await relays.domain(account, call)).toMatchObject({ outcome: { kind: 'done' } })
    expect(server.domains.find('example.com')?.dkim).toMatchObject({ selector: 'pr1' })
  })
})

const headersOf = (raw: readonly (readonly [string, string])[]) =>
  Object.fromEntries(raw.map(([name, value]) => [name.toLowerCase(), value]))

describe('a callback', () => {
  it('is authentic, and reports the sent mail', async () => {
    const secret = 'the-secret'
    const receiver = await createWebhookReceiver()
    cleanups.push(() => receiver.close())
    server.setCallbacks('manual')
    for (const webhook of [
      { target: `${receiver.origin}/callback`, customHeaders: { 'X-Callback-Secret': secret } },
      { target: `${receiver.origin}/callback`, basic: { username: 'postrider', password: secret } },
    ]) {
      await server.registerWebhook(webhook)
      await send({ n: 9 })
      const mail = server.mails.at(-1)
      if (mail === undefined) throw new Error('not sent')
      const steps = ['injection', 'delay', 'delivery', 'out_of_band', 'open', 'spam_complaint']
      await server.callBack({ events: server.eventsOf(mail, steps) })
      const [ping, batch] = receiver.requests.slice(-2)
      if (ping === undefined || batch === undefined) throw new Error('not called')
      for (const { rawHeaders, body } of [ping, batch])
        expect(
          sparkpost.callbacks.isAuthentic(
            { headers: headersOf(rawHeaders), body },
            { callbackSecret: secret },
            0,
          ),
        ).toBe(true)
      expect(sparkpost.callbacks.read(ping.body.toString())).toEqual([])
      const facts = sparkpost.callbacks.read(batch.body.toString()) ?? []
      expect(facts.map(({ kind }) => kind)).toEqual([
        'processed',
        'deferred',
        'delivered',
        'bounced',
        'other',
        'complained',
      ])
      expect(new Set(facts.map(({ providerMessageId }) => providerMessageId)).size).toBe(1)
      for (const { type, ref, providerSendId, email } of facts) {
        expect(email).toBe('Ann@example.net')
        const isJoined = type !== 'out_of_band'
        expect(ref).toEqual(isJoined ? { refId, n: 9 } : undefined)
        expect(providerSendId).toBe(isJoined ? mail.id : undefined)
      }
    }
  })
})
