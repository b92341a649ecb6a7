/** The checklist of a new tenant leads from nothing to an event at the receiver, without another page. */
import { expect, it } from 'vitest'
import { describeInBrowser } from './in-browser.ts'

describeInBrowser('a new tenant', (scene) => {
  it('is led to a mailer, a mail that is delivered, a webhook and its first event', async () => {
    const { world, newPerson, open, tenant } = scene()
    const person = await newPerson('owner')
    const [server, receiver] = await Promise.all([world.newSmtpServer(), world.newReceiver()])
    const page = await open(`/app/t/${tenant.tenantId}`, { person })
    const dialog = page.getByRole('dialog')
    const current = page.locator('[aria-current=step]')

    await current.getByRole('button', { name: 'Add a mailer' }).click()
    await dialog.getByLabel('Sends for').fill('shop@example.com')
    await dialog.getByLabel('Host').fill('127.0.0.1')
    await dialog.getByLabel('Port').fill(String(server.port))
    await page.keyboard.press('Enter')

    await current.getByRole('button', { name: 'Send a test mail' }).click()
    await dialog.getByRole('button', { name: 'Send' }).click()
    await page.getByRole('status').getByText('Delivered').waitFor()
    expect(server.messages).toHaveLength(1)

    await page.getByRole('link', { name: 'Overview' }).click()
    await current.getByRole('button', { name: 'Add a webhook' }).click()
    await dialog.getByLabel('Address').fill(`http://127.0.0.1:${receiver.port}/events`)
    await page.keyboard.press('Enter')
    await current.getByRole('button', { name: 'Send another mail' }).click()
    await dialog.getByRole('button', { name: 'Send' }).click()
    await page.getByRole('status').getByText('Delivered').waitFor()
    await receiver.waitForRequests(1)
    // What is done is not asked for again.
    await page.getByRole('link', { name: 'Overview' }).click()
    await page.getByText('What became of the mail').waitFor()
    await page.getByText('First steps').waitFor({ state: 'detached' })
  })

  it('hides the rest of the checklist once a mail was sent, for who wants no webhook', async () => {
    const { world, newPerson, open } = scene()
    const tenant = await world.newTenant('Without webhooks')
    const person = await newPerson('owner', { tenantIds: [tenant.tenantId] })
    const server = await world.newSmtpServer()
    const page = await open(`/app/t/${tenant.tenantId}`, { person })
    const hide = page.getByRole('button', { name: 'Hide', exact: true })
    await page.getByText('First steps').waitFor()
    expect(await hide.count()).toBe(0)
    await tenant.client.configureSMTP({
      ...{ name: 'Shop', email: 'shop@example.com', config_type: 'smtp', connection_type: 'basic' },
      config: { host: '127.0.0.1', port: server.port, secure: 'None' },
    })
    await tenant.client.sendEmail({
      ...{ from: { email: 'shop@example.com' }, to: [{ email: 'ada@example.com' }] },
      ...{ subject: 'First', content: [{ type: 'text/plain', value: 'Hello.' }] },
    })
    await page.reload()
    await hide.click()
    await page.getByText('First steps').waitFor({ state: 'detached' })
    await page.reload()
    await page.getByText('What became of the mail').waitFor()
    await page.getByText('First steps').waitFor({ state: 'detached' })
  })

  it('sends its first mail without a mail server, by a domain of the simulator', async () => {
    const { world, newPerson, open } = scene()
    const tenant = await world.newTenant('Without a mail server')
    const person = await newPerson('owner', { tenantIds: [tenant.tenantId] })
    const page = await open(`/app/t/${tenant.tenantId}`, { person })
    const dialog = page.getByRole('dialog')
    await page.getByRole('link', { name: 'add a domain of the simulator' }).click()
    await dialog.getByLabel('Domain').fill('shop.test')
    expect(await dialog.getByRole('combobox').inputValue()).toBe('simulator')
    await dialog.getByRole('button', { name: 'Add a domain' }).click()
    await page.getByRole('heading', { level: 1, name: 'shop.test' }).waitFor()
    await page.getByRole('link', { name: 'Overview' }).click()
    const current = page.locator('[aria-current=step]')
    await current.getByRole('button', { name: 'Send a test mail' }).click()
    await dialog.getByRole('button', { name: 'Send' }).click()
    await page.getByRole('status').getByText('Delivered').waitFor()
  })

  it('fills in what a provider is known to want, in whichever order the form is filled', async () => {
    const { world, newPerson, open } = scene()
    const tenant = await world.newTenant('Writers by Gmail')
    const person = await newPerson('owner', { tenantIds: [tenant.tenantId] })
    const page = await open(`/app/t/${tenant.tenantId}`, { person })
    await page.getByRole('button', { name: 'Add a mailer' }).click()
    const dialog = page.getByRole('dialog')
    const username = dialog.getByLabel('Username')
    await dialog.getByRole('combobox', { name: 'Provider' }).click()
    await page.getByRole('option', { name: 'Gmail' }).click()
    await dialog.getByText('An app password').waitFor()
    await dialog.getByLabel('Sends for').fill('ada@gmail.com')
    expect(await dialog.getByLabel('Host').inputValue()).toBe('smtp.gmail.com')
    expect(await username.inputValue()).toBe('ada@gmail.com')
    await username.fill('')
    expect(await username.inputValue()).toBe('')
    await username.fill('ada.l@gmail.com')
    await dialog.getByLabel('Sends for').fill('shop@example.com')
    expect(await username.inputValue()).toBe('ada.l@gmail.com')
  })

  it('prints an email on white paper, without what a screen needs', async () => {
    const { world, newPerson, open } = scene()
    const tenant = await world.newTenant('Printers')
    const person = await newPerson('owner', { tenantIds: [tenant.tenantId] })
    const server = await world.newSmtpServer()
    await tenant.client.configureSMTP({
      ...{ name: 'Shop', email: 'shop@example.com', config_type: 'smtp', connection_type: 'basic' },
      config: { host: '127.0.0.1', port: server.port, secure: 'None' },
    })
    const { ref_id: refId } = await tenant.client.sendEmail({
      ...{ from: { email: 'shop@example.com' }, to: [{ email: 'ada@example.com' }] },
      ...{ subject: 'On paper', content: [{ type: 'text/plain', value: 'Hello.' }] },
    })
    const page = await open(`/app/t/${tenant.tenantId}/emails/${refId}`, { person, colors: 'dark' })
    await page.getByRole('tab', { name: 'Timeline' }).waitFor()
    const ink = () => page.evaluate<string>('getComputedStyle(document.body).color')
    const onScreen = await ink()
    await page.emulateMedia({ media: 'print' })
    expect(await ink()).not.toBe(onScreen)
    expect(await page.getByRole('navigation').first().isVisible()).toBe(false)
    expect(await page.getByRole('tab', { name: 'Timeline' }).isVisible()).toBe(false)
    expect(await page.getByText('Attempt 1 of 5').isVisible()).toBe(true)
  })
})
