/** The operator's screens: tenants, people, what waits, and whose something is (docs/reference/operator.md). */
import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { findBarriers } from './accessibility.ts'
import { describeInBrowser } from './in-browser.ts'

const HOSTILE = '<img src=x onerror=alert(1)>'

describeInBrowser(
  "the operator's screens",
  (scene) => {
    const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true })
    const idIn = (page: Page) => new URL(page.url()).pathname.split('/').at(-1) ?? ''

    it('make a tenant, set a quota, suspend, activate and delete it', async () => {
      const { open, operator, world } = scene()
      const page = await open('/app/operator/tenants', { person: operator })
      await button(page, 'New tenant').click()
      await page.getByLabel('Name', { exact: true }).fill(HOSTILE)
      await button(page, 'Create the tenant').click()
      const key = await page.getByRole('region', { name: 'API keys' }).innerText()
      expect(key).toMatch(/^pr_\w{40,}$/)
      await page.getByRole('dialog').getByRole('button', { name: 'Close' }).last().click()
      expect(await page.content()).not.toContain(key)

      await page.getByRole('link', { name: HOSTILE }).click()
      await page.waitForURL('**/operator/tenants/tn_*')
      const tenantId = idIn(page)
      await button(page, 'Change the quotas').click()
      await page.getByLabel('Recipients that wait').fill('many')
      await page.getByText('A whole number, or nothing').waitFor()
      expect(await button(page, 'Save').isDisabled()).toBe(true)
      await page.getByLabel('Recipients that wait').fill('2,500')
      await button(page, 'Save').click()
      await page.getByText('0 of 2,500').waitFor()

      await button(page, 'Suspend').click()
      await page.getByRole('dialog').getByText('0 waiting recipients are held').waitFor()
      await page.getByRole('dialog').getByRole('button', { name: 'Suspend' }).click()
      await page.getByText('This tenant sends nothing').waitFor()
      const { tenant } = await world.operator().getTenant(tenantId)
      expect(tenant).toMatchObject({ state: 'suspended', quotas: { queued_max: 2_500 } })
      await button(page, 'Activate').click()
      await button(page, 'Suspend').waitFor()

      await button(page, 'Delete the tenant').click()
      const remove = page.getByRole('dialog').getByRole('button', { name: 'Delete the tenant' })
      expect(await remove.isDisabled()).toBe(true)
      await page.getByLabel(`Type ${HOSTILE} to confirm`).fill(HOSTILE)
      await remove.click()
      await page.waitForURL('**/operator/tenants')
      const row = page.getByRole('row').filter({ hasText: HOSTILE })
      await row.getByText('Being deleted').waitFor()
    })

    it('find a tenant by its name, by an address that holds it', async () => {
      const { open, operator, tenant, stranger } = scene()
      const page = await open('/app/operator/tenants', { person: operator })
      await page.getByLabel('Find by name').fill('ASTER')
      await page.waitForURL('**/operator/tenants?name=ASTER')
      await page.getByRole('link', { name: stranger.name }).waitFor({ state: 'detached' })
      await page.reload()
      await page.getByRole('link', { name: 'Aster Books' }).click()
      await page.waitForURL(`**/operator/tenants/${tenant.tenantId}`)
      await page.goBack()
      await page.getByLabel('Find by name').fill('no such name')
      await button(page, 'Remove “Name: no such name”').click()
      await page.getByRole('link', { name: stranger.name }).waitFor()
    })

    it('look into a tenant, and change it only once they act for it', async () => {
      const { open, operator, tenant } = scene()
      const page = await open(`/app/operator/tenants/${tenant.tenantId}`, { person: operator })
      await button(page, 'Look into it').click()
      await page.getByText('You look into Aster Books').waitFor()
      await page.goBack()
      await button(page, 'Act for this tenant').click()
      await page.getByText('You act for Aster Books').waitFor()
      await page.reload()
      await page.getByText('You look into Aster Books').waitFor()
    })

    it('invite a user by a link that is shown once, and delete them by name', async () => {
      const { open, operator, tenant, world } = scene()
      const page = await open(`/app/operator/tenants/${tenant.tenantId}`, { person: operator })
      await page.getByRole('link', { name: 'Invite a user' }).click()
      await page.getByLabel('Email').fill('ingrid@example.com')
      await page.getByLabel('Name', { exact: true }).fill('Ingrid Invited')
      expect(await page.getByRole('combobox', { name: 'Role' }).inputValue()).toBe('Owner')
      expect(await findBarriers(page)).toEqual([])
      await button(page, 'Make the link').click()
      await page.getByText('ingrid@example.com is invited').waitFor()
      const link = await page.getByRole('region', { name: 'Invite a user' }).innerText()
      await page.getByRole('dialog').getByRole('button', { name: 'Close' }).last().click()
      const row = page.getByRole('row').filter({ hasText: 'ingrid@example.com' })
      await row.getByText('Invited', { exact: true }).waitFor()
      expect(await page.content()).not.toContain(link)

      const path = link.slice(scene().origin.length)
      const theirs = await open(path, { refusals: ['401 /ui/api/'] })
      await theirs.getByLabel('New password').fill('some quiet words to remember')
      await button(theirs, 'Set the password').click()
      await theirs.waitForURL(`**/app/t/${tenant.tenantId}**`)
      await theirs.goto(`${scene().origin}/app/operator/health`)
      await theirs.getByRole('heading', { name: 'This page is closed to you' }).waitFor()
      await theirs.getByRole('link', { name: 'To the start' }).click()
      await theirs.waitForURL(`**/app/t/${tenant.tenantId}**`)

      await page.getByRole('button', { name: 'Delete Ingrid Invited?' }).click()
      await page.getByLabel('Type Ingrid Invited to confirm').fill('Ingrid Invited')
      await page.getByRole('dialog').getByRole('button', { name: 'Delete', exact: true }).click()
      await row.waitFor({ state: 'detached' })
      await theirs.waitForURL('**/app/login?to=**')
      const { users } = await world.operator().listUsers()
      expect(users.map(({ email }) => email)).not.toContain('ingrid@example.com')
    })

    it('show a receiver that fails first, and lead to its webhook', async () => {
      const { open, operator, tenant, world } = scene()
      const receiver = await world.newReceiver({ script: () => 500 })
      const smtp = await world.newSmtpServer()
      const { mailer } = await tenant.client.configureSMTP({
        ...{
          name: 'News',
          email: 'news@example.com',
          config_type: 'smtp',
          connection_type: 'basic',
        },
        config: { host: '127.0.0.1', port: smtp.port, secure: 'None' },
      })
      await tenant.client.registerWebhook({
        ...{ webhook_url: receiver.origin, event: 'EMAIL_EVENT', method: 'POST' },
        webhook_options: { events: { delivery: true } },
      })
      await tenant.client.sendEmail({
        from: { email: mailer.email },
        to: [{ email: 'quentin@example.com' }],
        ...{ subject: 'Hello', content: [{ type: 'text/plain', value: 'Hello' }] },
      })
      const page = await open('/app/operator/queues?kind=webhook', { person: operator })
      const row = page.getByRole('row').filter({ hasText: 'Webhook wh_' })
      await row.getByText('Late · failing').waitFor()
      await row.getByRole('link', { name: 'Aster Books' }).waitFor()

      await page.keyboard.press('Control+k')
      await page.getByLabel('Go to or search').last().fill('quentin@example.com')
      await page.getByText('Search all tenants for “quentin@example.com”').click()
      await page.waitForURL('**/operator/search?q=*')
      const found = page.getByRole('row').filter({ hasText: 'Recipient' })
      await found.getByRole('link', { name: 'Aster Books' }).waitFor()
      expect(await found.getByRole('link').first().getAttribute('href')).toMatch(
        new RegExp(`^/app/t/${tenant.tenantId}/emails/[0-9A-Z]{26}$`),
      )
    })

    it('narrow the audit log, and say what a change of quotas changed', async () => {
      const { open, operator, tenant, world } = scene()
      const { tenantId } = tenant
      await world.operator().updateTenant(tenantId, { quotas: { queued_max: 987_654 } })
      await world.operator().updateTenant(tenantId, { quotas: null })
      const page = await open(`/app/operator/audit?target=${tenantId}`, { person: operator })
      await page.getByText('queued_max: none → 987654').waitFor()
      const operation = page.getByLabel('What', { exact: true })
      await operation.fill('createKey')
      await operation.press('Enter')
      await page.waitForURL('**operation=createKey**')
      await button(page, 'Remove “What: createKey”').click()
      await page.getByText('queued_max: 987654 → none').waitFor()
      await page.getByLabel('Until', { exact: true }).fill('2001-01-01')
      await page.waitForURL('**end=2001-01-01**')
      await page.getByText('queued_max: 987654 → none').waitFor({ state: 'detached' })
      expect(await findBarriers(page)).toEqual([])
    })

    it('show everything and change nothing for who only reads, without barriers', async () => {
      const { open, newPerson, tenant } = scene()
      const person = await newPerson('operator_viewer')
      const page = await open('/app/operator', { person })
      await page.waitForURL('**/operator/tenants')
      const addresses = [
        ...['tenants', `tenants/${tenant.tenantId}`, 'health', 'queues', 'search', 'system'],
        ...['system?tab=storage', 'system?tab=configuration&find=oidc', 'users', 'oidc', 'audit'],
      ]
      for (const address of addresses) {
        await page.goto(`${scene().origin}/app/operator/${address}`)
        await page.getByRole('heading', { level: 1 }).waitFor()
        expect({ address, barriers: await findBarriers(page) }).toEqual({ address, barriers: [] })
        const changes = /^(New|Create|Change|Rename|Suspend|Delete|Revoke|Invite|Edit|Act for)/
        expect({
          address,
          n: await page.getByRole('button', { name: changes, disabled: false }).count(),
        }).toEqual({
          address,
          n: 0,
        })
      }
    })
  },
  { isAlone: true },
)
