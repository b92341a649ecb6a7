/** A webhook that is signed by its form, its secret replaced, and a receiver of alerts set and removed. */
import { Webhook } from 'standardwebhooks'
import { expect, it } from 'vitest'
import { findBarriers } from './accessibility.ts'
import { describeInBrowser } from './in-browser.ts'

describeInBrowser('signing and alerts', (scene) => {
  it('shows a signing secret once, by which the requests are verified, also after its replacement', async () => {
    const { world, tenant, open, newPerson } = scene()
    const receiver = await world.newReceiver()
    const page = await open(`/app/t/${tenant.tenantId}/webhooks`, {
      person: await newPerson('developer'),
    })
    const dialog = page.getByRole('dialog')
    await page.getByRole('button', { name: 'Add a webhook' }).first().click()
    await dialog.getByLabel('Address').fill(`${receiver.origin}/events`)
    await dialog.getByLabel('Sign requests').check()
    await dialog.getByRole('button', { name: 'Add a webhook' }).click()
    const shown = dialog.getByText(/^whsec_/)
    const first = (await shown.innerText()).trim()
    await dialog.getByText('It is shown only now.').waitFor()
    await dialog.getByRole('button', { name: 'Done' }).click()
    await page.getByText('yes, by Standard Webhooks').waitFor()
    expect(await page.content()).not.toContain(first)

    await page.getByRole('button', { name: 'Replace the secret' }).click()
    await dialog.getByRole('button', { name: 'Replace the secret' }).click()
    await dialog.getByText('The secret before it signs, too').waitFor()
    const second = (await shown.innerText()).trim()
    expect(second).not.toBe(first)
    await dialog.getByRole('button', { name: 'Done' }).click()

    const { webhooks } = await tenant.client.listWebhooks()
    const webhookId = webhooks[0]?.webhook_id ?? ''
    await tenant.client.sendTestEvent({ webhook_id: webhookId, event: 'MAIL_DELIVERED' })
    const request = await receiver.waitFor(({ body }) => body.includes('MAIL_DELIVERED'))
    const headers = Object.fromEntries(
      ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map((name) => [
        name,
        request.header(name) ?? '',
      ]),
    )
    for (const secret of [first, second])
      expect(new Webhook(secret).verify(request.body.toString(), headers)).toEqual(request.json)

    await page.getByRole('button', { name: 'Edit' }).click()
    await dialog.getByLabel('Sign requests').uncheck()
    await dialog.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('button', { name: 'Replace the secret' }).waitFor({ state: 'detached' })
  })

  it('signs what an inbound domain, a username and a mailbox report', async () => {
    const { world, tenant, open, newPerson } = scene()
    const [receiver, imap] = await Promise.all([world.newReceiver(), world.newImapServer()])
    const base = `/app/t/${tenant.tenantId}`
    const page = await open(`${base}/inbound?tab=domains`, { person: await newPerson('developer') })
    const dialog = page.getByRole('dialog')
    const seeSecret = async () => {
      const secret = (await dialog.getByText(/^whsec_/).innerText()).trim()
      await dialog.getByRole('button', { name: 'Done' }).click()
      await dialog.waitFor({ state: 'detached' })
      expect(await page.content()).not.toContain(secret)
      return secret
    }
    await page.getByRole('button', { name: 'Add a domain' }).first().click()
    await dialog.getByLabel('Domain').fill('in.asterbooks.test')
    await dialog.getByLabel('Its mail goes to').fill(`${receiver.origin}/inbound`)
    await dialog.getByLabel('Sign requests').check()
    await dialog.getByRole('button', { name: 'Add a domain' }).click()
    const first = await seeSecret()
    await page.getByRole('heading', { level: 1, name: 'in.asterbooks.test' }).waitFor()
    await page.getByText('yes, by Standard Webhooks').waitFor()
    expect(await findBarriers(page)).toEqual([])

    await page.getByRole('button', { name: 'Replace the secret' }).click()
    await dialog.getByRole('button', { name: 'Replace the secret' }).click()
    expect(await seeSecret()).not.toBe(first)

    await page.getByRole('button', { name: 'Add a username' }).first().click()
    await dialog.getByLabel('Username').fill('desk')
    expect(await dialog.getByLabel('Sign requests').count()).toBe(0)
    await dialog.getByLabel('Its own address').fill(`${receiver.origin}/desk`)
    await dialog.getByLabel('Sign requests').check()
    await dialog.getByRole('button', { name: 'Add a username' }).click()
    await seeSecret()
    const { inbound_username: desk } = await tenant.client.getInboundUsername(
      'in.asterbooks.test',
      'desk',
    )
    expect(desk.signing).toBe(true)

    await page.getByRole('button', { name: 'Edit' }).click()
    await dialog.getByLabel('Sign requests').uncheck()
    await dialog.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('button', { name: 'Replace the secret' }).waitFor({ state: 'detached' })

    await page.goto(`${scene().origin}${base}/mailboxes`)
    await page.getByRole('button', { name: 'Add a mailbox' }).first().click()
    await dialog.getByRole('textbox', { name: 'Address', exact: true }).fill('ada@example.com')
    await dialog.getByLabel('Host').fill('127.0.0.1')
    await dialog.getByLabel('Port', { exact: true }).fill(String(imap.port))
    await dialog.getByRole('textbox', { name: 'Password' }).fill('secret')
    await dialog.getByLabel('Send new mail to').fill(`${receiver.origin}/mailbox`)
    await dialog.getByLabel('Sign requests').check()
    await dialog.getByLabel('Try the login').uncheck()
    await dialog.getByRole('button', { name: 'Save' }).click()
    await seeSecret()
    await page.getByText('yes, by Standard Webhooks').waitFor()
    await page.getByRole('button', { name: 'Replace the secret' }).waitFor()
  })

  it.each([
    ['a tenant', 'settings?tab=alerts'],
    ['the service', 'system?tab=alerts'],
  ])('sets where the alerts of %s go, and removes it again', async (whose, path) => {
    const { world, tenant, open, newPerson, operator } = scene()
    const receiver = await world.newReceiver()
    const isTenant = whose === 'a tenant'
    const base = isTenant ? `/app/t/${tenant.tenantId}` : '/app/operator'
    const page = await open(`${base}/${path}`, {
      person: isTenant ? await newPerson('owner') : operator,
    })
    const main = page.getByRole('main')
    await main.getByLabel('Address').fill(`${receiver.origin}/alerts`)
    await main.getByLabel('A quota is nearly used').uncheck()
    await main.getByRole('button', { name: 'Save' }).click()
    await main.getByText('Alerts that wait').waitFor()
    expect(await main.getByLabel('A quota is nearly used').isChecked()).toBe(false)
    expect(await main.getByLabel('A mailer fails').isChecked()).toBe(true)
    await main.getByRole('button', { name: 'Remove' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click()
    await main.getByText('Alerts that wait').waitFor({ state: 'detached' })
    if (isTenant) expect((await tenant.client.getAlerts()).alerts).toBeNull()
  })
})
