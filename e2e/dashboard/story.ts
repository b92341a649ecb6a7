/**
 * The story that the pictures of the dashboard tell: a shop whose mail goes out as every day, whose mailer for
 * invoices cannot log in any more, and whose webhook is down. Two more tenants, one of them German.
 *
 * All servers are scripted and on this machine; names lead to them by a name server of the story's own. The past
 * is made by moving what has happened back in time, in the database.
 */
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Postrider } from '@postrider/client'
import {
  createDnsServer,
  type DnsServer,
  findFreePort,
  type SmtpScript,
  type SmtpServer,
} from '@postrider/testkit'
import { createPostgresServer } from '@postrider/testkit/postgres-server'
import { letterOf } from '../inbound-scene.ts'
import { sendSmtpTo } from '../send-smtp.ts'
import { makeHistory, moveBack, recordCounts } from './past.ts'
import { createScene, type Person, type Scene } from './scene.ts'
import { sendTestMail } from './test-mail.ts'

/** `empty`: people, and nothing sent. `many`: lists of 10,000. `fire`: no mailer gets its mail out any more. */
export const storyKinds = ['ordinary', 'empty', 'many', 'fire'] as const
export type StoryKind = (typeof storyKinds)[number]

export interface Story {
  readonly scene: Scene
  readonly people: Readonly<
    Record<'operator' | 'owner' | 'developer' | 'support' | 'viewer', Person>
  >
  /** By what paths of screens name: `{tenant}`, `{email}`, `{mailer}`. */
  readonly ids: Readonly<Record<string, string>>
  destroy(): Promise<void>
}

const SHOP = 'asterbooks.test'
const BROWSER =
  'Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36'
/** Of a program that looks at mail before its reader does. */
const SCANNER = 'Mozilla/5.0 (compatible; mail-scanner/4.2)'
/** Hits that come sooner are taken for a robot's. */
const READS_AFTER_MS = 3_500
const TRIED_WITHIN_MS = 60_000
const RECORDED_WITHIN_MS = 15_000
const events = {
  ...{ delivery: true, smtp_error: true, bounce: true, spam: true, open: true, click: true },
  ...{ unsubscribe: true },
}

export async function createStory(
  say: (line: string) => void,
  kind: StoryKind = 'ordinary',
): Promise<Story> {
  const directory = mkdtempSync(join(tmpdir(), 'postrider-story-'))
  const dns = await createDnsServer()
  const postgres = createPostgresServer({
    directory,
    port: await findFreePort(),
    isPrepared: true,
  })
  await postgres.start()
  const inboundPort = await findFreePort()
  const clean = async () => {
    await postgres.stop()
    await dns.close()
    rmSync(directory, { recursive: true, force: true })
  }
  try {
    say('Starting the service ...')
    const scene = await createScene({
      tenantName: 'Aster Books',
      strangerName: 'Fjellvind Outdoor AS',
      env: {
        DATABASE_URL: postgres.url,
        SECRET_KEYS: `k1:${randomBytes(32).toString('base64')}`,
        DNS_SERVERS: dns.address,
        INBOUND_PORT: String(inboundPort),
        INBOUND_HOST: `mx.${SHOP}`,
        // As a container publishes them.
        SUBMISSION_PUBLIC_PORT: '587',
        SUBMISSION_PUBLIC_TLS_PORT: '465',
        SEND_RETRY_SCHEDULE: '2s,10m',
        WEBHOOK_RETRY_SCHEDULE: '2s,5s,30m',
        // Mail is accepted meanwhile.
        AUTH_CONFIRM_DELAY: '5s',
      },
    })
    try {
      const told = await tell({ scene, dns, inboundPort, databaseUrl: postgres.url, say, kind })
      const destroy = async () => {
        await scene.destroy()
        await clean()
      }
      return { scene, ...told, destroy }
    } catch (error) {
      await scene.destroy()
      throw error
    }
  } catch (error) {
    await clean()
    throw error
  }
}

interface Telling {
  readonly scene: Scene
  readonly dns: DnsServer
  readonly inboundPort: number
  readonly databaseUrl: string
  readonly say: (line: string) => void
  readonly kind: StoryKind
}

async function tell(o: Telling): Promise<Pick<Story, 'people' | 'ids'>> {
  const { scene, dns, databaseUrl, say, kind } = o
  const { tenant } = scene
  const { client } = tenant
  if (kind === 'empty') return { people: await invite(scene), ids: { tenant: tenant.tenantId } }
  for (const name of ['smtp', 'login', 'rechnung', 'hooks', 'imap', 'mx'])
    dns.set(`${name}.${SHOP}`, 'A', ['127.0.0.1'])
  await recordCounts(databaseUrl)
  const people = await invite(scene)
  const { shop, breakInvoices, ids: mailers } = await addMailers(o)
  const { breakReceiver, ids: webhooks } = await addWebhooks(o)
  await addLists(client)
  const template = await addTemplate(client)
  await addOtherTenants(o)

  say('A quiet day ...')
  await send(client, { count: 60, from: 'orders' })
  await send(client, { count: 25, from: 'news' })
  await send(client, { count: 8, from: 'rechnung' })
  await waitUntilTried(client)
  await moveBack(databaseUrl, '26 hours')
  await send(client, { count: 40, from: 'orders' })
  await waitUntilTried(client)
  await readMail(shop, 12)
  await moveBack(databaseUrl, '5 hours')
  const pictured = await tellOfOne(client, shop)

  say('The invoices cannot go out any more ...')
  breakInvoices()
  breakReceiver()
  await send(client, { count: 9, from: 'rechnung' })
  await send(client, { count: 30, from: 'orders' })
  const { mailbox, received } = await receiveMail(o)
  const stopped = await client.sendEmail({
    from: { email: `news@${SHOP}`, name: 'Aster Books' },
    to: [{ email: 'reader@example.com' }],
    subject: 'Your account needs attention',
    content: [
      { type: 'text/html', value: '<p><a href="https://login.bad.test/">Confirm now</a></p>' },
    ],
  })
  const { ref_id: email } = await sendTheOne(client)
  await readMail(shop, 8)
  await waitUntilTried(client)
  if (kind === 'fire') await setOnFire(client, shop)
  // More than the limit of that mailer: the rest waits.
  await send(client, { count: 45, from: 'news' })
  const tested = await addTestMail(scene)
  await makeHistory(databaseUrl)
  if (kind === 'many') await addMany(scene)
  return {
    people,
    ids: {
      ...{ tenant: tenant.tenantId, email, pictured, phishing: stopped.ref_id },
      ...{ ...mailers, ...webhooks },
      mailbox,
      received,
      template,
      tested,
      stranger: scene.stranger.tenantId,
    },
  }
}

/** To a mailer with a limit: most of it waits. */
async function addMany({ world, tenant: { client, tenantId } }: Scene): Promise<void> {
  await world.operator().updateTenant(tenantId, { quotas: { emails_per_second: 1_000_000 } })
  const numbers = (count: number) => Array.from({ length: count }, (_, n) => n)
  const lines = numbers(10_000).map((n) => `member${n}@example.com,bounced\n`)
  await client.importSuppressions(`email,reason\n${lines.join('')}`)
  for (const email of numbers(10))
    await client.sendEmail({
      ...{ from: { email: `news@${SHOP}` }, subject: 'Autumn reading list' },
      to: numbers(1_000).map((n) => ({ email: `reader${email * 1_000 + n}@example.net` })),
      content: [{ type: 'text/plain', value: 'Hello.' }],
    })
}

async function setOnFire(client: Postrider, shop: SmtpServer): Promise<void> {
  shop.setScript(({ phase }) =>
    phase === 'rcpt'
      ? '554 5.7.1 Service unavailable; client host [192.0.2.7] blocked by a list of senders of unwanted mail; see https://lists.example.com/lookup?ip=192.0.2.7'
      : undefined,
  )
  await send(client, { count: 60, from: 'orders' })
  await waitUntilTried(client)
}

async function addTemplate(client: Postrider): Promise<string> {
  const { template } = await client.createTemplate({
    name: 'Receipt',
    subject: 'Order {{ order_id }}',
    content: [{ type: 'text/html', value: '<p>Thank you, {{ name }}.</p>' }],
    sample_data: { order_id: 1234, name: 'Ada' },
  })
  const { template_id } = template
  await client.updateTemplate({ template_id, subject: 'Your order {{ order_id }}' })
  return template_id
}

/** Answers the one that bounced. */
async function addTestMail(scene: Scene): Promise<string> {
  const from = `orders@${SHOP}`
  for (const to of ['delivered@example.com', 'ada@example.com'])
    await sendTestMail(scene, { from, to, subject: 'Your order 1 is on its way' })
  const tested = await sendTestMail(scene, {
    ...{ from, to: 'gone@example.net', subject: 'Ihre Bestellung ist unterwegs' },
  })
  await scene.tenant.client.simulateEvent(tested, { event: 'bounce' })
  return tested
}

async function invite({ newPerson, operator }: Scene): Promise<Story['people']> {
  const [owner, developer, support, viewer] = await Promise.all([
    newPerson('owner', { name: 'Clara Aster', email: 'clara@example.com' }),
    newPerson('developer', { name: 'Jörg Schäfer', email: 'joerg@example.com' }),
    newPerson('support', { name: 'Sam Okafor', email: 'sam@example.com' }),
    newPerson('viewer', { name: 'Vera Lindqvist-Oliveira', email: 'vera@example.com' }),
  ])
  return { operator, owner, developer, support, viewer }
}

async function addMailers({ scene }: Telling) {
  const { world, tenant } = scene
  const password = scene.newSecret()
  const users: Record<string, string> = { [`rechnung@${SHOP}`]: password }
  const [shop, invoices] = await Promise.all([
    world.newSmtpServer({ script: answerByName }),
    world.newSmtpServer({ auth: { users, required: true } }),
  ])
  const add = async (
    name: string,
    local: string,
    o: { readonly server: SmtpServer; readonly host: string; readonly limits?: object },
  ) => {
    const login = o.server === invoices ? { username: `rechnung@${SHOP}`, password } : {}
    const { mailer } = await tenant.client.configureSMTP({
      ...{ name, email: `${local}@${SHOP}`, config_type: 'smtp', connection_type: 'basic' },
      config: { host: `${o.host}.${SHOP}`, port: o.server.port, secure: 'None', ...login },
      ...(o.limits === undefined ? {} : { limits: o.limits }),
    })
    return mailer.mailer_id
  }
  const mailer = await add('Orders and shipping', 'orders', { server: shop, host: 'smtp' })
  const limits = { per_minute: 30, per_day: 20_000 }
  const limited = await add('Newsletter', 'news', { server: shop, host: 'smtp', limits })
  const failing = await add('Rechnungen', 'rechnung', { server: invoices, host: 'rechnung' })
  const oauth = await addOAuthMailer(scene, shop)
  return {
    ...{ shop, ids: { mailer, limited, failing, oauth } },
    breakInvoices() {
      users[`rechnung@${SHOP}`] = scene.newSecret()
    },
  }
}

/** Its grant is never used: nothing is sent by it. */
async function addOAuthMailer({ tenant, newSecret }: Scene, { port }: SmtpServer): Promise<string> {
  const { client } = tenant
  await client.createOAuthApp({
    ...{ app_id: 'google', provider: 'google', client_id: '1184-asterbooks.apps.example.com' },
    client_secret: newSecret(),
  })
  const { app } = await client.createOAuthApp({
    ...{ app_id: 'office', provider: 'custom', client_id: 'aster-books-office' },
    ...{ client_secret: newSecret(), scopes: ['mail.send', 'offline_access'] },
    authorize_url: `https://login.${SHOP}/authorize`,
    token_url: `https://login.${SHOP}/token`,
    smtp: { host: `smtp.${SHOP}`, port, secure: 'None' },
  })
  const { mailer } = await client.configureSMTP({
    ...{ name: 'Clara', email: `clara@${SHOP}`, verify: false },
    ...{ config_type: 'smtp', connection_type: 'oauth' },
    config: { app_id: app.app_id, refresh_token: newSecret() },
  })
  return mailer.mailer_id
}

/** What the recipients' servers say, by the local part. */
const answerByName: SmtpScript = ({ phase, recipient = '', attempt }) => {
  if (phase !== 'rcpt') return undefined
  if (recipient.startsWith('gone'))
    return '550 5.1.1 <gone@example.net>: Recipient address rejected: User unknown in virtual mailbox table'
  if (recipient.startsWith('unbekannt'))
    return '550 5.1.1 Empfängeradresse abgelehnt: Dieses Postfach existiert nicht'
  if (recipient.startsWith('full')) return '452 4.2.2 Mailbox full, try again later'
  if (recipient.startsWith('greta') && attempt === 1)
    return '450 4.2.1 <greta.hartmann@example.com>: The mailbox is busy, please try again soon'
  if (recipient.startsWith('grey') && attempt === 1)
    return '450 4.7.1 Greylisted, please try again in a moment'
  return undefined
}

async function addWebhooks({ scene }: Telling) {
  const { world, tenant, newSecret } = scene
  const receiver = await world.newReceiver()
  const add = async (event: 'EMAIL_EVENT' | 'DOMAIN_VERIFICATION', path: string) => {
    const { webhook_id } = await tenant.client.registerWebhook({
      ...{ webhook_url: `http://hooks.${SHOP}:${receiver.port}/${path}`, event, method: 'POST' },
      headers: { 'X-Webhook-Secret': newSecret() },
      ...(event === 'EMAIL_EVENT' ? { webhook_options: { events } } : {}),
    })
    return webhook_id
  }
  const webhook = await add('EMAIL_EVENT', 'postrider')
  const domainWebhook = await add('DOMAIN_VERIFICATION', 'domains')
  return {
    ids: { webhook, domainWebhook },
    breakReceiver: () =>
      receiver.setScript(({ path }) =>
        path === '/postrider' ? { status: 503, body: 'upstream is down for maintenance' } : 200,
      ),
  }
}

async function addLists(client: Postrider): Promise<void> {
  await client.addSuppression({ email: 'no.more@example.com', note: 'Asked by telephone' })
  await client.addSuppression({ email: 'abgemeldet@example.org', reason: 'unsubscribed' })
  await client.updatePhishingSettings({ blocked_domains: ['bad.test'] })
  await client.createKey({ name: 'Shop, production', scopes: ['send'] })
  await client.createKey({ name: 'Auswertung', scopes: ['read'], networks: ['192.0.2.0/24'] })
  await client.configureRelay({ kind: 'simulator' })
  await client.addDomain({ domain: `news.${SHOP}`, relay: 'simulator' })
}

async function addOtherTenants({ scene }: Telling): Promise<void> {
  const { world } = scene
  const other = await world.newTenant('Mühlenhof Versand GmbH')
  const suspended = await world.newTenant('Northwind Clinic')
  await world.newTenant('A very long name of a tenant, as people give them when nobody looks')
  const operator = world.operator()
  await operator.updateTenant(other.tenantId, { quotas: { emails_per_day: 50_000 } })
  await operator.updateTenant(scene.tenant.tenantId, {
    quotas: { emails_per_second: 200, emails_per_day: 20_000, storage_bytes_max: 5_000_000_000 },
  })
  await operator.updateTenant(suspended.tenantId, { state: 'suspended' })
}

const SUBJECTS: Readonly<Record<string, readonly string[]>> = {
  orders: [
    'Your order 4711 is on its way',
    'Thank you for your order',
    'Your parcel arrives tomorrow',
    'Your order could not be packed: one book is out of print, and we have an offer for you',
  ],
  news: ['Autumn reading list 🍂', 'Neu im Herbst: zwölf Bücher für lange Abende'],
  rechnung: ['Ihre Rechnung Nr. 2026-1184', 'Ihre Rechnung Nr. 2026-1185 (Zahlungserinnerung)'],
}
const PEOPLE = [
  ...['ada', 'grace', 'linus', 'mei', 'amara', 'bjoern', 'chiara', 'dmitri', 'eun-ji', 'fatima'],
  ...['gone', 'full', 'grey', 'unbekannt', 'hedwig', 'ines', 'jonas', 'kofi', 'lucia', 'no.more'],
]
const PROVIDERS = ['example.com', 'example.net', 'example.org', 'mail.example.com']

async function send(
  client: Postrider,
  { count, from }: { readonly count: number; readonly from: string },
): Promise<void> {
  const subjects = SUBJECTS[from] ?? []
  for (let i = 0; i < count; i++) {
    const name = PEOPLE[(i * 7) % PEOPLE.length] ?? ''
    const isPlain = !/^(?:gone|full|grey|unbekannt|no\.)/.test(name)
    await client.sendEmail({
      from: { email: `${from}@${SHOP}`, name: 'Aster Books' },
      to: [
        {
          email: `${isPlain ? `${name}.${i}` : name}@${PROVIDERS[i % PROVIDERS.length]}`,
          name,
        },
      ],
      subject: subjects[i % subjects.length] ?? '',
      content: [
        { type: 'text/plain', value: `Hello ${name},\n\nthere is news about your order.\n` },
        {
          type: 'text/html',
          value: `<h1>Hello ${name}</h1><p>There is <a href="https://www.${SHOP}/orders/${i}">news about your order</a>.</p>`,
        },
      ],
      campaign_id: from === 'news' ? 'autumn-2026' : 'orders',
      settings: { open_tracking: true, click_tracking: true, unsubscribe: from === 'news' },
    })
  }
}

/** Until each mail has been sent, or waits for another attempt or for its mailer. */
async function waitUntilTried(client: Postrider): Promise<void> {
  const untilMs = performance.now() + TRIED_WITHIN_MS
  for (const status of ['queued', 'sending'] as const)
    while ((await client.getEmailLogs({ status })).logs.length > 0) {
      if (performance.now() > untilMs) throw new Error(`there is still mail that is ${status}`)
      await new Promise((resolve) => setTimeout(resolve, 250))
    }
}

/**
 * The email of the first picture, from the first attempt to the click: deferred, delivered, opened by a scanner
 * and by its reader, and every event taken by the webhook. Returns its id.
 */
async function tellOfOne(client: Postrider, shop: SmtpServer): Promise<string> {
  const to = 'greta.hartmann@example.com'
  const { ref_id: refId } = await client.sendEmail({
    from: { email: `orders@${SHOP}`, name: 'Aster Books' },
    to: [{ email: to, name: 'Greta Hartmann' }],
    subject: 'Your order 4711 is on its way',
    content: [
      {
        type: 'text/html',
        value: `<h1>On its way</h1><p>Your parcel left our house this morning. <a href="https://www.${SHOP}/parcels/4711">Follow it</a>.</p>`,
      },
    ],
    custom_args: { order: 4711 },
    campaign_id: 'orders',
    settings: { open_tracking: true, click_tracking: true },
  })
  type Traced = Awaited<ReturnType<Postrider['getEmail']>>['email']
  const waitUntil = async (isSo: (email: Traced) => boolean | undefined) => {
    const untilMs = performance.now() + RECORDED_WITHIN_MS
    while (isSo((await client.getEmail(refId)).email) !== true) {
      if (performance.now() > untilMs) throw new Error('the email of the picture does not go on')
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }
  const hasHits = (count: number) =>
    waitUntil(
      ({ recipients: [one], deliveries, events }) =>
        one?.hits.length === count &&
        events.length === count + 2 &&
        deliveries.flatMap((delivery) => delivery.event_ids).length === events.length &&
        deliveries.every(({ status }) => status === 'delivered'),
    )
  await waitUntil(({ recipients: [one] }) => one?.status === 'delivered')
  const message = shop.messages.find(
    ({ recipients, accepted }) => accepted && recipients.includes(to),
  )
  const { pixel = '', link = '' } = linksOf(message?.raw)
  await browse(pixel, SCANNER)
  await hasHits(1)
  await readingTime()
  await browse(pixel)
  await hasHits(2)
  await readingTime()
  await browse(link)
  await hasHits(3)
  return refId
}

/** An email to several, each with a fate of its own. */
async function sendTheOne(client: Postrider) {
  return await client.sendEmail({
    from: { email: `orders@${SHOP}`, name: 'Aster Books' },
    to: [
      { email: 'grey.reader@example.com', name: 'Grete Reader' },
      { email: 'unbekannt@example.org', name: 'Ulrich' },
      { email: 'full@example.net' },
    ],
    cc: [{ email: 'archive@example.com', name: 'Archive' }],
    subject: 'Your order 4711 is on its way',
    content: [
      { type: 'text/plain', value: 'Hello,\n\nyour parcel left our house this morning.\n' },
      {
        type: 'text/html',
        value: `<h1 style="font-family:Georgia,serif">On its way</h1><p>Your parcel left our house this morning. <a href="https://www.${SHOP}/parcels/4711">Follow it</a>.</p>`,
      },
    ],
    custom_args: { order: 4711 },
    campaign_id: 'orders',
    settings: { open_tracking: true, click_tracking: true, max_attempts: 4 },
  })
}

async function readingTime(): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, READS_AFTER_MS))
}

/** As people with a browser do: they open a mail, and follow every second link. */
async function readMail(server: SmtpServer, count: number): Promise<void> {
  const seen = server.messages.slice(-count)
  await readingTime()
  for (const [i, { raw }] of seen.entries()) {
    const { pixel, link } = linksOf(raw)
    for (const url of i % 2 === 0 ? [pixel, link] : [pixel])
      if (url !== undefined) await browse(url)
  }
}

/** The first of each kind that tracking has put into a message. */
function linksOf(raw: Buffer | undefined) {
  const html = raw?.toString().replaceAll('=\r\n', '').replaceAll('=3D', '=') ?? ''
  return {
    pixel: /http\S+\/t\/o\/[^"]+/.exec(html)?.[0],
    link: /http\S+\/t\/c\/[^"]+/.exec(html)?.[0],
  }
}

async function browse(url: string, agent = BROWSER): Promise<void> {
  const answer = await fetch(url, { redirect: 'manual', headers: { 'user-agent': agent } })
  await answer.arrayBuffer()
}

/** Answers the mailer of the mailbox, and the message that has an attachment. */
async function receiveMail({ scene, dns, inboundPort }: Telling) {
  const { world, tenant } = scene
  const { client } = tenant
  const receiver = await world.newReceiver()
  const domain = `in.${SHOP}`
  const { inbound_domain } = await client.configureInboundRouting({
    ...{ domain, url: `http://hooks.${SHOP}:${receiver.port}/inbound` },
  })
  dns.publish(inbound_domain.records)
  await client.getInboundDomain(domain)
  dns.set('sender.test', 'TXT', [['v=spf1 ip4:127.0.0.1 -all']])
  dns.set('_dmarc.sender.test', 'TXT', [['v=DMARC1; p=quarantine']])
  for (const raw of [letterOf('return'), letterOf('thanks'), ORDER])
    await sendSmtpTo(inboundPort, { from: 'ada@sender.test', to: [`desk@${domain}`], raw })
  const received = async () => (await client.listInboundMessages()).inbound_messages
  for (let left = 300; (await received()).some(({ state }) => state === 'waiting'); left -= 1) {
    if (left === 0) throw new Error('received mail was not reported')
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  const [newest] = await received()
  const imap = await world.newImapServer()
  const { mailer } = await client.configureIMAP({
    ...{ name: 'Support', email: `support@${SHOP}`, config_type: 'imap', connection_type: 'basic' },
    config: {
      ...{ host: `imap.${SHOP}`, port: imap.port, username: 'ada@example.com' },
      ...{ password: 'secret', secure: 'None' },
    },
    webhook: { webhook_url: `http://hooks.${SHOP}:${receiver.port}/mailbox` },
  })
  imap.deliver('INBOX', letterOf('order'))
  return { mailbox: mailer.mailer_id, received: newest?.inbound_id ?? '' }
}

const ORDER = letterOf('books', {
  fields: ['MIME-Version: 1.0', 'Content-Type: multipart/mixed; boundary=b'],
  body: [
    '--b',
    'Content-Type: text/html; charset=utf-8',
    '',
    '<p>Hello,</p><p>the list of the books that I miss is attached.</p><p>Ada</p>',
    '--b',
    'Content-Type: text/csv',
    'Content-Disposition: attachment; filename="missing-books.csv"',
    '',
    'title,price',
    'The Left Hand of Darkness,12.90',
    '--b--',
    '',
  ].join('\r\n'),
})
