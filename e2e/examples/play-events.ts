/**
 * Makes every event happen once, in a tenant of its own: what its webhook receives is the example of the
 * event. Bounces and complaints are those of the simulator (docs/relays.md#without-a-provider-the-simulator).
 */
import { Postrider } from '@postrider/client'
import { eventNames, type SendEmailBody } from '@postrider/contract'
import type { SmtpServer } from '@postrider/testkit'
import { sendSmtpTo } from '../send-smtp.ts'
import { certificate, eventsOf, type World } from '../world.ts'
import { LETTER, onPath, type Scene, until, WAIT_MS } from './play-operations.ts'

type Dns = Scene['dns']

interface Happening {
  readonly event: string
  readonly details: Readonly<Record<string, unknown>>
}

const username = 'news@shop.example.com'
/** A webhook for each kind of request that carries events. */
const PATHS = { emails: '/events', domains: '/events/domains', incoming: '/events/incoming' }
const SAFARI =
  'Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 Mobile/15E148 Safari/604.1'
/** A hit so long after the delivery counts as a person's (docs/operations/tracking.md#robots). */
const PERSON_AFTER_MS = 3_500

const TRACKED: Partial<SendEmailBody> = {
  content: [
    {
      type: 'text/html',
      value: '<p>Hello Ada. <a href="https://shop.example.com/orders/1234">Your order</a></p>',
    },
  ],
  settings: { open_tracking: true, click_tracking: true, unsubscribe: true },
}
const PHISHING: Partial<SendEmailBody> = {
  content: [{ type: 'text/html', value: '<p><a href="https://bad.example.com/">Log in</a></p>' }],
}
/** The simulator's recipients, each with the event that it makes happen. */
const SIMULATED = {
  'bounce-hard': 'MAIL_BOUNCE',
  complaint: 'MAIL_SPAM',
  policy: 'MAIL_POLICY_REJECTION',
  'generation-failure': 'MAIL_GENERATION_FAILURE',
  'generation-rejection': 'MAIL_GENERATION_REJECTION',
}

/** Of each event, the request body that carried it. */
export async function playEvents(
  scene: Pick<Scene, 'world' | 'dns' | 'receiver' | 'call'>,
): Promise<Record<string, unknown>> {
  const { world, dns, receiver } = scene
  const client = await createTenant(scene)
  const play = createPlay(client, receiver)
  const { bodies, keep, send } = play
  const users: Record<string, string> = { [username]: 'first' }
  const smtp = await world.newSmtpServer({
    tls: { mode: 'starttls', ...certificate },
    auth: { users },
    script: { 'nobody@example.com': ['550 5.1.1 No such user here'] },
  })
  await configureSmtp(client, smtp, 'Shop', username)
  await keep('SMTP_ERROR', await send(username, 'nobody@example.com'))
  const tracked = await send(username, 'ada@example.com', TRACKED)
  await keep('MAIL_DELIVERED', tracked)
  const deliveredAt = performance.now()

  await playReports(play)

  await until(async () => performance.now() - deliveredAt > PERSON_AFTER_MS)
  await readAsPerson(world, smtp.messages.at(-1)?.raw ?? Buffer.alloc(0))
  for (const event of ['MAIL_OPENED', 'MAIL_CLICKED', 'MAIL_UNSUBSCRIBED'])
    await keep(event, tracked)

  await playDeactivation(play, smtp, users)
  Object.assign(bodies, await incomingEvents({ world, dns, receiver, client }))
  const known = eventNames.filter((name) => bodies[name] !== undefined)
  return Object.fromEntries(known.map((name) => [name, bodies[name]]))
}

/** With webhooks for the events of emails and of domains. */
async function createTenant({
  world,
  receiver,
  call,
}: Pick<Scene, 'world' | 'receiver' | 'call'>): Promise<Postrider> {
  const body = { name: 'Examples of events' }
  const { api_key: apiKey } = await call('createTenant', { body, isExample: false })
  const client = new Postrider({ apiKey, basePath: world.service().origin })
  // Before the first email: a sender knows the settings of a tenant for a while.
  await client.updatePhishingSettings({ blocked_domains: ['bad.example.com'] })
  await client.registerWebhook({
    webhook_url: receiver.origin + PATHS.emails,
    event: 'EMAIL_EVENT',
    method: 'POST',
    webhook_options: {
      events: {
        ...{ delivery: true, open: true, click: true, bounce: true, spam: true },
        ...{ unsubscribe: true, policy_rejection: true, generation_failure: true },
        ...{ generation_rejection: true, smtp_error: true, phishing: true },
      },
    },
  })
  await client.registerWebhook({
    webhook_url: receiver.origin + PATHS.domains,
    event: 'DOMAIN_VERIFICATION',
    method: 'POST',
  })
  return client
}

type Play = ReturnType<typeof createPlay>

function createPlay(client: Postrider, receiver: Scene['receiver']) {
  const bodies: Record<string, unknown> = {}

  /** The first that fits, once it has come. */
  const happened = async (event: string, fits: (details: Happening['details']) => boolean) => {
    const isMeant = (one: Happening) => one.event === event && fits(one.details)
    const find = () => eventsOf(onPath(receiver.requests, PATHS.emails)).find(isMeant)
    await receiver.waitUntil(() => find() !== undefined, WAIT_MS)
    return find()
  }
  return {
    client,
    receiver,
    bodies,
    happened,
    /** The event of this email. */
    async keep(event: string, refId: string) {
      bodies[event] = [await happened(event, (details) => details.ref_id === refId)]
    },
    async send(from: string, to: string, more: Partial<SendEmailBody> = {}) {
      const { ref_id } = await client.sendEmail({
        ...{ from: { email: from, name: 'Example Ltd' }, to: [{ email: to }] },
        subject: 'Your order 1234',
        content: [{ type: 'text/html', value: '<p>Hello Ada, your order is on its way.</p>' }],
        custom_args: { order_id: 1234 },
        ...more,
      })
      return ref_id
    },
  }
}

function configureSmtp(client: Postrider, smtp: SmtpServer, name: string, email: string) {
  const { host, port } = smtp
  return client.configureSMTP({
    ...{ name, email, config_type: 'smtp', connection_type: 'basic' },
    config: { host, port, username: email, password: 'first', secure: 'Auto' },
  })
}

/** What the simulator reports, what is stopped, and how the domain is verified. */
async function playReports({ client, receiver, bodies, keep, send }: Play): Promise<void> {
  await client.configureRelay({ kind: 'simulator' })
  const domain = 'mail.shop.example.com'
  await client.addDomain({ domain, relay: 'simulator', custom_args: { customer: 17 } })
  for (const [recipient, event] of Object.entries(SIMULATED))
    await keep(event, await send(`hello@${domain}`, `${recipient}@example.com`))
  await keep('PHISHING', await send(username, 'ada@example.com', PHISHING))
  await client.verifyDomain(domain)
  await receiver.waitUntil((all) => onPath(all, PATHS.domains).length > 0, WAIT_MS)
  bodies.DOMAIN_VERIFICATION = onPath(receiver.requests, PATHS.domains)[0]?.json
}

/** Of a mailer of its own: the session of the other one is still logged in. */
async function playDeactivation(
  { client, bodies, happened, send }: Play,
  smtp: SmtpServer,
  users: Record<string, string>,
): Promise<void> {
  const sales = 'sales@shop.example.com'
  users[sales] = 'first'
  const { mailer } = await configureSmtp(client, smtp, 'Sales', sales)
  users[sales] = 'second'
  await send(sales, 'bob@example.com')
  const isMailer = (details: Happening['details']) => details.mailer_id === mailer.mailer_id
  bodies.MAILER_DEACTIVATED = [await happened('MAILER_DEACTIVATED', isMailer)]
}

/** Loads the pixel, follows the link and unsubscribes. */
async function readAsPerson(world: World, raw: Buffer): Promise<void> {
  const text = raw
    .toString('latin1')
    .replaceAll(/=\r\n/g, '')
    .replaceAll(/\r\n[ \t]/g, '')
  const here = (url: string) => world.service().origin + new URL(url).pathname
  const find = (shape: RegExp) => here(shape.exec(text)?.[1] ?? '')
  const headers = { 'user-agent': SAFARI, 'accept-language': 'en' }
  await fetch(find(/(https?:[^"\s]+\/t\/o\/[\w-]+\.gif)/), { headers })
  await fetch(find(/(https?:[^"\s]+\/t\/c\/[\w-]+)/), { headers, redirect: 'manual' })
  await fetch(find(/^List-Unsubscribe:\s*<([^>]+)>/im), {
    method: 'POST',
    headers,
    body: new URLSearchParams({ 'List-Unsubscribe': 'One-Click' }),
  })
}

async function incomingEvents(o: {
  readonly world: World
  readonly dns: Dns
  readonly receiver: Scene['receiver']
  readonly client: Postrider
}): Promise<Record<string, unknown>> {
  const { world, dns, receiver, client } = o
  const bodyOf = (event: string) =>
    onPath(receiver.requests, PATHS.incoming)
      .map(({ json }) => json as Happening)
      .find((body) => body.event === event)
  const domain = 'replies.example.com'
  const url = receiver.origin + PATHS.incoming
  const { inbound_domain } = await client.configureInboundRouting({ domain, url, method: 'POST' })
  dns.publish(inbound_domain.records)
  const from = { from: 'ada@example.com', to: [`support@${domain}`] }
  const raw = LETTER.replace('inbound.example.com', domain)
  await sendSmtpTo(world.service().inboundPort ?? 0, { ...from, raw })
  const imap = await world.newImapServer({
    tls: { mode: 'implicit', ...certificate },
    auth: { users: { 'support@shop.example.com': 'secret' } },
  })
  await client.configureIMAP({
    ...{ name: 'Support', email: 'support@shop.example.com' },
    ...{ config_type: 'imap', connection_type: 'basic', verify: false },
    config: {
      ...{ host: imap.host, port: imap.port, secure: 'SSL' },
      ...{ username: 'support@shop.example.com', password: 'secret' },
    },
    folders: ['INBOX', 'Orders'],
    webhook: { webhook_url: url },
  })
  const names = ['INCOMING_EMAIL', 'IMAP_ERROR']
  await receiver.waitUntil(() => names.every((name) => bodyOf(name) !== undefined), WAIT_MS)
  return Object.fromEntries(names.map((name) => [name, bodyOf(name)]))
}
