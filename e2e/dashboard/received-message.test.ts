/** A received message: who sent it, what it holds, the request that reported it, and its report once more. */
import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { connectTo, createDatabase, type TestDatabaseCopy } from '@postrider/testkit/database'
import { afterAll, expect, inject, it } from 'vitest'
import { incomingOf, letterOf } from '../inbound-scene.ts'
import { findBarriers } from './accessibility.ts'
import { describeInBrowser } from './in-browser.ts'

const LETTER = letterOf('question', {
  fields: ['MIME-Version: 1.0', 'Content-Type: multipart/mixed; boundary=b'],
  body: [
    '--b',
    'Content-Type: text/html; charset=utf-8',
    '',
    '<p>Where is my order?</p>',
    '--b',
    'Content-Type: text/csv',
    'Content-Disposition: attachment; filename="order.csv"',
    '',
    'title,price',
    '--b--',
    '',
  ].join('\r\n'),
})

let database: TestDatabaseCopy | undefined
afterAll(() => database?.close())

describeInBrowser(
  'a received message',
  (scene) => {
    it('shows its sender, attachments, preview and request, and is reported again', async () => {
      const { world, tenant, open, newPerson } = scene()
      const { client, tenantId } = tenant
      const [receiver, imap] = await Promise.all([world.newReceiver(), world.newImapServer()])
      await client.configureIMAP({
        ...{ name: 'Support', email: 'support@example.com', config_type: 'imap' },
        connection_type: 'basic',
        config: {
          ...{ host: '127.0.0.1', port: imap.port, username: 'ada@example.com' },
          ...{ password: 'secret', secure: 'None' },
        },
        webhook: { webhook_url: `${receiver.origin}/mailbox` },
      })
      imap.deliver('INBOX', LETTER)
      const first = incomingOf(await receiver.waitFor(({ path }) => path === '/mailbox'))
      const { inbound_id: inboundId } = first.details
      const deliveries = async () =>
        (await client.listWebhookDeliveries({ inbound_id: inboundId })).deliveries
      await expect.poll(async () => (await deliveries())[0]?.status).toBe('delivered')

      const page = await open(`/app/t/${tenantId}/inbound`, {
        ...{ person: await newPerson('owner'), width: 768, colors: 'dark' },
      })
      const listed = page.getByRole('table', { name: 'Messages' }).getByRole('row').last()
      for (const text of [
        'About question',
        'SPF none',
        'DKIM none',
        'DMARC none',
        'Ada <ada@sender.test>',
      ])
        await listed.getByText(text).waitFor()
      expect(await findBarriers(page)).toEqual([])
      await listed.getByRole('link', { name: 'Ada' }).click()
      await page.getByRole('heading', { level: 1, name: 'About question' }).waitFor()
      await page.getByText('Ada <ada@sender.test>').waitFor()

      const checks = page.getByRole('table', { name: 'Authentication' })
      for (const method of ['SPF', 'DKIM', 'DMARC'])
        await checks.getByRole('row').filter({ hasText: method }).getByText('none').waitFor()

      const attachment = page.getByRole('table', { name: 'Attachments' }).getByRole('row').nth(1)
      await attachment.getByText('order.csv').waitFor()
      await attachment.getByText('text/csv').waitFor()
      // Chromium would ask where to; a browser without a picker gets a download.
      await page.evaluate('delete window.showSaveFilePicker')
      const saving = page.waitForEvent('download')
      await attachment.getByRole('button', { name: 'Save as a file' }).click()
      const download = await saving
      expect(download.suggestedFilename()).toBe('order.csv')
      expect(await readFile(await download.path(), 'utf8')).toMatch(/^title,price/)

      await page.frameLocator('iframe').getByText('Where is my order?').waitFor()
      expect(await findBarriers(page)).toEqual([])

      await page.getByRole('button', { name: 'Report again' }).click()
      await page.getByText('The message is reported again.').waitFor()
      await expect.poll(async () => (await deliveries()).length).toBe(2)
      const reports = receiver.requests.filter(({ path }) => path === '/mailbox').map(incomingOf)
      expect(reports.map(({ details }) => details.inbound_id)).toEqual([inboundId, inboundId])

      await page
        .getByRole('table', { name: 'Deliveries of its event' })
        .getByRole('link')
        .first()
        .click()
      await page.getByRole('heading', { level: 1, name: 'Delivery' }).waitFor()
    })

    it('tells a person without the permission that its content is closed', async () => {
      const { tenant, open, newPerson } = scene()
      const { inbound_messages: messages } = await tenant.client.listInboundMessages()
      const page = await open(`/app/t/${tenant.tenantId}/inbound`, {
        person: await newPerson('viewer', { content: false }),
      })
      const listed = page.getByRole('table', { name: 'Messages' }).getByRole('row').last()
      await listed.getByText('SPF none').waitFor()
      expect(await page.content()).not.toContain('About question')
      await listed.getByRole('link').click()
      await page.waitForURL((url) => url.pathname.endsWith(`/${messages[0]?.inbound_id}`))
      await page.getByText('Your role may not read the content of mail.').waitFor()
      expect(await page.locator('iframe').count()).toBe(0)
      expect(await page.content()).not.toContain('About question')
    })

    it('says in place of its preview and its source that its bytes were removed', async () => {
      const { tenant, open, newPerson } = scene()
      const { inbound_messages: messages } = await tenant.client.listInboundMessages()
      const id = messages[0]?.inbound_id ?? ''
      // What POSTRIDER_CONTENT_RETENTION does when its time has come.
      const sql = await connectTo(database?.url ?? '')
      await sql.query('delete from inbound_raw').finally(() => sql.end())
      const raw = `/ui/api/v1/inbound/messages/${id}/raw`
      const page = await open(`/app/t/${tenant.tenantId}/inbound/messages/${id}`, {
        ...{ person: await newPerson('owner'), refusals: [`410 ${raw}`] },
      })
      const told = page.getByText('The message is not kept any more')
      await page.getByRole('heading', { level: 1, name: 'About question' }).waitFor()
      await told.first().waitFor()
      expect(await told.count()).toBe(1)
      expect(await page.locator('iframe').count()).toBe(0)
      await page.getByRole('button', { name: 'Show it' }).click()
      await told.nth(1).waitFor()
    })
  },
  async () => {
    const { serverUrl, templateWithDays } = inject('testDatabase')
    database = await createDatabase({ serverUrl, template: templateWithDays })
    const key = randomBytes(32).toString('base64')
    return { env: { DATABASE_URL: database.url, SECRET_KEYS: `k1:${key}` } }
  },
)
