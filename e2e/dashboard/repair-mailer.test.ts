/** The story of the first days: a mailer with a wrong password is added, found out and repaired; then its mail arrives. */
import { expect, it } from 'vitest'
import { describeInBrowser } from './in-browser.ts'

describeInBrowser('a mailer with a wrong password', (scene) => {
  it('is refused with the words of the server, then found out, repaired, and sends again what had failed', async () => {
    const { world, tenant, open, newPerson, newSecret } = scene()
    const [wrong, right] = [newSecret(), newSecret()]
    const [server, receiver] = await Promise.all([
      world.newSmtpServer({ auth: { users: { 'news@example.com': right } } }),
      world.newReceiver(),
    ])
    const person = await newPerson('owner')
    const page = await open(`/app/t/${tenant.tenantId}/webhooks`, {
      person,
      refusals: ['422 /ui/api/v1/smtp'],
    })

    await page.getByRole('button', { name: 'Add a webhook' }).first().click()
    const webhook = page.getByRole('dialog')
    await webhook.getByLabel('Address', { exact: true }).fill(receiver.origin)
    await webhook.getByRole('button', { name: 'Add a webhook' }).click()
    await page.getByText('Nothing waits').waitFor()

    await page.getByRole('link', { name: 'Mailers' }).click()
    await page.getByRole('button', { name: 'Add an SMTP server' }).first().click()
    const form = page.getByRole('dialog')
    await form.getByLabel('Sends for').fill('news@example.com')
    await form.getByLabel('Host').fill('127.0.0.1')
    await form.getByLabel('Port').fill(String(server.port))
    await form.getByRole('combobox', { name: 'Encryption' }).click()
    await page.getByRole('option', { name: 'None (plain text)' }).click()
    await form.getByLabel('Username').fill('news@example.com')
    await form.getByLabel('Password', { exact: true }).fill(wrong)
    await form.getByRole('button', { name: 'Log in and add' }).click()
    await form.getByRole('alert').getByText('535').waitFor()
    await form.getByLabel('Try the login before it is saved').uncheck()
    await form.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('heading', { level: 1, name: 'news@example.com' }).waitFor()

    await tenant.client.sendEmail({
      from: { email: 'news@example.com' },
      to: [{ email: 'ada@example.com' }],
      subject: 'The first mail',
      content: [{ type: 'text/plain', value: 'It works.' }],
    })
    await page.getByText('The server rejected the login').waitFor({ timeout: 60_000 })
    expect(await page.getByRole('main').innerText()).toMatch(/535 /)
    expect(server.messages).toEqual([])

    await page.getByRole('button', { name: 'Give a new password' }).click()
    await form.getByLabel('Password', { exact: true }).fill(right)
    await form.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Active', { exact: true }).waitFor({ timeout: 60_000 })
    await page.getByRole('main').getByRole('link', { name: 'Mailers', exact: true }).click()
    await page
      .getByRole('table', { name: 'Mailers' })
      .getByText(/ 535 .*invalid/)
      .waitFor()

    await page.getByRole('link', { name: 'Emails', exact: true }).click()
    await page
      .getByRole('link', { name: /ada@example\.com/ })
      .first()
      .click()
    await page.getByRole('heading', { level: 1, name: 'The first mail' }).waitFor()
    await page.getByText('authentication credentials invalid').first().waitFor()
    await page.getByRole('button', { name: 'Send again' }).click()
    await form.getByRole('button', { name: 'Send again' }).click()
    await server.waitForMessages(1, 60_000)

    await page.getByRole('link', { name: 'Deliveries', exact: true }).click()
    await page
      .getByRole('link', { name: /MAIL_DELIVERED/ })
      .first()
      .click()
    await page.getByRole('heading', { level: 1, name: /Delivery/ }).waitFor()
    await page.getByText('"ada@example.com"').waitFor()
    expect(receiver.requests.length).toBeGreaterThan(0)
  })
})
