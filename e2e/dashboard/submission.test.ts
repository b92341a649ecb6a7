/** What the dashboard says of submission: where it is, with lines to be copied, or that it is off. */
import { findFreePort } from '@postrider/testkit'
import { expect, it } from 'vitest'
import { describeInBrowser } from './in-browser.ts'

describeInBrowser('submission that is off', (scene) => {
  it('is told so, with what turns it on', async () => {
    const { tenant, open, newPerson } = scene()
    const page = await open(`/app/t/${tenant.tenantId}/developers`, {
      person: await newPerson('developer'),
    })
    await page.getByText('by setting POSTRIDER_SUBMISSION_PORT').waitFor()
    expect(await page.getByText('swaks').count()).toBe(0)
  })
})

const port = findFreePort()

describeInBrowser(
  'submission that is on',
  (scene) => {
    it('is told with its address, and with lines for programs', async () => {
      const { tenant, open, newPerson } = scene()
      const page = await open(`/app/t/${tenant.tenantId}/developers`, {
        person: await newPerson('viewer'),
      })
      const server = `mail.example.com:${await port}`
      await page
        .getByRole('region', { name: 'swaks' })
        .getByText(`--server ${server} --tls`)
        .waitFor()
      await page.getByText('Port with TLS').waitFor()
      for (const [program, line] of [
        ['Nodemailer', `port: ${await port},`],
        ['Django', 'EMAIL_USE_TLS = True'],
        ['Postfix', `relayhost = [mail.example.com]:${await port}`],
      ] as const) {
        await page.getByRole('tab', { name: program }).click()
        await page.getByRole('region', { name: program }).getByText(line).waitFor()
      }
      expect(await page.getByText('465', { exact: true }).count()).toBe(1)
    })
  },
  async () => ({
    env: {
      INBOUND_HOST: 'mail.example.com',
      SUBMISSION_PORT: String(await port),
      SUBMISSION_PUBLIC_TLS_PORT: '465',
    },
  }),
)
