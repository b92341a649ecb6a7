/** Quotas and their usage, as the tenant and the operator see them (docs/reference/limits.md#usage-of-quotas). */
import { expect, it } from 'vitest'
import { findBarriers } from './accessibility.ts'
import { describeInBrowser } from './in-browser.ts'

const SENT = 8

describeInBrowser('usage and quotas', (scene) => {
  it('warn a viewer on the overview, and lead to the emails that count', async () => {
    const { open, newPerson, operator, tenant, stranger, world } = scene()
    const { client, tenantId } = tenant
    await client.configureRelay({ kind: 'simulator' })
    await client.addDomain({ domain: 'mail.asterbooks.test', relay: 'simulator' })
    await client.sendEmail({
      ...{ from: { email: 'news@mail.asterbooks.test' }, subject: 'Later' },
      to: Array.from({ length: SENT }, (_, n) => ({ email: `ada${n}@example.com` })),
      content: [{ type: 'text/plain', value: 'It works.' }],
      send_at: new Date(Date.now() + 3_600_000).toISOString(),
    })
    const quotas = { emails_per_day: 10, queued_max: SENT, emails_per_second: 50 }
    await world.operator().updateTenant(tenantId, { quotas })
    await world.operator().updateTenant(stranger.tenantId, { quotas: { queued_max: 4_321 } })

    const page = await open(`/app/t/${tenantId}`, { person: await newPerson('viewer') })
    const main = page.getByRole('main')
    await main.getByText('The quota of recipients that wait is used up').waitFor()
    await main.getByText('The quota of recipients a day is nearly used').waitFor()
    await main.getByRole('link', { name: 'Usage and quotas' }).first().click()
    await page.waitForURL('**/settings?tab=usage')
    await main.getByText('8 of 10 (80%)').waitFor()
    await main.getByText('Near its quota').waitFor()
    await main.getByText('2 more are accepted until midnight (UTC).').waitFor()
    await main.getByText('8 of 8 (100%)').waitFor()
    await main.getByText('Quota reached').waitFor()
    await main.getByText('at most 50').waitFor()
    const meter = main.getByRole('meter', { name: 'Recipients today (UTC)' })
    expect(await meter.getAttribute('aria-valuenow')).toBe('80')
    expect(await main.innerText()).not.toContain('4,321')
    expect(await findBarriers(page)).toEqual([])

    await main.getByRole('link', { name: 'Scheduled' }).click()
    const table = page.getByRole('table', { name: 'Emails' })
    const rows = async () => Number(await table.getAttribute('aria-rowcount')) - 1
    await expect.poll(rows).toBe(SENT)
    await page.goBack()
    await main.getByRole('link', { name: 'Show the emails of today' }).click()
    await expect.poll(rows).toBe(SENT)

    const operators = await open(`/app/operator/tenants/${tenantId}`, {
      ...{ person: operator, language: 'de' },
    })
    await operators.getByText('8 von 10 (80 %)').waitFor()
    await operators.getByText('Bis Mitternacht (UTC) werden noch 2 angenommen.').waitFor()
    await operators.getByText('höchstens 50').waitFor()
    await operators.getByRole('link', { name: 'E-Mails von heute zeigen' }).click()
    await expect
      .poll(async () =>
        Number(
          await operators.getByRole('table', { name: 'E-Mails' }).getAttribute('aria-rowcount'),
        ),
      )
      .toBe(SENT + 1)
  })
})
