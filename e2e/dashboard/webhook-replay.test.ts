/** A receiver that was down for too long: noticed, understood, repaired, and given what it has missed. */
import { expect, it } from 'vitest'
import { findBarriers } from './accessibility.ts'
import { describeInBrowser } from './in-browser.ts'

const DOWN = 'upstream is down for maintenance'

describeInBrowser(
  'a failing webhook',
  (scene) => {
    it('is found, its receiver is repaired, and what was given up is counted and replayed', async () => {
      const { world, tenant, open, newPerson } = scene()
      const { client } = tenant
      const [smtp, receiver] = await Promise.all([
        world.newSmtpServer(),
        world.newReceiver({ script: () => ({ status: 503, body: DOWN }) }),
      ])
      await client.configureSMTP({
        ...{ name: 'Orders', email: 'orders@example.com', config_type: 'smtp' },
        connection_type: 'basic',
        config: { host: '127.0.0.1', port: smtp.port, secure: 'None' },
      })
      await client.registerWebhook({
        ...{ webhook_url: `${receiver.origin}/events`, event: 'EMAIL_EVENT', method: 'POST' },
        webhook_options: { events: { delivery: true } },
      })
      const send = (name: string) =>
        client.sendEmail({
          from: { email: 'orders@example.com' },
          to: [{ email: `${name}@example.com` }],
          ...{ subject: 'Your order', content: [{ type: 'text/plain', value: 'It is here.' }] },
        })
      const { ref_id: lost } = await send('lost')
      const givenUp = async () =>
        (await client.listWebhookDeliveries({ status: 'exhausted' })).deliveries.length
      await expect.poll(givenUp, { timeout: 60_000 }).toBe(1)
      await send('waiting')

      // Found.
      const base = `/app/t/${tenant.tenantId}`
      const page = await open(base, { person: await newPerson('developer') })
      const problem = page.getByText('Requests to a webhook fail')
      await problem.waitFor()
      await page.getByRole('link', { name: /^Look at / }).click()
      await page.waitForURL('**/webhooks**')
      await page.getByText('Failing', { exact: true }).waitFor()
      // What waits for the first request is told, and the way to what has failed is to drop a filter.
      const main = page.getByRole('main')
      expect(await findBarriers(page)).toEqual([])
      await main.getByRole('link', { name: '1 not delivered yet' }).click()
      await page.waitForURL(/\/deliveries\?.*status=open/)
      await main.getByText('Events that no request has carried yet').waitFor()
      await main.getByRole('button', { name: 'Remove “Status: Not delivered yet”' }).click()
      const deliveries = page.getByRole('table', { name: 'Deliveries' })
      const failed = deliveries.getByRole('row').filter({ hasText: 'Given up' })
      await failed.getByText('503').waitFor()
      await failed.getByText(`127.0.0.1:${receiver.port}`).waitFor()
      await main.getByRole('button', { name: 'Remove the filter Receiver' }).waitFor()
      await failed.getByRole('link').click()
      await page.getByRole('heading', { level: 1, name: /Given up/ }).waitFor()
      await page.getByText(DOWN).first().waitFor()
      await page.getByText('"lost@example.com"').waitFor()

      // Repaired: what waited comes by itself, what was given up does not.
      receiver.setScript(() => 200)
      receiver.clear()
      await page.getByRole('navigation').getByRole('link', { name: 'Webhooks' }).click()
      await page.getByRole('button', { name: 'Example of MAIL_BOUNCE' }).click()
      await page.getByText('550 5.1.1 The mailbox does not exist').waitFor()
      expect(await page.getByRole('button', { name: /^Example of / }).count()).toBe(12)
      // Its long links make the page no wider.
      await page.getByRole('button', { name: 'Example of MAIL_CLICKED' }).click()
      await page.getByText('"MAIL_CLICKED"').first().waitFor()
      expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
      await page.getByRole('button', { name: 'Send a test event' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByRole('button', { name: 'Send', exact: true }).click()
      await dialog.getByText('Accepted', { exact: true }).waitFor()
      await dialog.getByRole('button', { name: 'Cancel' }).click()
      // A colleague pauses it, which this page has not heard of when it is to be tried: it stays paused.
      const heard = Promise.withResolvers<void>()
      const asks = Promise.withResolvers<void>()
      await page.route('**/v1/webhook/*/status', async (route) => {
        asks.resolve()
        await heard.promise
        await route.continue()
      })
      await asks.promise
      const [failing] = (await client.listWebhooks()).webhooks
      await client.pauseWebhook(failing?.webhook_id ?? '')
      await page.getByRole('button', { name: 'Try now' }).click()
      heard.resolve()
      await page.getByText('The webhook is paused. Events wait.').waitFor()
      await page.unroute('**/v1/webhook/*/status')
      expect(receiver.requests.some(({ body }) => body.includes('waiting@'))).toBe(false)
      await page.getByRole('button', { name: 'Resume' }).click()
      await receiver.waitFor(({ body }) => body.includes('waiting@example.com'))
      await page.getByText('Nothing waits', { exact: true }).waitFor()
      expect(await page.getByRole('button', { name: 'Try now' }).count()).toBe(0)
      await page.getByRole('button', { name: 'Pause' }).click()
      await dialog.getByRole('button', { name: 'Pause' }).click()
      await page.getByRole('button', { name: 'Resume' }).click()
      await page.getByText('Nothing waits', { exact: true }).waitFor()
      expect(receiver.requests.filter(({ body }) => body.includes('lost@example.com'))).toEqual([])

      // Replayed: the number first, and a number of what is chosen now.
      await page.getByRole('navigation').getByRole('link', { name: 'Deliveries' }).click()
      await page.getByRole('button', { name: 'Replay', exact: true }).click()
      await dialog.getByLabel('That happened since').fill('2020-01-01T00:00')
      await dialog.getByRole('button', { name: 'Count them' }).click()
      await dialog.getByText('Found: 1 event.').waitFor()
      await dialog.getByLabel('Only what was not delivered').uncheck()
      await dialog.getByRole('button', { name: 'Count them' }).click()
      await dialog.getByText('Found: 2 events.').waitFor()
      await dialog.getByLabel('Only what was not delivered').check()
      await dialog.getByRole('button', { name: 'Count them' }).click()
      await dialog.getByText('Found: 1 event.').waitFor()
      expect(receiver.requests.filter(({ body }) => body.includes('lost@example.com'))).toEqual([])
      // While the webhook is paused nothing goes out, and the dialog says so.
      const [webhook] = (await client.listWebhooks()).webhooks
      await client.pauseWebhook(webhook?.webhook_id ?? '')
      await dialog.getByRole('button', { name: 'Replay 1 event' }).click()
      await dialog.getByText('On their way: 0 of 1 event').waitFor()
      await dialog.getByText('Paused', { exact: true }).waitFor()
      expect(await findBarriers(page)).toEqual([])
      await client.resumeWebhook(webhook?.webhook_id ?? '')
      await dialog.getByText('1 event sent again.').waitFor()
      await dialog.getByRole('button', { name: 'Close' }).last().click()
      await dialog.waitFor({ state: 'detached' })
      const { json } = await receiver.waitFor(({ body }) => body.includes('lost@example.com'))
      expect(json).toMatchObject([{ event: 'MAIL_DELIVERED', details: { ref_id: lost } }])

      // Delivered, as the page of its email says, too.
      await page.goto(`${scene().origin}${base}/deliveries?ref_id=${lost}`)
      const delivered = deliveries.getByRole('row').filter({ hasText: /Delivered/ })
      await delivered.getByText('200').waitFor()
      await failed.waitFor()
      await delivered.getByRole('link').click()
      await page.getByRole('heading', { level: 1, name: /Delivered/ }).waitFor()
      await page.goto(`${scene().origin}${base}`)
      await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor()
      await problem.waitFor({ state: 'detached' })
    })
  },
  // The second failure gives an event up, and then the webhook backs off for an hour: nothing happens by itself.
  { env: { WEBHOOK_RETRY_FOR: '1s', WEBHOOK_RETRY_SCHEDULE: '1500ms,1h' } },
)
