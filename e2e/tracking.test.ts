/** A recipient's way: the mail as it came in, its pixel, its links, its page for unsubscribing. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { createWorld, type WireEvent, waitForEvents } from './world.ts'

const world = createWorld()
beforeAll(() => world.start())
afterEach(() => world.closePeers())
afterAll(() => world.destroy())

const SAFARI =
  'Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 Mobile/15E148 Safari/604.1'
const SHOP = 'https://shop.example.com/?a=1&b=ä'
const events = { delivery: true, open: true, click: true, unsubscribe: true }

/** A tenant with a mail server and a webhook. */
async function open() {
  const smtp = await world.newSmtpServer()
  const receiver = await world.newReceiver()
  const { client } = await world.newTenant()
  await client.registerWebhook({
    webhook_url: `${receiver.origin}/`,
    event: 'EMAIL_EVENT',
    method: 'POST',
    webhook_options: { events },
  })
  await client.configureSMTP({
    name: 'News',
    email: 'news@sender.test',
    config_type: 'smtp',
    connection_type: 'basic',
    config: { host: '127.0.0.1', port: smtp.port, secure: 'None' },
  })
  return { smtp, receiver, client }
}

const textOf = (raw: Buffer) =>
  raw
    .toString('latin1')
    .replace(/=\r\n/g, '')
    .replace(/\r\n[ \t]/g, '')
const linkIn = (text: string) => /http:[^"\s]+\/t\/c\/[\w-]+/.exec(text)?.[0] ?? ''

/** One mail, as its recipient has it, and where its events go. */
async function receive() {
  const { smtp, receiver, client } = await open()
  const send = () =>
    client.sendEmail({
      from: { email: 'news@sender.test' },
      to: [{ email: 'ada@recipient.test' }],
      subject: 'Offers',
      content: [
        { type: 'text/html', value: `<p><a href="${SHOP.replace('&', '&amp;')}">Shop</a></p>` },
      ],
      custom_args: { campaign: 'autumn' },
      settings: { open_tracking: true, click_tracking: true, unsubscribe: true },
    })
  const { ref_id: refId } = await send()
  const [message] = await smtp.waitForMessages(1)
  await waitForEvents(receiver, 1)
  const text = message === undefined ? '' : textOf(message.raw)
  const find = (shape: RegExp) => shape.exec(text)?.[0] ?? ''
  return {
    client,
    receiver,
    refId,
    smtp,
    send,
    pixel: find(/http:[^"\s]+\/t\/o\/[\w-]+\.gif/),
    link: linkIn(text),
    unsubscribe: /^List-Unsubscribe:\s*<([^>]+)>/im.exec(text)?.[1] ?? '',
  }
}

/** The service has taken a free port, which its configuration does not know. */
const here = (url: string) => world.service().origin + new URL(url).pathname
const get = (url: string) =>
  fetch(here(url), {
    redirect: 'manual',
    headers: { 'user-agent': SAFARI, 'accept-language': 'fr' },
  })
/** '' of events that tell of nothing that a recipient did. */
const timeOf = ({ details }: WireEvent) =>
  (details.tracking as { readonly time: string } | undefined)?.time ?? ''
const trackingOf = ({ details }: WireEvent) => details.tracking as Record<string, unknown>

describe('a tracked mail', () => {
  it('[6.1] reports opens, clicks and unsubscribing by webhook, and is not sent again', async () => {
    const mail = await receive()
    const pixel = await get(mail.pixel)
    expect([pixel.status, pixel.headers.get('content-type')]).toEqual([200, 'image/gif'])
    expect((await pixel.arrayBuffer()).byteLength).toBe(43)
    const click = await get(mail.link)
    expect(click.status).toBe(302)
    expect(click.headers.get('location')).toBe('https://shop.example.com/?a=1&b=%C3%A4')
    expect(click.headers.get('set-cookie')).toBeNull()
    const page = await get(mail.unsubscribe)
    expect(await page.text()).toContain('Se désabonner')
    const left = await fetch(here(mail.unsubscribe), {
      method: 'POST',
      body: new URLSearchParams({ 'List-Unsubscribe': 'One-Click' }),
    })
    expect(left.status).toBe(200)

    // Unsubscribing is in the database before its answer, an open or a click a moment after.
    const told = (await waitForEvents(mail.receiver, 4)).toSorted((a, b) =>
      timeOf(a) < timeOf(b) ? -1 : 1,
    )
    const names = ['MAIL_DELIVERED', 'MAIL_OPENED', 'MAIL_CLICKED', 'MAIL_UNSUBSCRIBED']
    expect(told.map(({ event }) => event)).toEqual(names)
    for (const { success, details } of told) {
      expect(success).toBe(true)
      expect(details).toMatchObject({
        ref_id: mail.refId,
        email: ['ada@recipient.test'],
        custom_args: { campaign: 'autumn' },
      })
    }
    const [, opened, clicked, unsubscribed] = told.map(trackingOf)
    expect(opened).toMatchObject({ browser_name: 'Safari', os: 'iOS 18.1', device_type: 'mobile' })
    expect(opened).not.toHaveProperty('url')
    expect(clicked).toMatchObject({ ip: '127.0.0.1', url: SHOP })
    expect(unsubscribed).toMatchObject({ ip: '127.0.0.1', bot: false })

    const { suppressions } = await mail.client.listSuppressions()
    expect(suppressions).toMatchObject([{ email: 'ada@recipient.test', reason: 'unsubscribed' }])
    const { recipients } = await mail.send()
    expect(recipients).toMatchObject([{ status: 'suppressed' }])
    expect(mail.smtp.messages).toHaveLength(1)
  })

  it('of a recipient with own data leads to its own address, and reports its custom_args', async () => {
    const { smtp, receiver, client } = await open()
    await client.sendEmail({
      from: { email: 'news@sender.test' },
      to: ['ada', 'bob'].map((name) => ({
        email: `${name}@recipient.test`,
        template_data: { name },
        custom_args: { who: name },
      })),
      subject: 'For {{ name }}',
      content: [
        { type: 'text/html', value: '<a href="https://shop.example.com/{{ name }}">x</a>' },
      ],
      custom_args: { campaign: 'autumn', who: 'nobody' },
      settings: { click_tracking: true },
    })
    for (const { raw, recipients } of await smtp.waitForMessages(2)) {
      const name = String(recipients[0]).replace(/^<|@.*$/g, '')
      const text = textOf(raw)
      expect(text).toContain(`Subject: For ${name}`)
      const { headers } = await get(linkIn(text))
      expect(headers.get('location')).toBe(`https://shop.example.com/${name}`)
    }
    const told = await waitForEvents(receiver, 4)
    expect(told.filter(({ event }) => event === 'MAIL_CLICKED')).toHaveLength(2)
    for (const { details } of told) {
      const who = String(details.email).replace(/@.*$/, '')
      expect(details.custom_args).toEqual({ campaign: 'autumn', who })
    }
  })

  it('redirects nowhere and reports nothing when its addresses were altered', async () => {
    const mail = await receive()
    const alter = (url: string) => url.replace(/(\/t\/.\/.)./, (_, kept) => `${kept}~`)
    expect((await get(alter(mail.link))).status).toBe(404)
    expect((await get(alter(mail.unsubscribe))).status).toBe(404)
    expect((await get(alter(mail.pixel))).status).toBe(200)
    await get(mail.link)
    const told = await waitForEvents(mail.receiver, 2)
    expect(told.map(({ event }) => event)).toEqual(['MAIL_DELIVERED', 'MAIL_CLICKED'])
  })

  it('is still reported after the service was killed', async () => {
    const mail = await receive()
    await world.end('SIGKILL')
    await world.start()
    expect((await get(mail.link)).status).toBe(302)
    await waitForEvents(mail.receiver, 2)
  })
})
