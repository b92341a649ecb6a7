/** Received mail, from the SMTP connection or the mailbox to the webhook, through the whole service. */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { promisify } from 'node:util'
import { createDnsServer, type DnsServer, findFreePort } from '@postrider/testkit'
import { createPostfix, postfixHindrance } from '@postrider/testkit/mail-servers'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { bounceOf, complaintOf, createInboundScene, incomingOf, letterOf } from './inbound-scene.ts'
import { openSmtp, sendSmtp, sendSmtpTo } from './send-smtp.ts'
import { certificate, createWorld, eventsOf, type World } from './world.ts'

const swaks = existsSync('/usr/bin/swaks')
if (!swaks) process.stderr.write('SKIPPED, mail by swaks: it is not installed\n')
const hindrance = postfixHindrance()
if (hindrance !== undefined) process.stderr.write(`SKIPPED, mail by Postfix: ${hindrance}\n`)

const POSTFIX_MS = 60_000

let world: World
let dns: DnsServer
let port: number
beforeAll(async () => {
  const httpPort = await findFreePort()
  ;[dns, port] = await Promise.all([createDnsServer(), findFreePort()])
  world = createWorld({
    PORT: String(httpPort),
    // Links to raw messages lead there.
    PUBLIC_URL: `http://127.0.0.1:${httpPort}`,
    DNS_SERVERS: dns.address,
    INBOUND_PORT: String(port),
    INBOUND_HOST: 'mx.postrider.test',
  })
  await world.start()
})
afterEach(() => world.closePeers())
afterAll(async () => {
  await world.destroy()
  await dns.close()
})
const createScene = (domain?: string) => createInboundScene({ world, dns }, domain)

/** After it nothing more can come of what was sent before. */
async function sendLast(domain: string): Promise<void> {
  const letter = { from: 'last@sender.test', to: [`last@${domain}`], raw: letterOf('last') }
  await sendSmtpTo(port, letter)
}

describe('[contract 3.5] mail to a routed domain', () => {
  it('is one request to its webhook, with all its content', async () => {
    const { client, apiKey, domain, receiver } = await createScene()
    const body = 'Hello ☀,\r\n.\r\n..dots\r\n'
    const raw = letterOf('hello', { body })
    const to = [`Desk+17@${domain}`]
    const answer = await sendSmtpTo(port, { from: 'ada@sender.test', to, raw })
    expect(answer.message).toMatch(/^250 /)
    const [request] = await receiver.waitForRequests(1)
    expect(request).toMatchObject({ method: 'POST', path: '/in' })
    expect(request?.json).toMatchObject({
      event: 'INCOMING_EMAIL',
      success: true,
      details: {
        domain,
        username: 'desk',
        message_id: '<hello@sender.test>',
        thread_id: 'hello@sender.test',
        from: { email: 'ada@sender.test', name: 'Ada' },
        subject: 'About hello',
        text: body.replaceAll('\r\n', '\n'),
        attachments: [],
        envelope: { from: 'ada@sender.test', to, remote_ip: '127.0.0.1', helo: 'client.test' },
        spf: { result: expect.any(String) },
        dmarc: { result: expect.any(String) },
      },
    })
    const rawUrl = String(incomingOf(request as never).details.raw_url)
    const asked = await fetch(rawUrl, { headers: { authorization: `Bearer ${apiKey}` } })
    expect(asked.headers.get('content-type')).toMatch(/^message\/rfc822/)
    expect(await asked.text()).toContain(raw)
    const stranger = await world.newTenant()
    const refused = await fetch(rawUrl, { headers: { authorization: `Bearer ${stranger.apiKey}` } })
    expect(refused.status).toBe(404)
    await sendLast(domain)
    await receiver.waitForRequests(2)
    expect(
      (await client.listWebhookDeliveries({ event: 'INCOMING_EMAIL' })).deliveries,
    ).toHaveLength(2)
  })

  it('is refused for an unknown user', async () => {
    const { client, domain, receiver } = await createScene()
    await client.createInboundUsername({ domain, username: 'desk' })
    const to = [`nobody@${domain}`, 'ada@elsewhere.test', `desk@${domain}`]
    const raw = letterOf('known')
    const { recipients, message } = await sendSmtpTo(port, { from: 'ada@sender.test', to, raw })
    expect(recipients.map((reply) => reply.slice(0, 9))).toEqual([
      '550 5.1.1',
      '550 5.7.1',
      '250 2.1.5',
    ])
    expect(message).toMatch(/^250 /)
    const [request] = await receiver.waitForRequests(1)
    expect(incomingOf(request as never).details.envelope?.to).toEqual([`desk@${domain}`])
  })

  it('goes to the webhook of each username once', async () => {
    const { client, domain, receiver } = await createScene()
    const own = await world.newReceiver()
    await client.createInboundUsername({ domain, username: 'sales', url: `${own.origin}/sales` })
    await client.createInboundUsername({ domain, username: 'desk' })
    const to = ['desk', 'sales', 'sales+eu'].map((name) => `${name}@${domain}`)
    await sendSmtpTo(port, { from: 'ada@sender.test', to, raw: letterOf('both') })
    const [[sales], [desk]] = await Promise.all([
      own.waitForRequests(1),
      receiver.waitForRequests(1),
    ])
    expect(incomingOf(sales as never).details).toMatchObject({ username: 'sales', domain })
    expect(incomingOf(desk as never).details).toMatchObject({ username: 'desk', domain })
  })

  it('is reported once when it is sent again after a lost 250', async () => {
    const { domain, receiver } = await createScene()
    const letter = { from: 'ada@sender.test', to: [`desk@${domain}`], raw: letterOf('again') }
    const deaf = await openSmtp(port)
    await deaf.ask(`MAIL FROM:<${letter.from}>`)
    await deaf.ask(`RCPT TO:<${letter.to[0]}>`)
    await deaf.ask('DATA')
    deaf.send(`${letter.raw}.\r\n`)
    await receiver.waitForRequests(1)
    deaf.socket.resetAndDestroy()
    for (const _ of [1, 2]) expect((await sendSmtpTo(port, letter)).message).toMatch(/^250 /)
    await sendLast(domain)
    const requests = await receiver.waitForRequests(2)
    expect(requests.map((one) => incomingOf(one).details.message_id)).toEqual([
      '<again@sender.test>',
      '<last@sender.test>',
    ])
  })

  it.skipIf(!swaks)('arrives from swaks, with attachments', async () => {
    const { domain, receiver } = await createScene()
    const to = `desk@${domain}`
    const mail = ['--from', 'ada@sender.test', '--to', to, '--header', 'Subject: From swaks']
    const attached = ['--attach-type', 'text/csv', '--attach-name', 'a.csv', '--attach', 'a;b']
    const server = ['--server', '127.0.0.1', '--port', String(port)]
    await promisify(execFile)('swaks', [...server, ...mail, ...attached])
    const [request] = await receiver.waitForRequests(1)
    const { subject, attachments } = incomingOf(request as never).details
    expect(subject).toBe('From swaks')
    expect(attachments).toMatchObject([{ filename: 'a.csv', type: 'text/csv', size: 3 }])
    expect(Buffer.from(attachments[0]?.content ?? '', 'base64').toString()).toBe('a;b')
  })

  it.skipIf(hindrance !== undefined)(
    'arrives from Postfix over TLS, also after a while',
    { timeout: 2 * POSTFIX_MS },
    async () => {
      const { receiver } = await createScene('relayed.test')
      const postfix = await createPostfix(certificate, { relayPort: port })
      let flushing: NodeJS.Timeout | undefined
      postfix.start()
      try {
        const ids = Array.from({ length: 20 }, (_, i) => `relayed-${i}`)
        const client = await openSmtp(postfix.port)
        for (const [i, id] of ids.entries()) {
          if (i === 10) await world.end()
          const letter = { from: 'ada@sender.test', to: ['ada@relayed.test'], raw: letterOf(id) }
          expect((await sendSmtp(client, letter)).message).toMatch(/^250 /)
        }
        client.close()
        await world.start()
        // Now and then it leaves a mail for longer than a minute.
        flushing = setInterval(() => postfix.flush(), 5_000)
        // What the old process was reading is the new one's when the lease is over.
        const toldIds = () => receiver.requests.map((one) => incomingOf(one).details.message_id)
        const missing = () => ids.filter((id) => !toldIds().includes(`<${id}@sender.test>`))
        await receiver
          .waitUntil(() => missing().length === 0, POSTFIX_MS)
          .catch(() => {
            const deliveries = postfix.log().match(/^.* status=.*$/gm) ?? []
            throw new Error(`missing: ${missing().join(', ')}\n${deliveries.join('\n')}`)
          })
        expect(toldIds()).toHaveLength(ids.length)
        const told = receiver.requests.map((one) => incomingOf(one).details)
        expect(told[0]?.envelope).toMatchObject({ helo: 'mx.recipient.test', tls: true })
      } finally {
        clearInterval(flushing)
        await postfix.destroy()
      }
    },
  )
})

describe('[contract 3.5] mail about sent mail', () => {
  /** One email to a recipient, delivered. */
  async function sendOne(o: { readonly hasReturnPath?: boolean } = {}) {
    const scene = await createScene()
    const smtp = await world.newSmtpServer()
    await scene.client.configureSMTP({
      name: 'Shop',
      email: `shop@${scene.domain}`,
      config_type: 'smtp',
      connection_type: 'basic',
      config: { host: '127.0.0.1', port: smtp.port, secure: 'None' },
      ...(o.hasReturnPath === true ? { return_path: `bounces@${scene.domain}` } : {}),
    })
    const { ref_id } = await scene.client.sendEmail({
      from: { email: `shop@${scene.domain}` },
      to: [{ email: 'ada@recipient.test' }],
      subject: 'Your order',
      content: [{ type: 'text/plain', value: 'Thank you.' }],
    })
    const [message] = await smtp.waitForMessages(1)
    await scene.mailReceiver.waitUntil((requests) => eventsOf(requests).length === 1)
    const told = (count: number) =>
      scene.mailReceiver
        .waitUntil((requests) => eventsOf(requests).length >= count)
        .then(() => eventsOf(scene.mailReceiver.requests).map(({ event }) => event))
    const to = [message?.from ?? '']
    const receive = (raw: string) => sendSmtpTo(port, { from: '', to, raw })
    return { ...scene, ref_id, messageId: message?.messageId ?? '', told, receive }
  }

  it('is in its thread when it is a reply', async () => {
    const { receiver, messageId, receive } = await sendOne()
    const answers = [`In-Reply-To: ${messageId}`, `References: ${messageId}`]
    await receive(letterOf('reply', { fields: answers }))
    const more = [
      `In-Reply-To: <reply@sender.test>`,
      `References: ${messageId} <reply@sender.test>`,
    ]
    await receive(letterOf('more', { fields: more }))
    const requests = await receiver.waitForRequests(2)
    const thread = messageId.slice(1, -1)
    expect(requests.map((one) => incomingOf(one).details.thread_id)).toEqual([thread, thread])
    expect(incomingOf(requests[0] as never).details.in_reply_to).toBe(messageId)
  })

  it('is a bounce once when it is a report', async () => {
    const { receiver, messageId, told, receive, ref_id, mailReceiver } = await sendOne()
    const recipient = 'ada@recipient.test'
    for (const id of ['bounce-1', 'bounce-2']) await receive(bounceOf({ id, messageId, recipient }))
    await receiver.waitForRequests(2)
    await receive(complaintOf({ id: 'complaint', messageId, recipient }))
    await receiver.waitForRequests(3)
    expect(await told(3)).toEqual(['MAIL_DELIVERED', 'MAIL_BOUNCE', 'MAIL_SPAM'])
    const [, bounce] = eventsOf(mailReceiver.requests)
    expect(bounce?.details).toMatchObject({ ref_id, email: [recipient] })
  })

  it('[7.4] is a bounce by the return path alone, where no username accepts it', async () => {
    const { client, domain, receiver, told, receive, ref_id } = await sendOne({
      hasReturnPath: true,
    })
    await client.createInboundUsername({ domain, username: 'last' })
    const report = { id: 'returned', messageId: '<lost@elsewhere.test>', recipient: 'x@y.test' }
    const { recipients, message } = await receive(bounceOf(report))
    expect([recipients[0], message]).toEqual([
      expect.stringMatching(/^250 /),
      expect.stringMatching(/^250 /),
    ])
    expect(await told(2)).toEqual(['MAIL_DELIVERED', 'MAIL_BOUNCE'])
    const { email } = await client.getEmail(ref_id)
    expect(email.recipients[0]).toMatchObject({ email: 'ada@recipient.test', status: 'bounced' })
    await sendLast(domain)
    const requests = await receiver.waitForRequests(1)
    expect(incomingOf(requests[0] as never).details.message_id).toBe('<last@sender.test>')
  })
})
