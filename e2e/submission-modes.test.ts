/**
 * Mail that programs hand in, beside what goes another way: keys of test mode, other tenants, relay
 * providers, and mailboxes that keep a copy.
 */
import { createDnsServer, type DnsServer, findFreePort } from '@postrider/testkit'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { bounceOf, createInboundScene } from './inbound-scene.ts'
import { createRelayScene } from './relay-scene.ts'
import { sendSmtpTo } from './send-smtp.ts'
import {
  createScene,
  createSubmissionWorld,
  FROM,
  lines,
  logIn,
  refOf,
  type SubmissionWorld,
  submit,
} from './submission-scene.ts'
import { eventsOf } from './world.ts'

let world: SubmissionWorld
let dns: DnsServer
let inboundPort: number
beforeAll(async () => {
  ;[dns, inboundPort] = await Promise.all([createDnsServer(), findFreePort()])
  world = await createSubmissionWorld({
    DNS_SERVERS: dns.address,
    PORT: String(await findFreePort()),
    INBOUND_PORT: String(inboundPort),
    INBOUND_HOST: 'mx.postrider.test',
  })
  await world.start()
})
afterEach(() => world.closePeers())
afterAll(async () => {
  await world.destroy()
  await dns.close()
})

const message = (...more: readonly string[]) =>
  lines(`From: The News <${FROM}>`, 'To: ada@example.test', 'Subject: Hello', ...more, '', 'Hi')

describe('[contract 11] a key of test mode', () => {
  it('hands in mail that no server sees, and that counts nowhere', async () => {
    const { client: api, smtp } = await createScene(world)
    const { api_key: key } = await api.createKey({ name: 'ci', mode: 'test', scopes: ['send'] })
    const before = smtp.connections.length
    const client = await logIn(world.port, key)
    const raw = message('Message-ID: <test@sender.test>', 'X-Postrider-Track: opens')
    const to = ['ada@example.test', 'bounce-hard@example.test']
    const refId = refOf(await submit(client, raw, to))
    const statuses = async () =>
      (await api.getEmail(refId)).email.recipients.map(({ status }) => status).sort()
    await expect.poll(statuses).toEqual(['bounced', 'delivered'])
    const { email } = await api.getEmail(refId)
    expect(email).toMatchObject({ test: true, mailer_id: expect.stringMatching(/^test_/) })
    expect(email.events.every(({ details }) => details.test === true)).toBe(true)
    expect(smtp.connections).toHaveLength(before)
    const other = await createScene(world)
    const bounce = { event: 'bounce', recipient: 'ada@example.test' } as const
    await expect(other.client.simulateEvent(refId, bounce)).rejects.toMatchObject({
      code: 'not_found',
    })
    expect(await statuses()).toEqual(['bounced', 'delivered'])
    expect((await api.listSuppressions()).suppressions).toEqual([])
    expect((await api.getStatistics()).statistics.totals).toMatchObject({ accepted: 0 })
    client.close()
  })

  it('is refused what a live key is refused, and has idempotency keys of its own', async () => {
    const { apiKey, client: api, mailerId } = await createScene(world)
    const { api_key: key } = await api.createKey({ name: 'ci', mode: 'test' })
    const [test, live] = [await logIn(world.port, key), await logIn(world.port, apiKey)]
    const keyed = message('X-Postrider-Idempotency-Key: one')
    const first = refOf(await submit(test, keyed))
    const real = refOf(await submit(live, keyed))
    expect(real).not.toBe(first)
    expect(refOf(await submit(test, keyed))).toBe(first)
    expect((await api.getEmail(real)).email.test).not.toBe(true)
    expect(await submit(test, message().replace(FROM, 'who@sender.test'))).toMatch(/^550 5\.7\.1 /)
    await api.setMailerActive({ mailer_id: mailerId, active: false })
    expect(await submit(test, message())).toMatch(/^550 5\.7\.1 /)
    for (const client of [test, live]) client.close()
  })
})

describe('[contract 8] a message of one tenant', () => {
  it("goes by no mailer of another's, whatever it says", async () => {
    const [one, other] = [await createScene(world), await createScene(world)]
    await other.client.updateSMTP({ mailer_id: other.mailerId, email: 'other@sender.test' })
    const client = await logIn(world.port, one.apiKey)
    const asked = [
      `X-Postrider-Mailer-Id: ${other.mailerId}`,
      `X-Postrider-Mailer: ${other.mailerId}`,
      `X-Postrider-Tenant: ${other.tenantId}`,
      'Sender: other@sender.test',
    ]
    const raw = message(...asked)
    expect(await submit(client, raw.replace(FROM, 'other@sender.test'))).toMatch(/^550 5\.7\.1 /)
    const refId = refOf(await submit(client, raw))
    await one.smtp.waitForMessages(1)
    expect((await one.client.getEmail(refId)).email.mailer_id).toBe(one.mailerId)
    expect(other.smtp.messages).toEqual([])
    expect((await other.client.getEmailLogs()).logs).toEqual([])
    client.close()
  })

  it("bounces as its own where it has the Message-ID of another's", async () => {
    const [inbound, other] = [await createInboundScene({ world, dns }), await createScene(world)]
    const smtp = await world.newSmtpServer()
    await inbound.client.configureSMTP({
      ...{ name: 'News', email: FROM, config_type: 'smtp', connection_type: 'basic' },
      config: { host: '127.0.0.1', port: smtp.port, secure: 'None' },
    })
    const others = await logIn(world.port, other.apiKey)
    const theirs = refOf(await submit(others, message()))
    await other.smtp.waitForMessages(1)
    const { email } = await other.client.getEmail(theirs)
    const messageId = email.recipients[0]?.message_id ?? ''
    const client = await logIn(world.port, inbound.apiKey)
    const sent: string[] = []
    for (const id of ['<own@sender.test>', messageId]) {
      sent.push(refOf(await submit(client, message(`Message-ID: ${id}`))))
      await smtp.waitForMessages(sent.length)
    }
    const [own = ''] = sent
    const delivered = async () =>
      (await inbound.client.getEmailLogs({ status: 'delivered' })).logs.length
    await expect.poll(delivered).toBe(2)
    for (const id of [messageId, '<own@sender.test>'])
      await sendSmtpTo(inboundPort, {
        from: '',
        to: [`desk@${inbound.domain}`],
        raw: bounceOf({
          id: `bounce of ${id.length}`,
          messageId: id,
          recipient: 'ada@example.test',
        }),
      })
    const bounced = () =>
      eventsOf(inbound.mailReceiver.requests)
        .filter(({ event }) => event === 'MAIL_BOUNCE')
        .map(({ details }) => details.ref_id)
    await expect.poll(bounced, { timeout: 20_000 }).toContain(own)
    expect(bounced()).not.toContain(theirs)
    expect((await other.client.getEmail(theirs)).email.recipients[0]?.status).not.toBe('bounced')
    for (const one of [client, others]) one.close()
  })
})

describe.each(['sparkpost', 'sendgrid'] as const)(
  '[contract 8] a message that goes by %s',
  (kind) => {
    it('is taken apart, with its texts, files and fields', async () => {
      const { apiKey, from, provider } = await createRelayScene({ world, dns, kind })
      const client = await logIn(world.port, apiKey)
      const raw = lines(
        `From: The News <${from}>`,
        'To: Ada <ada@recipient.test>',
        'Subject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=',
        'X-Shop: 17',
        'X-Postrider-Campaign: spring',
        'MIME-Version: 1.0',
        'Content-Type: multipart/mixed; boundary=b',
        '',
        '--b',
        'Content-Type: multipart/alternative; boundary=c',
        '',
        '--c',
        'Content-Type: text/plain; charset=iso-8859-1',
        'Content-Transfer-Encoding: quoted-printable',
        '',
        'Gr=FC=DFe',
        '--c',
        'Content-Type: text/html; charset=utf-8',
        'Content-Transfer-Encoding: 8bit',
        '',
        '<p>Hallo</p>',
        '--c--',
        '--b',
        'Content-Type: text/csv; name="a.csv"',
        'Content-Disposition: attachment; filename="a.csv"',
        'Content-Transfer-Encoding: base64',
        '',
        'YSxi',
        '--b--',
      )
      expect(await submit(client, raw, ['ada@recipient.test'])).toMatch(/^250 /)
      await provider.waitForMails(1)
      expect(provider.mails[0]).toMatchObject({
        to: 'ada@recipient.test',
        from: { email: from, name: 'The News' },
        subject: 'Grüße',
        text: 'Grüße',
        html: '<p>Hallo</p>',
      })
      const request = JSON.stringify(provider.requests.map(({ body }) => body.toString()))
      expect(request).toContain('a.csv')
      expect(request).toContain('YSxi')
      expect(request).toContain('X-Shop')
      expect(request).not.toMatch(/x-postrider-(?:campaign|args)/i)
      client.close()
    })

    it.each([
      ['S/MIME', 'multipart/signed; protocol="application/pkcs7-signature"; boundary=b'],
      ['S/MIME, encrypted', 'application/pkcs7-mime; smime-type=enveloped-data'],
      ['PGP', 'multipart/encrypted; protocol="application/pgp-encrypted"; boundary=b'],
    ])('is refused where it is sealed by %s', async (_what, type) => {
      const { apiKey, from, provider } = await createRelayScene({ world, dns, kind })
      const client = await logIn(world.port, apiKey)
      const raw = lines(`From: ${from}`, 'MIME-Version: 1.0', `Content-Type: ${type}`, '', 'x')
      expect(await submit(client, raw)).toMatch(/^550 5\.6\.0 .*signed or encrypted/)
      expect(provider.mails).toEqual([])
      client.close()
    })
  },
)

describe('[contract 8] bytes beyond ASCII', () => {
  it.each([
    ['in the header', 'SMTPUTF8', ['8BITMIME'], message('X-Name: \u00fc')],
    // SMTPUTF8 includes it (RFC 6531 §3.1).
    ['in the text', '8BITMIME', [], message().replace('Hi', '\u00fc')],
  ])(
    '%s are not rewritten for a server without %s: the attempt fails for good',
    async (_what, _extension, offered, raw) => {
      const {
        apiKey,
        client: api,
        smtp,
      } = await createScene(world, { extensions: ['PIPELINING', 'SIZE', ...offered] })
      const client = await logIn(world.port, apiKey)
      const refId = refOf(await submit(client, raw))
      const recipient = async () => (await api.getEmail(refId)).email.recipients[0]
      await expect.poll(async () => (await recipient())?.status).toBe('failed')
      expect((await recipient())?.attempts).toHaveLength(1)
      expect(smtp.messages).toEqual([])
      client.close()
    },
  )
})

describe('[contract 8] tracking of a sealed message', () => {
  it.each([
    ['S/MIME', 'Content-Type: application/pkcs7-mime; smime-type=signed-data', 'MIIB'],
    ['PGP in its text', 'Content-Type: text/plain', '-----BEGIN PGP SIGNED MESSAGE-----'],
    ['DKIM', 'DKIM-Signature: v=1; a=rsa-sha256; d=sender.test; s=a; h=from; bh=; b=', 'x'],
  ])('is left out, and the 250 says so: %s', async (_what, field, body) => {
    const { apiKey, smtp } = await createScene(world)
    const client = await logIn(world.port, apiKey)
    const sealed = (...more: readonly string[]) =>
      lines(`From: ${FROM}`, 'Message-ID: <a@a.test>', 'Date: x', ...more, field, '', body)
    const reply = await submit(client, sealed('X-Postrider-Track: opens,clicks,unsubscribe'))
    expect(reply).toMatch(/^250 2\.0\.0 Ok: queued as \w+ \(left out: tracking: .*signed/)
    expect(await submit(client, sealed())).toMatch(/^250 2\.0\.0 Ok: queued as \w+\r\n$/)
    const sent = await smtp.waitForMessages(2)
    expect(sent.map(({ raw }) => raw.toString())).toEqual([sealed(), sealed()])
    const templates = await submit(client, sealed('X-Postrider-Template-Data: {}'))
    expect(templates).toMatch(/^550 5\.6\.0 .*X-Postrider-Template-Data/)
    client.close()
  })
})
