/** What people rely on without seeing it: keys, copying, exact times, and what is said before and after a change. */
import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { describeInBrowser } from './in-browser.ts'
import { type Scene, settle } from './scene.ts'

const SOON = { timeout: 10_000 }

/** A mail that was refused, above one whose connection was lost after the message was sent. */
async function setTheScene({ world, newPerson }: Scene) {
  const { tenantId, client } = await world.newTenant('Aster Books')
  const server = await world.newSmtpServer({
    script: {
      'ada@example.com': ['dot: rst'],
      'bob@example.com': ['550 5.1.1 no such user'],
    },
  })
  await client.configureSMTP({
    ...{ name: 'Receipts', email: 'orders@example.com', uncertain: 'at_most_once' },
    ...{ config_type: 'smtp', connection_type: 'basic' },
    config: { host: server.host, port: server.port, secure: 'None' },
  })
  let refId = ''
  for (const name of ['ada', 'bob']) {
    const sent = await client.sendEmail({
      ...{ from: { email: 'orders@example.com' }, to: [{ email: `${name}@example.com` }] },
      ...{ subject: `For ${name}`, content: [{ type: 'text/plain', value: 'Hello.' }] },
    })
    refId = sent.ref_id
    await expect
      .poll(async () => (await client.getEmail(refId)).email.recipients[0]?.status)
      .toBe('failed')
  }
  const person = await newPerson('owner', { tenantIds: [tenantId] })
  return { client, person, refId, path: `/app/t/${tenantId}` }
}

/** Presses the key for "load again", and resolves once the page has asked for that path. */
async function loadAgain(page: Page, path: string): Promise<void> {
  await settle(page)
  await Promise.all([
    page.waitForRequest((request) => new URL(request.url()).pathname === path, SOON),
    page.keyboard.press('r'),
  ])
}

describeInBrowser('keys and notices', (scene) => {
  it('lead by keys through the emails, copy what is beside a button, and tell times in UTC, too', async () => {
    const { person, refId, path } = await setTheScene(scene())
    const page = await scene().open(`${path}/emails`, { person })
    const { keyboard } = page
    const table = page.getByRole('table', { name: 'Emails' })
    await table.getByText('bob@example.com').waitFor()
    const current = () => table.locator('[data-current]').allInnerTexts()
    const bobs = [expect.stringContaining('bob@example.com')]
    const adas = [expect.stringContaining('ada@example.com')]
    for (const [key, row] of [
      ['j', bobs],
      ['j', adas],
      ['k', bobs],
      ['Escape', []],
      ['j', bobs],
    ] as const) {
      await keyboard.press(key)
      await expect.poll(current).toEqual(row)
    }
    await keyboard.press('Enter')
    await page.getByRole('heading', { level: 1, name: 'For bob' }).waitFor(SOON)
    await loadAgain(page, `/ui/api/v1/email/${refId}`)

    const time = page.locator('main time').first()
    const at = new Date((await time.getAttribute('datetime')) ?? '')
    await time.hover()
    const exact = await page.getByRole('tooltip').innerText(SOON)
    expect(exact).toMatch(/UTC/)
    expect(exact).toContain(at.toISOString().replace('T', ' ').replace('Z', ''))

    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
    const copied = () => page.evaluate('navigator.clipboard.readText()')
    const address = page.locator('main code[title="bob@example.com"]').first()
    await address.locator('xpath=..').getByRole('button', { name: 'Copy' }).click()
    await expect.poll(copied).toBe('bob@example.com')
    await page.getByRole('button', { name: 'More actions' }).click()
    await page.getByRole('menuitem', { name: 'Copy as curl' }).click()
    await expect.poll(copied).toContain(`/v1/email/${refId}`)

    await keyboard.press('g')
    await keyboard.press('e')
    await table.getByText('bob@example.com').waitFor(SOON)
    await keyboard.press('/')
    const search = page.getByPlaceholder('Go to a page, or search for an address')
    await search.waitFor(SOON)
    await keyboard.press('Escape')
    await search.waitFor({ state: 'hidden' })
    await keyboard.press('?')
    const help = page.getByRole('dialog', { name: 'Keys' })
    await help.getByText('Load again').waitFor(SOON)
    await keyboard.press('Escape')
    await help.waitFor({ state: 'hidden' })
  })

  it('say who may get a mail twice, before all that failed is sent again', async () => {
    const { person, path } = await setTheScene(scene())
    const page = await scene().open(`${path}/emails?status=failed`, { person })
    await page.getByRole('button', { name: 'Change all that match' }).click()
    await page.getByRole('menuitem', { name: /^Send again/ }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('2 recipients match.').waitFor(SOON)
    await dialog.getByText('May be sent twice').waitFor(SOON)
    await dialog.getByText('1 recipient may have the mail already.').waitFor(SOON)
  })

  it('list the lines of an import that were refused, each with what is wrong', async () => {
    const { tenantId, client } = await scene().world.newTenant('Aster Books')
    const person = await scene().newPerson('owner', { tenantIds: [tenantId] })
    const page = await scene().open(`/app/t/${tenantId}/suppressions`, { person })
    await page.getByRole('heading', { name: 'No address is suppressed' }).waitFor()
    await loadAgain(page, '/ui/api/v1/suppressions')

    const csv = 'email,reason\nada@example.com,manual\nnobody,manual\nbob@example.com,weather\n'
    await page.getByRole('button', { name: 'Import' }).click()
    const dialog = page.getByRole('dialog')
    await page
      .locator('input[type=file]')
      .setInputFiles({ name: 'list.csv', mimeType: 'text/csv', buffer: Buffer.from(csv) })
    await dialog.getByRole('button', { name: 'Import' }).click()
    await dialog.getByText('1 added, 0 known, 2 refused.').waitFor(SOON)
    const { refused } = await client.importSuppressions(csv)
    expect(refused.map(({ line }) => line)).toEqual([3, 4])
    const rows = dialog.getByRole('table', { name: 'What is wrong' }).getByRole('row')
    const [head, ...lines] = await rows.allInnerTexts()
    expect(head).toContain('What is wrong')
    expect(lines.map((text) => text.split(/\s*\n\s*/).slice(-2))).toEqual(
      refused.map(({ line, message }) => [String(line), message]),
    )
  })

  it('say that there is no such page where an address names no tenant that can be', async () => {
    const { open, operator } = scene()
    const page = await open('/app/t/%E2%82%AC/emails', { person: operator })
    await page.getByRole('heading', { name: 'There is no such page' }).waitFor()
    expect(await page.locator('body').innerText()).not.toContain('tenant must be')
  })
})
