/** Emails and an email in the dashboard: found, understood, and helped on, as a person does it. */
import { readFile } from 'node:fs/promises'
import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import type { Tenant } from '../world.ts'
import { findBarriers } from './accessibility.ts'
import { describeInBrowser } from './in-browser.ts'
import type { Scene } from './scene.ts'

const html = '<p>Hello <a href="https://shop.example.com/orders/1">your order</a></p>'
const content = [
  { type: 'text/plain' as const, value: 'Hello, your order.' },
  { type: 'text/html' as const, value: html },
]

const MAILERS = 'has the scope “Mailers and domains”'
const ALL = 'a key that may do everything'
const BAIT = 'Log in at https://bad.test/login today.'

/** A tenant of the test alone, a mailer, and a person with that role. */
async function setTheScene(
  scene: Scene,
  o: {
    readonly script?: Readonly<Record<string, readonly string[]>>
    readonly role?: 'owner' | 'viewer'
    readonly content?: boolean
  } = {},
) {
  const tenant = await scene.world.newTenant('Aster Books')
  const server = await scene.world.newSmtpServer({ script: o.script ?? {} })
  const { mailer } = await tenant.client.configureSMTP({
    ...{ name: 'Receipts', email: 'orders@example.com' },
    ...{ config_type: 'smtp', connection_type: 'basic' },
    config: { host: server.host, port: server.port, secure: 'None' },
  })
  const person = await scene.newPerson(o.role ?? 'owner', {
    tenantIds: [tenant.tenantId],
    ...(o.content !== undefined && { content: o.content }),
  })
  return { tenant, person, mailer, list: `/app/t/${tenant.tenantId}/emails` }
}

async function send({ client }: Tenant, to: string, subject: string): Promise<string> {
  const { ref_id: refId } = await client.sendEmail({
    ...{ from: { email: 'orders@example.com' }, to: [{ email: to }], subject, content },
  })
  return refId
}

async function untilStatus({ client }: Tenant, refId: string, status: string): Promise<void> {
  await expect
    .poll(async () => (await client.getEmail(refId)).email.recipients[0]?.status)
    .toBe(status)
}

const rows = (page: Page) => page.getByRole('table', { name: 'Emails' })

describeInBrowser('the emails', (scene) => {
  it('lead from an empty list to a test mail that arrives', async () => {
    const { open, world, newPerson } = scene()
    const tenant = await world.newTenant('Empty Shelf')
    const person = await newPerson('owner', { tenantIds: [tenant.tenantId] })
    const page = await open(`/app/t/${tenant.tenantId}/emails`, { person })
    await page.getByRole('heading', { name: 'No mail yet' }).waitFor()
    await page.getByRole('link', { name: 'Add a mailer' }).waitFor()
    expect(await findBarriers(page)).toEqual([])
    // Each empty list says what it is for, has one button, and the lines of a program.
    const main = page.getByRole('main')
    const empty = [
      ['mailboxes', 'No mailbox is read', '/v1/imap', 'configureIMAP', MAILERS],
      ['inbound', 'No mail was received yet', '/v1/inbound', 'configureInboundRouting', MAILERS],
      ['protection', 'Nothing was stopped', '/v1/phishing', 'updatePhishingSettings', ALL],
      ['live', 'No event yet', '/v1/events/stream', 'streamEvents', 'has the scope “Read all'],
      ['deliveries', 'No delivery yet', '/v1/webhook', 'registerWebhook', 'scope “Webhooks”'],
    ] as const
    for (const [path, title, address, method, key] of empty) {
      await page.goto(`${scene().origin}/app/t/${tenant.tenantId}/${path}`)
      await main.getByRole('heading', { name: title }).waitFor()
      await main.getByText(address).waitFor()
      await main.getByRole('tab', { name: 'TypeScript' }).click()
      await main.getByText(`postrider.${method}(`).waitFor()
      await main.getByText(key).waitFor()
      expect(await findBarriers(page)).toEqual([])
    }
    // The key that the lines of the last one need is one step away, and their host is the reader's to replace.
    await main.getByText('Put a server of your own in place of hooks.example.com').waitFor()
    await main.getByRole('link', { name: 'Create such a key' }).click()
    const making = page.getByRole('dialog')
    await making.getByRole('checkbox', { name: 'Webhooks', checked: true }).waitFor()
    expect(await making.getByRole('checkbox', { checked: true }).count()).toBe(1)
    await making.getByRole('button', { name: 'Cancel' }).click()
    await making.waitFor({ state: 'detached' })
    await page.goto(`${scene().origin}/app/t/${tenant.tenantId}/emails`)

    // Before the first mail: settings that an attempt has read hold for a second.
    await tenant.client.updatePhishingSettings({ blocked_domains: ['bad.test'] })
    const server = await world.newSmtpServer()
    await tenant.client.configureSMTP({
      ...{ name: 'Receipts', email: 'orders@example.com' },
      ...{ config_type: 'smtp', connection_type: 'basic' },
      config: { host: server.host, port: server.port, secure: 'None' },
    })
    await page.reload()
    await page.getByRole('button', { name: 'Send a test mail' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Send', exact: true }).click()
    await page.waitForURL('**/emails/0*')
    await page.getByText('The recipient’s server has taken it.').waitFor()
    await page.getByText('taken by the server').waitFor()
    expect(server.messages.map(({ recipients }) => recipients)).toEqual([[person.email]])

    // What the protection stops is in its list, with the sign that told it.
    const { ref_id: stopped } = await tenant.client.sendEmail({
      ...{ from: { email: 'orders@example.com' }, to: [{ email: 'eve@example.com' }] },
      ...{ subject: 'Your account', content: [{ type: 'text/plain', value: BAIT }] },
    })
    await untilStatus(tenant, stopped, 'blocked')
    await page.getByRole('navigation').getByRole('link', { name: 'Protection' }).click()
    const listed = page.getByRole('table', { name: 'Stopped mail' }).getByRole('row').last()
    for (const text of ['eve@example.com', 'Your account', 'bad.test'])
      await listed.getByText(text).first().waitFor()
    await listed.getByRole('link').first().click()
    await page.waitForURL(`**/emails/${stopped}*`)
  })

  it('tell why a mail was put off, and after "Try now" that it arrived and who was told', async () => {
    const reply = '451 4.3.0 Temporary lookup failure, try again later'
    const { tenant, person, list } = await setTheScene(scene(), {
      script: { 'ada@example.com': [reply, 'ok'] },
    })
    const receiver = await scene().world.newReceiver()
    await tenant.client.registerWebhook({
      ...{ webhook_url: `${receiver.origin}/events`, event: 'EMAIL_EVENT', method: 'POST' },
      webhook_options: { events: { delivery: true, smtp_error: true } },
    })
    const refId = await send(tenant, 'ada@example.com', 'Your parcel is on its way')
    await untilStatus(tenant, refId, 'deferred')

    const page = await scene().open(list, { person })
    await rows(page).getByRole('link', { name: 'ada@example.com, Your parcel' }).click()
    await page.getByRole('heading', { level: 1, name: 'Your parcel is on its way' }).waitFor()
    await page.getByText('Attempt 2 of 5 follows').waitFor()
    const said = page.getByRole('group', { name: 'The server said' })
    expect(await said.textContent()).toBe(reply)
    expect(await findBarriers(page)).toEqual([])

    await page.getByRole('button', { name: 'Try now' }).click()
    await page.getByText('has taken it at attempt 2. Nothing more follows.').waitFor()
    await page.getByRole('listitem').filter({ hasText: 'MAIL_DELIVERED' }).waitFor()
    expect(await page.getByRole('button', { name: 'Try now' }).count()).toBe(0)

    await page.getByRole('tab', { name: 'Raw events' }).click()
    await page.waitForURL('**tab=events**')
    await page.getByRole('heading', { name: 'MAIL_DELIVERED' }).waitFor()
    await page.goBack()
    await page.getByText('Attempt 1 of 5').waitFor()
  })

  it('page through 10,000 recipients, find one, cancel all that match, and export them', async () => {
    const { tenant, person, list } = await setTheScene(scene())
    const sendAt = new Date(Date.now() + 3_600_000).toISOString()
    for (let at = 0; at < 10_000; at += 1_000)
      await tenant.client.sendEmail({
        ...{ from: { email: 'orders@example.com' }, subject: `Letter ${at / 1_000}`, content },
        ...{ send_at: sendAt, campaign_id: 'letter' },
        to: Array.from({ length: 1_000 }, (_, n) => ({ email: `member${at + n}@example.com` })),
      })
    const page = await scene().open(`${list}?campaign=letter`, { person })
    const table = rows(page)
    const loaded = async () => Number(await table.getAttribute('aria-rowcount'))
    await expect.poll(loaded).toBeGreaterThan(50)
    for (let times = 0; times < 4; times += 1) {
      const before = await loaded()
      await page.evaluate('scrollTo(0, document.body.scrollHeight)')
      await expect.poll(loaded).toBeGreaterThan(before)
    }
    // Of so many, only those in sight are drawn.
    expect(await table.getByRole('row').count()).toBeLessThan(120)

    const search = page.getByRole('textbox', { name: 'Search emails' })
    await search.fill('member7042@example.com')
    await page.getByText('Recipient member7042@example.com').waitFor()
    await search.press('Enter')
    await expect.poll(loaded).toBe(2)
    await table.getByText('Letter 7').waitFor()
    await page.getByRole('button', { name: 'Remove the filter Recipient' }).click()
    await expect.poll(loaded).toBeGreaterThan(50)

    await page.getByRole('button', { name: 'Change all that match' }).click()
    await page.getByRole('menuitem', { name: /^Cancel/ }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('10,000 recipients match.').waitFor()
    expect(await findBarriers(page)).toEqual([])
    await dialog.getByRole('button', { name: 'Cancel 10,000' }).click()
    await dialog.getByText('10,000 of 10,000 are cancelled.').waitFor()
    await dialog.getByText('Close', { exact: true }).click()
    await table.getByText('Cancelled or refused').first().waitFor()

    // In place of the picker, which a person would answer.
    await page.evaluate('globalThis.showSaveFilePicker = undefined')
    await page.getByRole('button', { name: 'Export' }).click()
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('menuitem', { name: /^As CSV/ }).click(),
    ])
    const lines = (await readFile(await download.path(), 'utf8')).trimEnd().split('\r\n')
    expect(lines).toHaveLength(10_001)
    expect(lines.filter((line) => line.includes(',member7042@example.com,'))).toHaveLength(1)
    expect(lines.filter((line) => line.includes(',rejected,'))).toHaveLength(10_000)
  }, 120_000)

  it('keep a view of the reader in the browser', async () => {
    const { person, list, tenant } = await setTheScene(scene())
    await send(tenant, 'ada@example.com', 'Hello')
    const page = await scene().open(`${list}?status=failed&last=24h`, { person })
    await page.getByRole('heading', { name: 'Nothing matches' }).waitFor()
    await page.getByRole('button', { name: 'Save view' }).click()
    await page.getByRole('textbox', { name: 'Name' }).fill('Failed today')
    await page.getByRole('dialog').getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByRole('link', { name: 'All', exact: true }).click()
    await rows(page).getByText('ada@example.com').waitFor()
    await page.reload()
    await page.getByRole('link', { name: 'Failed today' }).click()
    await page.waitForURL('**status=failed**')
    await page.getByRole('heading', { name: 'Nothing matches' }).waitFor()
  })

  it('show hostile mail as text, and run nothing of it', async () => {
    const attack = `"><img src=x onerror="document.title='run'"><script>document.title='run'</script>`
    const { tenant, person, list } = await setTheScene(scene(), {
      script: { 'eve@example.com': [`550 5.1.1 ${attack}`] },
    })
    const { ref_id: refId } = await tenant.client.sendEmail({
      from: { email: 'orders@example.com', name: '<b>x</b>' },
      to: [{ email: 'eve@example.com', name: attack.slice(0, 60) }],
      subject: attack,
      custom_args: { a: attack },
      content: [{ type: 'text/html', value: `<p>Safe words</p>${attack}` }],
    })
    await untilStatus(tenant, refId, 'failed')
    const page = await scene().open(list, { person })
    await rows(page).getByText(attack).waitFor()
    await rows(page).getByRole('link').click()
    await page.getByRole('group', { name: 'The server said' }).waitFor()
    const reply = await page.getByRole('group', { name: 'The server said' }).textContent()
    expect(reply).toContain(attack)
    for (const tab of ['Text', 'Source', 'Headers', 'Links', 'Raw events', 'Preview'])
      await page.getByRole('tab', { name: tab }).click()
    const mail = page.frameLocator('iframe[sandbox=""]')
    await mail.getByText('Safe words').waitFor()
    expect(await page.title()).toBe(`${attack} · Postrider`)
    // The browser says that it has refused what the mail asked for, and nothing else.
    const refused = /Blocked script execution|Content Security Policy directive: "img-src data:"/
    expect((await scene().complaints()).filter((text) => !refused.test(text))).toEqual([])
    await scene().closePages()
  })

  it('show what happened to a mail whose content was removed', async () => {
    const { tenant, person, list } = await setTheScene(scene())
    const refId = await send(tenant, 'ada@example.com', 'Hello')
    await untilStatus(tenant, refId, 'delivered')
    const refusals = ['410 /ui/api/v1/email']
    const page = await scene().open(list, { person, refusals })
    // Its answer when the time is over, which a test does not wait for.
    const json = { success: false, code: 'content_removed', message: 'Content Removed' }
    await page.route(/\/v1\/email\/[^/]+\/(?:content|raw)/, (route) =>
      route.fulfill({ status: 410, json }),
    )
    await rows(page).getByRole('link').click()
    for (const tab of ['Preview', 'Text', 'Source', 'Headers', 'Links']) {
      await page.getByRole('tab', { name: tab }).click()
      await page.getByRole('heading', { name: 'The content is not kept any more' }).waitFor()
      await page.getByText('still in the timeline').waitFor()
    }
    await page.getByRole('tab', { name: 'Raw events' }).click()
    await page.getByText('MAIL_DELIVERED').first().waitFor()
    expect(await scene().complaints()).toEqual([])
  })

  it('tell a viewer what is closed, and why', async () => {
    const { tenant, person, list } = await setTheScene(scene(), {
      ...{ role: 'viewer', content: false },
      script: { 'bob@example.com': ['550 5.1.1 no such user'] },
    })
    const refId = await send(tenant, 'bob@example.com', 'Hello')
    await untilStatus(tenant, refId, 'failed')
    const page = await scene().open(list, { person })
    await page.getByRole('button', { name: 'Change all that match' }).click()
    const item = page.getByRole('menuitem', { name: /^Send again/ })
    expect(await item.getAttribute('aria-disabled')).toBe('true')
    await item.getByText('Your role does not include this.').waitFor()
    await page.keyboard.press('Escape')

    await rows(page).getByRole('link').click()
    await page.getByText('The refusal is for good, so nothing more is tried.').waitFor()
    const again = page.getByRole('button', { name: 'Send again' })
    expect(await again.getAttribute('aria-disabled')).toBe('true')
    await page.getByRole('tab', { name: 'Preview' }).click()
    await page.getByRole('heading', { name: 'You may not read the content of mail' }).waitFor()
    expect(await page.locator('iframe').count()).toBe(0)
  })
})
