/** The main job against a real mail server: a Postfix that puts the mail into real mailboxes. */
import { createSmtpServer, type SmtpServer } from '@postrider/testkit'
import {
  createPostfix,
  type Postfix,
  postfixHindrance,
  sizeMax,
} from '@postrider/testkit/mail-servers'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  certificate,
  createWorld,
  eventsOf,
  type Tenant,
  type World,
  waitForEvents,
} from './world.ts'

const hindrance = postfixHindrance()
if (hindrance !== undefined) process.stderr.write(`SKIPPED, against Postfix: ${hindrance}\n`)

type SecureMode = 'Auto' | 'Tls' | 'SSL' | 'None'
const fromOf = (secure: SecureMode): string => `${secure.toLowerCase()}@sender.test`

describe.skipIf(hindrance !== undefined)('a real Postfix', () => {
  let world: World
  let postfix: Postfix
  /** Where Postfix hands on to. */
  let next: SmtpServer
  beforeAll(async () => {
    next = await createSmtpServer({ script: { 'gone@relayed.test': ['550 5.1.1 No such user'] } })
    postfix = await createPostfix(certificate, { relayPort: next.port })
    postfix.start()
    world = createWorld()
    await world.start()
  })
  afterAll(async () => {
    await world.destroy()
    await postfix.destroy()
    await next.close()
  })

  /** A tenant with a webhook and one mailer for each way to secure the connection. */
  async function getReady() {
    const receiver = await world.newReceiver()
    const tenant = await world.newTenant()
    const { client } = tenant
    await client.registerWebhook({
      webhook_url: `${receiver.origin}/`,
      event: 'EMAIL_EVENT',
      method: 'POST',
      webhook_options: { events: { delivery: true, smtp_error: true } },
    })
    for (const secure of ['Auto', 'Tls', 'SSL', 'None'] as const) {
      const port = secure === 'SSL' ? postfix.tlsPort : postfix.port
      await client.configureSMTP({
        name: secure,
        email: fromOf(secure),
        config_type: 'smtp',
        connection_type: 'basic',
        config: { host: '127.0.0.1', port, secure },
      })
    }
    return { ...tenant, receiver }
  }

  const send = (
    { client }: Tenant,
    to: string,
    o: { secure?: SecureMode; text?: string; subject?: string } = {},
  ) =>
    client.sendEmail({
      from: { email: fromOf(o.secure ?? 'Tls'), name: 'Grüße' },
      to: [{ email: to }],
      subject: o.subject ?? 'Hello',
      content: [{ type: 'text/plain', value: o.text ?? 'Hi there.\n' }],
    })

  /** Postfix has taken the mail before it is in the mailbox. */
  const waitForMail = (user: string, words: string): Promise<string> =>
    expect
      .poll(() => postfix.mailbox(user).find((mail) => mail.includes(words)), {
        timeout: 15_000,
        message: postfix.log(),
      })
      .toBeTruthy()
      .then(() => postfix.mailbox(user).find((mail) => mail.includes(words)) ?? '')

  for (const [secure, protocol] of [
    ['None', 'ESMTP'],
    ['Auto', 'ESMTPS'],
    ['Tls', 'ESMTPS'],
    ['SSL', 'ESMTPS'],
  ] as const) {
    it(`delivers by ${secure}, and the mailbox holds what was sent`, async () => {
      const ready = await getReady()
      const subject = `Über ${secure}`
      const text = `${secure}-marker\n.\n..two dots\n\nlast line äöü\n`
      const { ref_id } = await send(ready, 'ada@recipient.test', { secure, subject, text })
      const [event] = await waitForEvents(ready.receiver, 1)
      expect(event).toMatchObject({ event: 'MAIL_DELIVERED', details: { ref_id } })
      const mail = await waitForMail('ada', `Message-ID: ${event?.details.message_id}`)
      expect(mail).toMatch(new RegExp(`with ${protocol} id`))
      expect(mail).toContain(`Return-Path: <${fromOf(secure)}>`)
      expect(mail).toMatch(/^Subject: =\?UTF-8\?/m)
      expect(decodeBody(mail)).toBe(text)
    })
  }

  it('gets mail for an address that is not ASCII (SMTPUTF8)', async () => {
    const ready = await getReady()
    await send(ready, 'jörg@recipient.test', { subject: 'An Jörg' })
    const [event] = await waitForEvents(ready.receiver, 1)
    expect(event).toMatchObject({ event: 'MAIL_DELIVERED' })
    expect(event?.details.email).toEqual(['jörg@recipient.test'])
    await waitForMail('jörg', `${event?.details.message_id}`)
  })

  it('refuses an unknown user, and the mail is given up', async () => {
    const ready = await getReady()
    await send(ready, 'nobody@recipient.test')
    const [event] = await waitForEvents(ready.receiver, 1)
    expect(event?.details).toMatchObject({ attempt: 1, retry_scheduled: false })
    expect(event?.details.provider_error).toMatch(
      /^550 5\.1\.1 <nobody@recipient\.test>: .*unknown/,
    )
  })

  it('sends a later bounce that is matched by Message-ID and envelope id', async () => {
    const { client, receiver } = await getReady()
    const email = 'ada@recipient.test'
    await client.configureSMTP({
      name: 'in a mailbox',
      email,
      config_type: 'smtp',
      connection_type: 'basic',
      config: { host: '127.0.0.1', port: postfix.port, secure: 'Tls' },
    })
    const { ref_id } = await client.sendEmail({
      from: { email },
      to: [{ email: 'gone@relayed.test' }],
      subject: 'Hello',
      content: [{ type: 'text/plain', value: 'Hi there.\n' }],
    })
    const [event] = await waitForEvents(receiver, 1)
    expect(event?.event).toBe('MAIL_DELIVERED')
    const report = await waitForMail('ada', `Original-Envelope-Id: ${ref_id}.0\n`)
    expect(report).toContain('550 5.1.1 No such user')
    expect(report).toContain(`Message-ID: <${ref_id}.0@recipient.test>`)
  })

  it('gets a mail again after greylisting', async () => {
    const ready = await getReady()
    let asked = 0
    postfix.setPolicy((recipient) => {
      if (recipient !== 'busy@recipient.test') return undefined
      asked += 1
      return asked <= 2 ? '450 4.2.0 Greylisted, come back later' : undefined
    })
    await send(ready, 'busy@recipient.test')
    const events = await waitForEvents(ready.receiver, 3)
    expect(events.map(({ event }) => event)).toEqual(['SMTP_ERROR', 'SMTP_ERROR', 'MAIL_DELIVERED'])
    expect(events[1]?.details).toMatchObject({ attempt: 2, retry_scheduled: true })
    expect(events[0]?.details.provider_error).toContain('Greylisted, come back later')
    expect(postfix.mailbox('busy').length).toBeLessThanOrEqual(1)
  })

  it('refuses a message that is too large, and the mail is given up', async () => {
    const ready = await getReady()
    await send(ready, 'ada@recipient.test', {
      text: 'x'
        .repeat(70)
        .concat('\n')
        .repeat(sizeMax / 70),
    })
    const [event] = await waitForEvents(ready.receiver, 1)
    expect(event?.details).toMatchObject({ attempt: 1, retry_scheduled: false })
    expect(event?.details.failed_reason).toBe('The message is too large')
    expect(event?.details.provider_error).toContain(`${sizeMax}`)
  })

  it('gets each of many mails once, also when it is stopped meanwhile', async () => {
    const ready = await getReady()
    const count = 60
    const subjects = Array.from({ length: count }, (_, n) => `Storm ${n} of many`)
    const sending = subjects.map((subject) => send(ready, 'ada@recipient.test', { subject }))
    await ready.receiver.waitForRequests(1)
    postfix.stop()
    await Promise.all(sending)
    postfix.start()
    await ready.receiver.waitUntil(
      (requests) =>
        eventsOf(requests).filter(({ event }) => event === 'MAIL_DELIVERED').length === count,
    )
    await expect
      .poll(() => postfix.mailbox('ada').filter((mail) => mail.includes('Storm')).length)
      .toBe(count)
    const ids = postfix
      .mailbox('ada')
      .filter((mail) => mail.includes('Storm'))
      .map((mail) => /^Message-ID: (.*)$/m.exec(mail)?.[1])
    expect(new Set(ids).size).toBe(count)
  })
})

function decodeBody(mail: string): string {
  const [headers = '', ...rest] = mail.split('\n\n')
  const body = rest.join('\n\n')
  if (/^Content-Transfer-Encoding: base64$/im.test(headers)) {
    return Buffer.from(body, 'base64').toString('utf8').replaceAll('\r\n', '\n')
  }
  if (/^Content-Transfer-Encoding: quoted-printable$/im.test(headers)) {
    const bytes = body
      .replaceAll('=\n', '')
      .replace(/=([0-9A-F]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
    return Buffer.from(bytes, 'latin1').toString('utf8')
  }
  return body
}
