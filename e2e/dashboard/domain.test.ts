/** A sending domain by a relay provider: its records are published, checked and right; its key is changed. */
import type { DomainRecord } from '@postrider/client'
import { createDnsServer, type DnsServer } from '@postrider/testkit'
import type { Page } from 'playwright-core'
import { afterAll, expect, it } from 'vitest'
import { findBarriers } from './accessibility.ts'
import { describeInBrowser } from './in-browser.ts'

const DOMAIN = 'mail.asterbooks.test'

let dns: DnsServer | undefined
afterAll(() => dns?.close())

/** The entry of a record, by its name and value. */
const entryOf = (page: Page, { name, value }: DomainRecord) =>
  page.getByRole('listitem').filter({ hasText: name }).filter({ hasText: value })

describeInBrowser(
  'a sending domain',
  (scene) => {
    it('is added, verified by its records, and signed with another key', async () => {
      const { world, tenant, open, newPerson } = scene()
      const { client } = tenant
      if (dns === undefined) throw new Error('the name server is not set')
      const provider = await world.newSparkPost({ dnsServer: dns.address })
      await client.configureRelay({
        ...{ kind: 'sparkpost', api_key: provider.apiKey, api_base: provider.apiBase },
        callback_secret: scene().newSecret(),
      })
      const page = await open(`/app/t/${tenant.tenantId}/domains`, {
        person: await newPerson('developer'),
      })
      await page.getByRole('button', { name: 'Add a domain' }).first().click()
      const dialog = page.getByRole('dialog')
      await dialog.getByLabel('Domain').fill(DOMAIN)
      await dialog.getByRole('button', { name: 'Add a domain' }).click()
      await page.getByRole('heading', { level: 1, name: DOMAIN }).waitFor()
      await page.getByText('Not verified yet').waitFor()

      const check = async () => {
        const answer = page.waitForResponse(/\/verify$/)
        await page.getByRole('button', { name: 'Check now' }).click()
        await answer
        await page.getByText('Checked.', { exact: true }).last().waitFor()
      }
      const { domain } = await client.getDomain(DOMAIN)
      const required = domain.records.filter((record) => record.required)
      const [wrong, ...right] = required
      if (wrong === undefined) throw new Error('no record is required')
      expect(right).not.toEqual([])
      for (const record of required) await entryOf(page, record).waitFor()

      // One is right, one is wrong, and the page says which.
      dns.publish(right)
      dns.set(wrong.name, 'TXT', ['v=something-else'])
      await check()
      for (const record of right) await entryOf(page, record).getByText('Right').waitFor()
      const entry = entryOf(page, wrong)
      await entry.getByText('Found instead: v=something-else').waitFor()
      expect(await entry.getByText('Right').count()).toBe(0)
      await page.getByText('Not verified yet').waitFor()
      expect(await findBarriers(page)).toEqual([])

      dns.clear()
      dns.publish(domain.records)
      await check()
      await page.getByText('Verified', { exact: true }).waitFor()
      for (const record of required) await entryOf(page, record).getByText('Right').waitFor()

      await page.getByRole('button', { name: 'Change the key' }).click()
      await dialog.getByRole('button', { name: 'Change the key' }).click()
      await page.getByText('next key', { exact: true }).waitFor()
      const rotating = await client.getDomain(DOMAIN)
      const next = rotating.domain.records.filter(({ rotation }) => rotation === 'next')
      expect(next).toHaveLength(1)
      dns.publish(next)
      await check()
      await page.getByText('previous key', { exact: true }).waitFor()
      await page.getByText('may go from').waitFor()
      expect(await page.getByText('next key', { exact: true }).count()).toBe(0)
      const rotated = await client.getDomain(DOMAIN)
      expect(rotated.domain.selector).not.toBe(domain.selector)
      expect(next[0]?.name).toContain(`${rotated.domain.selector}._domainkey`)

      await page.getByRole('link', { name: 'Domains' }).first().click()
      const row = page.getByRole('row').filter({ hasText: DOMAIN })
      await row.getByText('Verified', { exact: true }).waitFor()
    })
  },
  async () => {
    dns = await createDnsServer()
    return { env: { DNS_SERVERS: dns.address } }
  },
)
