/** The numbers of the overview lead to the emails that they count. */
import { expect, it } from 'vitest'
import { describeInBrowser } from './in-browser.ts'

describeInBrowser('the overview', (scene) => {
  it('leads from each number to its list, in the time that it shows', async () => {
    const { open, newPerson, tenant } = scene()
    const { client, tenantId } = tenant
    await client.configureRelay({ kind: 'simulator' })
    await client.addDomain({ domain: 'mail.asterbooks.test', relay: 'simulator' })
    const recipients = ['ada@example.com', 'grace@example.net', 'bounce-soft@example.net']
    await client.sendEmail({
      ...{ from: { email: 'news@mail.asterbooks.test' }, subject: 'Numbers' },
      to: recipients.map((email) => ({ email })),
      content: [{ type: 'text/plain', value: 'It works.' }],
    })
    const ended = async () => {
      const { counts } = (await client.getOverview({})).overview
      return [counts.delivered, counts.bounced]
    }
    await expect.poll(ended).toEqual([2, 1])

    const page = await open(`/app/t/${tenantId}?range=7d`, { person: await newPerson('viewer') })
    const main = page.getByRole('main')
    const emails = main.getByRole('table', { name: 'Emails' })
    const rows = async () => Number(await emails.getAttribute('aria-rowcount')) - 1
    const lists = [
      ['Accepted', 3],
      ['Delivered', 2],
      ['Bounced', 1],
      ['Deferred attempts', 0],
      ['Opened', 0],
      ['example.net', 2],
    ] as const
    for (const [name, count] of lists) {
      await main.getByRole('link', { name, exact: true }).click()
      await page.waitForURL(/\/emails\?.*last=7d/)
      if (count === 0) await main.getByText('Nothing matches').waitFor()
      else await expect.poll(rows).toBe(count)
      await page.goBack()
    }

    await main.getByRole('link', { name: /The mailbox is full/ }).click()
    await page.waitForURL(/\/emails\?.*reason=/)
    await expect.poll(rows).toBe(1)
    await main.getByText('bounce-soft@example.net').first().waitFor()
    await main.getByRole('button', { name: 'Remove the filter Reason' }).click()
    await expect.poll(rows).toBe(3)
  })

  it('names a mailer that is paused, also when no mail waits for it', async () => {
    const { open, newPerson, world } = scene()
    const { client, tenantId } = await world.newTenant('Resting Books')
    const { mailer } = await client.configureSMTP({
      ...{ name: 'Invoices', email: 'invoices@example.com', config_type: 'smtp' },
      ...{ connection_type: 'basic', verify: false },
      config: { host: '127.0.0.1', port: 9, secure: 'None' },
    })
    await client.setMailerActive({ mailer_id: mailer.mailer_id, active: false })
    const person = await newPerson('viewer', { tenantIds: [tenantId] })
    const page = await open(`/app/t/${tenantId}`, { person })
    await page.getByText('A mailer or mailbox is paused').waitFor()
    await page.getByRole('link', { name: 'Look at Invoices' }).click()
    await page.getByText('This mailer is paused').waitFor()
    await client.setMailerActive({ mailer_id: mailer.mailer_id, active: true })
    await page.goBack()
    await page.getByText('First steps').waitFor()
    await page.reload()
    await page.getByText('First steps').waitFor()
    expect(await page.getByText('A mailer or mailbox is paused').count()).toBe(0)
  })
})
