/**
 * Nothing that comes from outside runs in the dashboard: subjects, names, bodies, words of mail servers and of
 * webhook receivers, notes. The pages are watched for dialogs, exceptions and other hosts (see `Scene`).
 */
import type { Postrider } from '@postrider/client'
import type { ImapServer } from '@postrider/testkit'
import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { describeInBrowser } from './in-browser.ts'
import { type Scene, settle } from './scene.ts'
import { sendTestMail } from './test-mail.ts'

const RUN = 'window.ran=1;alert(1)'
const corpus = [
  `<script>${RUN}</script>`,
  `<img src=x onerror="${RUN}">`,
  `"><svg onload=${RUN}>`,
  `'-${RUN}-'`,
  `</title></textarea><script>${RUN}</script>`,
  `javascript:${RUN}`,
  `{{constructor.constructor('${RUN}')()}}`,
  `<iframe srcdoc="<script>parent.ran=1</script>"></iframe>`,
  `<a href="javascript:${RUN}">click</a>`,
] as const
const all = corpus.join(' ')

/** What the browser says of scripts in the frame of a preview. */
const BLOCKED = { expects: [/^Blocked script execution in /, /Content Security Policy/] }

/** No script ran in the page or in a frame of it. */
async function expectNothingRan(page: Page): Promise<void> {
  await settle(page)
  for (const frame of page.frames()) expect(await frame.evaluate('window.ran')).toBeUndefined()
}

/** On none of the pages. */
async function expectNothingRanAt(
  { complaints, origin }: Scene,
  page: Page,
  paths: readonly string[],
): Promise<void> {
  for (const path of paths) {
    await page.goto(origin + path)
    await page.getByRole('heading', { level: 1 }).waitFor()
    await expectNothingRan(page)
    expect(await complaints()).toEqual([])
  }
}

interface Filled {
  readonly refId: string
  readonly testId: string
  readonly templateId: string
  readonly inboundId: string
  readonly deliveryId: string
  readonly incomingId: string
  readonly mailerId: string
  readonly mailboxId: string
}

describeInBrowser('hostile content', (scene) => {
  let filled: Promise<Filled> | undefined
  const fillOnce = () => {
    filled ??= fill(scene())
    return filled
  }

  it('is text everywhere', async () => {
    const { tenant, open, newPerson } = scene()
    const { refId, testId, ...ids } = await fillOnce()
    const { deliveryId, incomingId, mailerId, mailboxId } = ids
    const person = await newPerson('owner', { name: corpus[1] })
    const base = `/app/t/${tenant.tenantId}`
    const tabs = ['', '?tab=text', '?tab=source', '?tab=headers', '?tab=links', '?tab=events']
    const pages = [
      '',
      '/live',
      '/mailers',
      '/webhooks',
      '/deliveries',
      '/suppressions',
      '/developers',
      '/test-inbox',
      '/templates',
      '/templates/new',
      '/domains',
      '/inbound?tab=domains',
      '/inbound',
      '/mailboxes',
      '/mailers/oauth-apps',
      `/mailers/connected?success=false&error=${encodeURIComponent(all.slice(0, 150))}`,
      '/protection',
    ]
    const page = await open('/app/account', { person })
    await expectNothingRanAt(scene(), page, [
      `${base}/emails?q=${encodeURIComponent(corpus[1])}`,
      `${base}/emails`,
      ...tabs.map((tab) => `${base}/emails/${refId}${tab}`),
      `${base}/emails/${testId}`,
      `${base}/mailers/${mailerId}`,
      `${base}/mailers/${mailboxId}`,
      `${base}/deliveries/${deliveryId}`,
      `${base}/deliveries/${incomingId}`,
      ...pages.map((page) => base + page),
      `${base}/settings`,
      ...['usage', 'alerts', 'audit'].map((tab) => `${base}/settings?tab=${tab}`),
      '/app/account',
    ])
  }, 240_000)

  it('is text where a button asks for it: a received mail, an answer to a test, a refusal', async () => {
    const { tenant, open, newPerson } = scene()
    const { inboundId, templateId } = await fillOnce()
    const person = await newPerson('owner')
    const base = `/app/t/${tenant.tenantId}`
    const received = await open(`${base}/inbound/messages/${inboundId}`, { person, ...BLOCKED })
    await received.frameLocator('iframe').getByText('The end of the mail').waitFor()
    await received.getByRole('button', { name: 'Show it' }).click()
    await received.getByText('The end of the mail').first().waitFor()
    await received.getByText('<img src=x onerror=alert(1)>.html', { exact: true }).waitFor()
    await expectNothingRan(received)

    const page = await open(`${base}/webhooks`, { person })
    await page.getByRole('button', { name: 'Send a test event' }).first().click()
    await page.getByRole('dialog').getByRole('button', { name: 'Send' }).click()
    await page.getByRole('dialog').getByText('500').first().waitFor()
    await expectNothingRan(page)

    const template = await open(`${base}/templates/${templateId}`, {
      person,
      ...BLOCKED,
      refusals: ['400 /ui/api/v1/templates/preview'],
    })
    await template.frameLocator('iframe').getByText('The end of the mail').waitFor()
    await expectNothingRan(template)
    await template.getByLabel('Subject').fill(`{{ "${corpus[1].replaceAll('"', "'")}" | none }}`)
    await template.getByRole('button', { name: 'Preview' }).click()
    await template.getByText('undefined filter: none').first().waitFor()
    await expectNothingRan(template)
  })

  it('is text on the pages of the operator', async () => {
    const { tenant, open, operator } = scene()
    await fillOnce()
    const page = await open('/app/operator/tenants', {
      ...{ person: operator, maySeeAll: true, refusals: ['400 /ui/api/admin/v1/search'] },
    })
    const paths = [
      'tenants',
      `tenants/${tenant.tenantId}`,
      'queues',
      'users',
      'audit',
      'system?tab=alerts',
      `search?q=${encodeURIComponent('eve@example.com')}`,
      `search?q=${encodeURIComponent(corpus[1])}`,
    ]
    await expectNothingRanAt(
      scene(),
      page,
      paths.map((path) => `/app/operator/${path}`),
    )
  })

  it('does not run in the preview of a mail, and asks no other host', async () => {
    const { tenant, open, newPerson } = scene()
    const { refId } = await fillOnce()
    const person = await newPerson('owner')
    const page = await open(`/app/t/${tenant.tenantId}/emails/${refId}?tab=preview`, {
      person,
      ...BLOCKED,
    })
    await page.frameLocator('iframe').getByText('The end of the mail').waitFor()
    await expectNothingRan(page)
  })
})

async function fill(scene: Scene): Promise<Filled> {
  const { world, tenant } = scene
  const { client } = tenant
  const [server, receiver, imap] = await Promise.all([
    world.newSmtpServer({
      script: ({ phase }) => (phase === 'rcpt' ? `550 5.1.1 ${all}` : undefined),
    }),
    world.newReceiver({ script: () => ({ status: 500, body: all }) }),
    world.newImapServer(),
  ])
  await client.registerWebhook({
    ...{ webhook_url: receiver.origin, event: 'EMAIL_EVENT', method: 'POST', signing: true },
    webhook_options: { events: { delivery: true, smtp_error: true, bounce: true } },
  })
  const { mailer } = await client.configureSMTP({
    ...{ name: corpus[1], email: 'news@example.com', config_type: 'smtp', verify: false },
    connection_type: 'basic',
    config: { host: '127.0.0.1', port: server.port, secure: 'None' },
  })
  await client.createKey({ name: corpus[0], scopes: ['read'] })
  await client.updatePhishingSettings({ enabled: false })
  await client.addSuppression({ email: 'eve@example.com', note: all.slice(0, 400) })
  await client.setAlerts({
    url: `${receiver.origin}/?${encodeURIComponent(corpus[2])}='-alert(1)-'`,
  })
  const { ref_id: refId } = await client.sendEmail({
    from: { email: 'news@example.com', name: corpus[2] },
    to: [{ email: 'ada@example.com', name: corpus[1] }],
    subject: all.slice(0, 300),
    content: [
      { type: 'text/plain', value: all },
      { type: 'text/html', value: `${all}<p>The end of the mail</p>` },
    ],
    custom_args: { hostile: all, [corpus[1]]: corpus[0] },
    campaign_id: corpus[1],
  })
  const made = async () => (await client.listWebhookDeliveries({ ref_id: refId })).deliveries[0]
  await expect
    .poll(async () => (await made())?.attempts.length ?? 0, { timeout: 30_000 })
    .toBeGreaterThan(0)
  return {
    ...{ refId, deliveryId: (await made())?.delivery_id ?? '', mailerId: mailer.mailer_id },
    testId: await sendTestMail(scene, {
      ...{ from: 'news@example.com', to: 'ada@example.com', subject: all.slice(0, 300) },
    }),
    templateId: await addTemplate(client),
    ...(await receive(client, { imap, hookUrl: `${receiver.origin}/mailbox` })),
  }
}

async function addTemplate(client: Postrider): Promise<string> {
  const { template } = await client.createTemplate({
    ...{ name: corpus[1], subject: '{{ hostile }}', sample_data: { hostile: all } },
    content: [
      { type: 'text/plain', value: '{{ hostile }}' },
      {
        type: 'text/html',
        // Liquid would read the braces of the corpus.
        value: `${corpus.filter((one) => !one.includes('{{')).join(' ')}<p>The end of the mail</p>`,
      },
    ],
  })
  return template.template_id
}

/** A mail in a mailbox, whose webhook fails. */
async function receive(
  client: Postrider,
  { imap, hookUrl }: { readonly imap: ImapServer; readonly hookUrl: string },
) {
  const { mailer } = await client.configureIMAP({
    ...{ name: corpus[2], email: 'support@example.com', config_type: 'imap' },
    connection_type: 'basic',
    config: {
      ...{ host: '127.0.0.1', port: imap.port, username: 'ada@example.com' },
      ...{ password: 'secret', secure: 'None' },
    },
    webhook: { webhook_url: hookUrl },
  })
  imap.deliver('INBOX', LETTER)
  const received = async () => (await client.listInboundMessages()).inbound_messages[0]
  await expect.poll(async () => (await received())?.state, { timeout: 30_000 }).toBe('reported')
  const sent = async () =>
    (await client.listWebhookDeliveries({ event: 'INCOMING_EMAIL' })).deliveries[0]
  await expect
    .poll(async () => (await sent())?.attempts.length ?? 0, { timeout: 30_000 })
    .toBeGreaterThan(0)
  return {
    mailboxId: mailer.mailer_id,
    inboundId: (await received())?.inbound_id ?? '',
    incomingId: (await sent())?.delivery_id ?? '',
  }
}

const LETTER = [
  `From: "${corpus[1].replaceAll('"', '\\"')}" <eve@evil.test>`,
  'To: support@example.com',
  `Subject: ${all}`,
  'Message-ID: <"><svg/onload=alert(1)>@evil.test>',
  `X-Hostile: ${corpus[0]}`,
  'MIME-Version: 1.0',
  'Content-Type: multipart/mixed; boundary=b',
  '',
  '--b',
  'Content-Type: text/html; charset=utf-8',
  '',
  `${all}<p>The end of the mail</p>`,
  '--b',
  `Content-Type: text/html; name="<img src=x onerror=alert(1)>.html"`,
  'Content-Disposition: attachment; filename="<img src=x onerror=alert(1)>.html"',
  '',
  all,
  '--b--',
  '',
].join('\r\n')
