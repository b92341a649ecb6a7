/** Test mode in the dashboard: a key, its mail in the test inbox and marked everywhere, and what recipients would do. */
import { Postrider } from '@postrider/client'
import { expect, it } from 'vitest'
import { findBarriers } from './accessibility.ts'
import { describeInBrowser } from './in-browser.ts'
import { sendTestMail } from './test-mail.ts'

describeInBrowser('test mode', (scene) => {
  it('begins with a key of test mode, which lists tell from others', async () => {
    const { tenant, open, newPerson, origin } = scene()
    const page = await open(`/app/t/${tenant.tenantId}/test-inbox`, {
      person: await newPerson('owner'),
    })
    await page.getByText('No test mail yet').waitFor()
    await page.getByRole('region', { name: 'curl' }).getByText('POSTRIDER_TEST_KEY').waitFor()
    expect(await findBarriers(page)).toEqual([])
    await page.getByRole('button', { name: 'Create a test key' }).click()
    const dialog = page.getByRole('dialog')
    expect(await dialog.getByRole('radio', { name: 'Test' }).isChecked()).toBe(true)
    await dialog.getByLabel('Name').fill('Continuous integration')
    await dialog.getByRole('button', { name: 'Create a key' }).click()
    const apiKey = (await dialog.getByText(/^pr_test_/).innerText()).trim()
    await new Postrider({ apiKey, basePath: origin }).getEmailLogs({})
    await dialog.getByRole('button', { name: 'Done' }).click()

    await page.getByRole('link', { name: 'Developers' }).click()
    const keys = page.getByRole('table', { name: 'API keys' })
    const rowOf = (name: string) => keys.getByRole('row').filter({ hasText: name })
    await rowOf('Continuous integration').getByText('Test', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Create a key' }).first().click()
    expect(await dialog.getByRole('radio', { name: 'Live' }).isChecked()).toBe(true)
    await dialog.getByLabel('Name').fill('Shop')
    await dialog.getByRole('button', { name: 'Create a key' }).click()
    await dialog.getByText(/^pr_(?!test)/).waitFor()
    await dialog.getByRole('button', { name: 'Done' }).click()
    await rowOf('Shop').getByText('Live', { exact: true }).waitFor()
  })

  it('lets the recipient open, click, bounce and complain, and shows what came of it', async () => {
    const { tenant, open, newPerson, world } = scene()
    const { client, tenantId } = tenant
    const smtp = await world.newSmtpServer({})
    await client.configureSMTP({
      ...{ name: 'News', email: 'news@example.com', config_type: 'smtp', connection_type: 'basic' },
      config: { host: '127.0.0.1', port: smtp.port, secure: 'None' },
    })
    const from = 'news@example.com'
    await sendTestMail(scene(), { from, to: 'ada@example.com', subject: 'The first' })
    await sendTestMail(scene(), { from, to: 'bob@example.com', subject: 'The second' })
    await client.sendEmail({
      ...{ from: { email: from }, to: [{ email: 'eve@example.com' }], subject: 'No test' },
      content: [{ type: 'text/plain', value: 'Hello' }],
    })
    const page = await open(`/app/t/${tenantId}/test-inbox`, {
      person: await newPerson('developer'),
    })
    const rows = page.getByRole('table', { name: 'Test inbox' }).getByRole('row')
    await rows.filter({ hasText: 'The second' }).waitFor()
    expect((await rows.allInnerTexts()).slice(1).map((row) => /The \w+/.exec(row)?.[0])).toEqual([
      'The second',
      'The first',
    ])
    const ada = rows.filter({ hasText: 'ada@example.com' })
    for (const [button, event] of [
      ['Open', 'MAIL_OPENED'],
      ['Click', 'MAIL_CLICKED'],
      ['Complaint', 'MAIL_SPAM'],
    ] as const) {
      await ada.getByRole('button', { name: `${button} by ada@example.com` }).click()
      await ada.getByText(event).waitFor()
    }
    expect(await findBarriers(page)).toEqual([])
    await ada.getByRole('button', { name: 'Bounce by ada@example.com' }).click()
    await ada.getByText('Bounced', { exact: true }).waitFor()
    const opens = ada.getByRole('button', { name: 'Open by ada@example.com' })
    // The note shows on a focus by keys, and the last thing pressed was the pointer.
    await page.keyboard.press('Tab')
    await opens.focus()
    // That of the button before may still be on its way out.
    const notes = page.getByRole('tooltip').getByText('Only delivered mail gets events.')
    await notes.first().waitFor()

    await ada.getByRole('link', { name: 'ada@example.com, The first' }).click()
    await page.getByText('It was sent to nobody.').waitFor()
    await page.getByRole('button', { name: 'Open by ada@example.com' }).waitFor()
    await page.getByRole('main').getByRole('link', { name: 'News', exact: true }).click()
    await page.getByRole('heading', { level: 1, name: 'News' }).waitFor()
    expect(smtp.messages.length).toBeLessThanOrEqual(1)
  })

  it('marks test mail among other mail, and filters it', async () => {
    const { tenant, open, newPerson } = scene()
    const page = await open(`/app/t/${tenant.tenantId}/emails`, {
      person: await newPerson('viewer'),
    })
    const rows = page.getByRole('table', { name: 'Emails' }).getByRole('row')
    const mark = (subject: string) =>
      rows.filter({ hasText: subject }).getByText('Test', { exact: true })
    await mark('The first').waitFor()
    expect(await mark('No test').count()).toBe(0)
    await page.getByRole('link', { name: 'Test mail' }).click()
    await rows.filter({ hasText: 'No test' }).waitFor({ state: 'detached' })
    await mark('The second').waitFor()
    await page.getByRole('button', { name: 'Remove the filter Test mail' }).click()
    await rows.filter({ hasText: 'No test' }).waitFor()

    await page.getByRole('link', { name: 'Live', exact: true }).click()
    const events = page.getByRole('listitem').filter({ hasText: 'ada@example.com' })
    await events.first().getByText('Test', { exact: true }).waitFor()
  })
})
