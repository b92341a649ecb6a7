/** The live page: every event once, over tabs that share one stream, and over a service that is killed. */
import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { describeInBrowser } from './in-browser.ts'
import type { Scene } from './scene.ts'

const shownIn = (page: Page) =>
  page.locator('main li button').evaluateAll((rows) => rows.map((row) => row.textContent ?? ''))

describeInBrowser(
  'the live page',
  (scene) => {
    async function sendFrom({ world, tenant }: Scene) {
      const server = await world.newSmtpServer()
      await tenant.client.configureSMTP({
        ...{ name: 'News', email: 'news@example.com', config_type: 'smtp', verify: false },
        connection_type: 'basic',
        config: { host: '127.0.0.1', port: server.port, secure: 'None' },
      })
      return (names: readonly string[]) =>
        Promise.all(
          names.map((name) =>
            tenant.client.sendEmail({
              from: { email: 'news@example.com' },
              to: [{ email: `${name}@example.com` }],
              subject: 'News',
              content: [{ type: 'text/plain', value: 'It works.' }],
            }),
          ),
        )
    }
    const names = (from: string, count: number) =>
      Array.from({ length: count }, (_, n) => `${from}${n}`)

    it('shows each event once in all tabs, and goes on when the service was killed', async () => {
      const { world, tenant, open, newPerson } = scene()
      const send = await sendFrom(scene())
      const person = await newPerson('viewer')
      const first = await open(`/app/t/${tenant.tenantId}/live`, {
        person,
        // The service is killed.
        expects: [/^Failed to load resource: net::ERR_/],
      })
      const second = await first.context().newPage()
      await second.goto(first.url())
      const state = first.locator('main header').getByRole('status')
      await state.getByText('Live', { exact: true }).waitFor()

      const before = names('before', 12)
      await send(before)
      for (const page of [first, second])
        await expect.poll(async () => addressesOf(await shownIn(page))).toEqual(before.toSorted())

      await world.end('SIGKILL')
      await state.getByText(/Connection lost|No stream/).waitFor()
      await world.start()
      const after = names('later', 9)
      await send(after)
      await state.getByText('Live', { exact: true }).waitFor({ timeout: 60_000 })
      const all = [...before, ...after].toSorted()
      for (const page of [first, second])
        await expect
          .poll(async () => addressesOf(await shownIn(page)), { timeout: 60_000 })
          .toEqual(all)

      // Who has the stream goes away: the other tab takes it over.
      await first.goto(`${scene().origin}/app/account`)
      await send(['last'])
      await expect
        .poll(async () => addressesOf(await shownIn(second)), { timeout: 60_000 })
        .toEqual([...all, 'last'].toSorted())
    })
  },
  { isAlone: true },
)

/** Of deliveries, in order: one that came twice is there twice. */
function addressesOf(rows: readonly string[]): string[] {
  return rows
    .filter((row) => row.startsWith('MAIL_DELIVERED'))
    .flatMap((row) => /MAIL_DELIVERED(\w+)@/.exec(row)?.[1] ?? [])
    .toSorted()
}
