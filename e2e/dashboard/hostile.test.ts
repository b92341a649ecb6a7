/**
 * Nothing that comes from outside runs in the dashboard: subjects, names, bodies, words of mail servers and of
 * webhook receivers, notes. The pages are watched for dialogs, exceptions and other hosts (see `Scene`).
 */
import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { describeInBrowser } from './in-browser.ts'
import { type Scene, settle } from './scene.ts'

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

/** No script ran in the page or in a frame of it. */
async function expectNothingRan(page: Page): Promise<void> {
  await settle(page)
  for (const frame of page.frames()) expect(await frame.evaluate('window.ran')).toBeUndefined()
}

interface Filled {
  readonly refId: string
  readonly deliveryId: string
  readonly mailerId: string
}

describeInBrowser('hostile content', (scene) => {
  let filled: Promise<Filled> | undefined
  const fillOnce = () => {
    filled ??= fill(scene())
    return filled
  }

  it('is text everywhere', async () => {
    const { tenant, open, newPerson, origin, complaints } = scene()
    const { refId, deliveryId, mailerId } = await fillOnce()
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
    ]
    const page = await open('/app/account', { person })
    for (const path of [
      `${base}/emails?q=${encodeURIComponent(corpus[1])}`,
      `${base}/emails`,
      ...tabs.map((tab) => `${base}/emails/${refId}${tab}`),
      `${base}/mailers/${mailerId}`,
      `${base}/deliveries/${deliveryId}`,
      ...pages.map((page) => base + page),
      `${base}/settings`,
      `${base}/settings?tab=audit`,
      '/app/account',
    ]) {
      await page.goto(origin + path)
      await page.getByRole('heading', { level: 1 }).waitFor()
      await expectNothingRan(page)
      expect(await complaints()).toEqual([])
    }
  })

  it('does not run in the preview of a mail, and asks no other host', async () => {
    const { tenant, open, newPerson } = scene()
    const { refId } = await fillOnce()
    const person = await newPerson('owner')
    const page = await open(`/app/t/${tenant.tenantId}/emails/${refId}?tab=preview`, {
      person,
      expects: [/^Blocked script execution in /, /Content Security Policy/],
    })
    await page.frameLocator('iframe').getByText('The end of the mail').waitFor()
    await expectNothingRan(page)
  })
})

async function fill({ world, tenant: { client } }: Scene): Promise<Filled> {
  const [server, receiver] = await Promise.all([
    world.newSmtpServer({
      script: ({ phase }) => (phase === 'rcpt' ? `550 5.1.1 ${all}` : undefined),
    }),
    world.newReceiver({ script: () => ({ status: 500, body: all }) }),
  ])
  await client.registerWebhook({
    ...{ webhook_url: receiver.origin, event: 'EMAIL_EVENT', method: 'POST' },
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
  const { ref_id: refId } = await client.sendEmail({
    from: { email: 'news@example.com', name: corpus[2] },
    to: [{ email: 'ada@example.com', name: corpus[1] }],
    subject: all.slice(0, 300),
    content: [
      { type: 'text/plain', value: all },
      { type: 'text/html', value: `${all}<p>The end of the mail</p>` },
    ],
    custom_args: { hostile: all },
  })
  const made = async () => (await client.listWebhookDeliveries({ ref_id: refId })).deliveries[0]
  await expect
    .poll(async () => (await made())?.attempts.length ?? 0, { timeout: 30_000 })
    .toBeGreaterThan(0)
  return { refId, deliveryId: (await made())?.delivery_id ?? '', mailerId: mailer.mailer_id }
}
