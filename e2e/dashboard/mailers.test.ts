/** Mailers of every kind on their pages: connected by OAuth, read by IMAP, limited, and repaired. */
import type { Locator, Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { letterOf } from '../inbound-scene.ts'
import { findBarriers } from './accessibility.ts'
import { describeInBrowser } from './in-browser.ts'
import { settle } from './scene.ts'

const ADDRESS = 'ada@example.com'
const SLOW = { timeout: 60_000 }

const mail = {
  from: { email: ADDRESS },
  to: [{ email: 'grace@example.com' }],
  content: [{ type: 'text/plain' as const, value: 'It works.' }],
}

async function choose(page: Page, field: Locator, option: string): Promise<void> {
  await field.click()
  await page.getByRole('option', { name: option, exact: true }).click()
}

describeInBrowser('mailers', (scene) => {
  it('connects a mailbox by OAuth, tells why a login failed, and repairs a grant that ended', async () => {
    const { world, tenant, open, newPerson, newSecret, origin } = scene()
    const [secret, wrong] = [newSecret(), newSecret()]
    const provider = await world.newOAuthServer({ clientSecret: secret, email: ADDRESS })
    const server = await world.newSmtpServer({
      auth: {
        users: {},
        mechanisms: ['XOAUTH2'],
        tokens: (user, token) => provider.accepts(user, token),
      },
    })
    const other = await world.newTenant('Blue Kites')
    const person = await newPerson('owner', { tenantIds: [tenant.tenantId, other.tenantId] })
    const page = await open(`/app/t/${tenant.tenantId}/mailers`, {
      person,
      mayVisit: [provider.origin],
      refusals: ['400 /ui/api/v1/oauth/apps'],
    })

    await page.getByRole('button', { name: 'Connect by OAuth' }).first().click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText(`${origin}/oauth/callback`).waitFor()
    await choose(page, dialog.getByRole('combobox', { name: 'Provider' }), 'Another provider')
    expect(await findBarriers(page)).toEqual([])
    await dialog.getByLabel('Client id').fill(provider.clientId)
    await dialog.getByLabel('Name of the app, for you').fill('office')
    await dialog.getByLabel('Client secret').fill(wrong)
    await dialog.getByLabel('Authorization address').fill(provider.authorizeUrl)
    await dialog.getByLabel('Token address').fill('ftp://provider.test/token')
    const smtp = dialog.getByRole('group', { name: 'SMTP server, to send' })
    await smtp.getByLabel('Host').fill('127.0.0.1')
    await smtp.getByLabel('Port').fill(String(server.port))
    await choose(page, smtp.getByRole('combobox', { name: 'Encryption' }), 'None (plain text)')
    await dialog.getByRole('button', { name: 'Add an OAuth app' }).click()
    const tokenUrl = dialog.getByLabel('Token address')
    await dialog.locator('[aria-invalid=true]').waitFor()
    expect(await tokenUrl.getAttribute('aria-invalid')).toBe('true')
    await tokenUrl.fill(provider.tokenUrl)
    await dialog.getByRole('button', { name: 'Add an OAuth app' }).click()
    await dialog.getByRole('radio', { name: 'Send', exact: true }).waitFor()
    expect(await dialog.getByRole('radio').count()).toBe(1)
    expect(await findBarriers(page)).toEqual([])
    await dialog.getByRole('button', { name: 'Go to the provider' }).click()

    await page.getByRole('heading', { level: 1, name: 'The mailbox is not connected' }).waitFor()
    const main = page.getByRole('main')
    expect(await main.innerText()).toContain('token_request_failed')
    await main.getByRole('link', { name: 'OAuth apps' }).click()
    await page.getByRole('button', { name: 'Change' }).click()
    await dialog.getByLabel('Client secret').fill(secret)
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.waitFor({ state: 'hidden' })
    await page.getByRole('button', { name: 'Connect a mailbox' }).click()
    await dialog.getByRole('button', { name: 'Go to the provider' }).click()
    await page.getByRole('heading', { level: 1, name: 'The mailbox is connected' }).waitFor()
    await page.getByText('Everything works.').waitFor()
    const steps = await main.getByRole('listitem').allInnerTexts()
    expect(steps[0]).toContain('OAuth token')
    expect(steps.at(-1)).toContain('Login')
    expect(server.messages).toEqual([])

    await main.getByRole('link', { name: 'Open the mailer' }).click()
    await page.getByRole('heading', { level: 1, name: ADDRESS }).waitFor()
    const mailerId = new URL(page.url()).pathname.split('/').at(-1) ?? ''
    // Each mail logs in anew.
    await tenant.client.updateSMTP({ mailer_id: mailerId, limits: { messages_per_connection: 1 } })
    await tenant.client.sendEmail({ ...mail, subject: 'With a grant' })
    await server.waitForMessages(1, 60_000)

    provider.revoke(ADDRESS)
    provider.expireAccessTokens()
    await tenant.client.sendEmail({ ...mail, subject: 'After the grant' })
    await page.getByText('The provider has ended the grant.').waitFor(SLOW)
    expect(await main.innerText()).toContain('invalid_grant')
    await page.getByRole('button', { name: 'Log in again' }).click()
    await page.getByRole('heading', { level: 1, name: 'The mailbox is connected' }).waitFor()
    await page.getByText('Everything works.').waitFor()
    await tenant.client.sendEmail({ ...mail, subject: 'With the new grant' })
    await server.waitForMessages(2, 60_000)
    const { mailers } = await tenant.client.listMailers()
    expect(mailers.map(({ email, state }) => ({ email, state }))).toEqual([
      { email: ADDRESS, state: 'active' },
    ])

    // Anybody may write such an address: a tab that began no login believes nothing of it, and tests nothing.
    const back = (tenantId: string, query: string) =>
      `/app/t/${tenantId}/mailers/connected?${query}`
    const success = back(tenant.tenantId, `success=true&mailer_id=${mailerId}`)
    const elsewhere = await open(success, { person })
    await elsewhere.getByRole('heading', { level: 1, name: ADDRESS }).waitFor()
    await elsewhere.getByRole('button', { name: 'Run the test' }).waitFor()
    await settle(elsewhere)
    expect(await elsewhere.getByRole('main').getByRole('listitem').count()).toBe(0)

    // A login is begun again for its own tenant alone, and is forgotten at the log-out.
    const declined = page.getByText('The login was declined')
    const again = page.getByRole('button', { name: 'Try again' })
    await page.goto(origin + back(other.tenantId, 'success=false&error=access_denied'))
    await declined.waitFor()
    expect(await again.count()).toBe(0)
    await page.goto(origin + back(tenant.tenantId, 'success=false&error=access_denied'))
    await again.waitFor()
    await page.getByRole('button', { name: 'Your account' }).click()
    await page.getByRole('menuitem', { name: 'Log out' }).click()
    await page.waitForURL('**/app/login')
    expect(await page.evaluate('sessionStorage.getItem("postrider.oauth-login")')).toBe(null)
  })

  it('reads a mailbox by IMAP: added, changed, tested, and removed after a question', async () => {
    const { world, tenant, open, newPerson, newSecret } = scene()
    const [wrong, right] = [newSecret(), newSecret()]
    const [imap, receiver] = await Promise.all([
      world.newImapServer({ auth: { users: { [ADDRESS]: right } } }),
      world.newReceiver(),
    ])
    const page = await open(`/app/t/${tenant.tenantId}/mailboxes`, {
      person: await newPerson('developer'),
      refusals: ['422 /ui/api/v1/imap', '400 /ui/api/v1/imap'],
    })
    await page.getByText('No mailbox is read').waitFor()
    await page.getByRole('button', { name: 'Add a mailbox' }).first().click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Address', { exact: true }).fill(ADDRESS)
    await dialog.getByLabel('Name, for you').fill('Support')
    await dialog.getByLabel('Host').fill('127.0.0.1')
    await dialog.getByLabel('Port', { exact: true }).fill(String(imap.port))
    await choose(page, dialog.getByRole('combobox', { name: 'Encryption' }), 'None (plain text)')
    await dialog.getByLabel('Password', { exact: true }).fill(wrong)
    await dialog.getByLabel('Folders', { exact: true }).fill('INBOX\nNowhere')
    await dialog.getByLabel('Send new mail to (webhook)').fill(`${receiver.origin}/box`)
    expect(await findBarriers(page)).toEqual([])
    await dialog.getByRole('button', { name: 'Log in and add' }).click()
    await dialog.getByRole('alert').getByText('AUTHENTICATIONFAILED').waitFor()
    await dialog.getByLabel('Password', { exact: true }).fill(right)
    await dialog.getByRole('button', { name: 'Log in and add' }).click()
    await dialog.locator('[aria-invalid=true]').waitFor()
    expect(await dialog.getByLabel('Folders', { exact: true }).getAttribute('aria-invalid')).toBe(
      'true',
    )
    await dialog.getByText('Nowhere').last().waitFor()
    await dialog.getByLabel('Folders', { exact: true }).fill('INBOX')
    await dialog.getByRole('button', { name: 'Log in and add' }).click()

    await page.getByRole('heading', { level: 1, name: 'Support' }).waitFor()
    const main = page.getByRole('main')
    await main.getByText('Read', { exact: true }).waitFor(SLOW)
    imap.deliver('INBOX', letterOf('question'))
    await receiver.waitForRequests(1)
    expect(receiver.requests[0]?.path).toBe('/box')

    await main.getByRole('button', { name: 'Test' }).click()
    expect(await dialog.getByLabel('Send a test mail to').count()).toBe(0)
    await dialog.getByRole('button', { name: 'Run the test' }).click()
    await dialog.getByText('Everything works.').waitFor()
    expect((await dialog.getByRole('listitem').allInnerTexts()).join()).toContain('Mailbox')
    await dialog.getByRole('button', { name: 'Cancel' }).click()

    await main.getByRole('button', { name: 'Edit' }).click()
    expect(await dialog.getByLabel('Password', { exact: true }).inputValue()).toBe('')
    await dialog.getByLabel('Send new mail to (webhook)').fill('')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await main.getByText('none: mail is recorded, and delivered nowhere').waitFor()
    await page.getByRole('link', { name: 'Mailboxes' }).click()
    await page.getByRole('link', { name: 'Support' }).click()

    await main.getByRole('button', { name: 'Delete' }).click()
    const remove = dialog.getByRole('button', { name: 'Delete' })
    expect(await remove.isDisabled()).toBe(true)
    await dialog.getByLabel('Type Support to confirm').fill('Support')
    await remove.click()
    await page.getByRole('heading', { level: 1, name: 'Mailers' }).waitFor()
    const { mailers } = await tenant.client.listMailers()
    expect(mailers.filter(({ name }) => name === 'Support')).toEqual([])
  })

  it('changes the limits and the server of a mailer, and shows a refusal at its field', async () => {
    const { world, open, newPerson } = scene()
    const { tenantId, client } = await world.newTenant()
    const server = await world.newSmtpServer()
    const { mailer } = await client.configureSMTP({
      ...{ name: 'News', email: 'news@example.com', config_type: 'smtp', connection_type: 'basic' },
      config: { host: '127.0.0.1', port: server.port, secure: 'None' },
      limits: { per_day: 500 },
    })
    const path = `/app/t/${tenantId}/mailers/${mailer.mailer_id}`
    const page = await open(path, {
      person: await newPerson('owner', { tenantIds: [tenantId] }),
      refusals: [`400 /ui/api/v1/smtp/${mailer.mailer_id}`],
    })
    const dialog = page.getByRole('dialog')
    await page.getByRole('button', { name: 'Limits' }).click()
    await dialog.getByLabel('Attempts a minute').fill('30')
    await dialog.getByLabel('Connections at once').fill('999')
    expect(await findBarriers(page)).toEqual([])
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.locator('[aria-invalid=true]').waitFor()
    const connections = dialog.getByLabel('Connections at once')
    expect(await connections.getAttribute('aria-invalid')).toBe('true')
    await connections.fill('3')
    await dialog.getByLabel('Attempts in 24 hours').fill('')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await page.getByText('0 of 30 a minute').waitFor()
    const [changed] = (await client.listMailers()).mailers
    expect(changed?.limits).toEqual({ per_minute: 30, connections: 3 })
    await page.getByRole('main').getByRole('link', { name: 'Mailers', exact: true }).click()
    const limit = page.getByRole('table', { name: 'Mailers' }).getByText('0 of 30 a minute')
    await limit.waitFor()
    // With how long mail waits it is longer than its column, and nothing of it is cut off.
    const space = await limit.evaluate(
      (cell) => cell.ownerDocument.defaultView?.getComputedStyle(cell).whiteSpace,
    )
    expect(space).toBe('normal')
    await page.goBack()

    await page.getByRole('button', { name: 'Edit' }).click()
    await dialog.getByLabel('Name, for you').fill('Newsletter')
    await dialog.getByLabel('Host').fill('localhost')
    await choose(
      page,
      dialog.getByRole('combobox', { name: 'After a lost answer' }),
      'do not send again: it may not arrive',
    )
    await dialog.getByLabel('Bounces come back to').fill('bounces@elsewhere.test')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.locator('[aria-invalid=true]').waitFor()
    await dialog.getByLabel('Bounces come back to').fill('')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('heading', { level: 1, name: 'Newsletter' }).waitFor()
    await page.getByText(`localhost:${server.port}`).waitFor()
    expect((await client.getSMTPConfig(mailer.mailer_id)).mailer).toMatchObject({
      ...{ name: 'Newsletter', uncertain: 'at_most_once', return_path: null },
      ...{ limits: { per_minute: 30, connections: 3 }, config: { host: 'localhost' } },
    })
  })

  it.each([
    ['mailers', 'Über OAuth verbinden'],
    ['mailers', 'SMTP-Server hinzufügen'],
    ['mailers/oauth-apps', 'OAuth-App hinzufügen'],
    ['mailboxes', 'Postfach hinzufügen'],
  ])('fits the narrowest phone with a form open, in German: %s, %s', async (path, name) => {
    const { tenant, open, newPerson } = scene()
    const page = await open(`/app/t/${tenant.tenantId}/${path}`, {
      ...{ person: await newPerson('owner'), width: 320, height: 640, language: 'de' as const },
    })
    await page.getByRole('button', { name }).first().click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('button', { name: 'Abbrechen' }).waitFor()
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(320)
    const wider = `[...document.querySelectorAll('[role=dialog] *')].filter((one) => one.scrollWidth > one.clientWidth + 1 && getComputedStyle(one).overflowX === 'visible' && one.clientWidth > 0).map((one) => one.outerHTML.slice(0, 120))`
    expect(await page.evaluate(wider)).toEqual([])
  })
})
