/** A stored template in the dashboard: written, refused with its place, looked at, changed, gone back to, deleted. */
import type { Page } from 'playwright-core'
import { expect, it } from 'vitest'
import { findBarriers } from './accessibility.ts'
import { describeInBrowser } from './in-browser.ts'

/** The style alone has an effect. */
const HOSTILE =
  '<p style="color:red">Thank you, {{ name }}</p><script>document.body.append("ran")</script><img src=x onerror="document.body.append(1)">'

const subjects = async (page: Page) =>
  await page.getByRole('table', { name: 'Versions' }).getByRole('row').allInnerTexts()

describeInBrowser('a stored template', (scene) => {
  it('is written, previewed, changed, gone back to and deleted', async () => {
    const { tenant, open, newPerson } = scene()
    const { client, tenantId } = tenant
    const page = await open(`/app/t/${tenantId}/templates`, {
      person: await newPerson('developer'),
      refusals: ['400 /ui/api/v1/templates/preview', '400 /ui/api/v1/templates'],
    })
    await page.getByText('There is no template yet').waitFor()
    expect(await findBarriers(page)).toEqual([])
    await page.getByRole('button', { name: 'New template' }).first().click()
    await page.getByRole('heading', { level: 1, name: 'New template' }).waitFor()
    await page.getByLabel('Name').fill('Receipt')
    await page.getByLabel('Subject').fill('Order {{ order_id }}')
    await page.getByLabel('Sample data').fill('{"order_id": 7, "name": ')
    await page.getByText('This is no JSON object.').waitFor()
    await page.getByLabel('Sample data').fill('{"order_id": 7, "name": "Ada & Bob"}')
    const html = page.getByRole('textbox', { name: 'HTML' })

    // What Liquid says stands at its part, at a preview and when it is saved.
    await html.fill('<p>Thank you,\n {{ name | upcasee }}</p>')
    for (const button of ['Preview', 'Create template']) {
      await page.getByRole('button', { name: button }).click()
      await page.getByText('undefined filter: upcasee, line:2, col:2').waitFor()
    }
    await html.fill('<p>Thank you, {{ name }}</p>')
    await page.getByRole('button', { name: 'Preview' }).click()
    await page.getByText('Order 7', { exact: true }).waitFor()
    const frame = page.frameLocator('iframe')
    await frame.getByText('Thank you, Ada & Bob').waitFor()
    const widthOf = async () => (await page.locator('iframe').boundingBox())?.width ?? 0
    const wide = await widthOf()
    await page.getByText('Phone', { exact: true }).click()
    expect(await widthOf()).toBeLessThanOrEqual(375)
    expect(wide).toBeGreaterThan(375)
    expect(await findBarriers(page)).toEqual([])

    await page.getByRole('button', { name: 'Create template' }).click()
    await page.getByRole('heading', { level: 1, name: 'Receipt' }).waitFor()
    await page.frameLocator('iframe').getByText('Thank you, Ada & Bob').waitFor()
    await page.getByText('Text', { exact: true }).last().click()
    await page.getByRole('region', { name: 'Text' }).getByText('Thank you, Ada & Bob').waitFor()
    const { templates } = await client.listTemplates()
    const id = templates[0]?.template_id ?? ''
    expect((await client.getTemplate(id)).template).toMatchObject({
      ...{ name: 'Receipt', version: 1, subject: 'Order {{ order_id }}' },
      sample_data: { order_id: 7, name: 'Ada & Bob' },
    })

    await page.getByLabel('Subject').fill('Your order {{ order_id }}')
    await page.getByText('There are changes that are not saved').waitFor()
    await page.getByRole('button', { name: 'Save as a new version' }).click()
    await page.getByRole('link', { name: 'Version 2' }).waitFor()
    await page.getByText('Your order 7', { exact: true }).waitFor()
    expect(await findBarriers(page)).toEqual([])

    // Back to the first: it becomes the third.
    await page.getByRole('link', { name: 'Version 1' }).click()
    await page.getByText('This is version 1 of 2').waitFor()
    await page.getByRole('button', { name: 'Save as a new version' }).click()
    await page.getByRole('link', { name: 'Version 3' }).waitFor()
    const { versions } = await client.getTemplate(id)
    expect(versions.map(({ subject }) => subject)).toEqual([
      'Order {{ order_id }}',
      'Your order {{ order_id }}',
      'Order {{ order_id }}',
    ])

    const dialog = page.getByRole('dialog')
    await page.getByRole('button', { name: 'Delete version 1' }).click()
    await dialog.getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('link', { name: 'Version 1' }).waitFor({ state: 'detached' })
    expect((await subjects(page)).length).toBe(3)
    await page.getByRole('button', { name: 'Delete', exact: true }).first().click()
    await dialog.getByText('2 versions leave').waitFor()
    await dialog.getByRole('textbox').fill('Receipt')
    await dialog.getByRole('button', { name: 'Delete' }).click()
    await page.getByText('There is no template yet').waitFor()
    expect((await client.listTemplates()).templates).toEqual([])
  })

  it('is sent as a test, as the form holds it, and as it is stored', async () => {
    const { world, tenant, open, newPerson } = scene()
    const { client, tenantId } = tenant
    const smtp = await world.newSmtpServer({})
    await client.configureSMTP({
      ...{ name: 'News', email: 'news@example.com', config_type: 'smtp', connection_type: 'basic' },
      config: { host: '127.0.0.1', port: smtp.port, secure: 'None' },
    })
    const { template } = await client.createTemplate({
      ...{ name: 'Welcome', subject: 'Hello {{ name }}', sample_data: { name: 'Ada' } },
      content: [{ type: 'text/html', value: '<p>Welcome, {{ name }}</p>' }],
    })
    const page = await open(`/app/t/${tenantId}/templates/${template.template_id}`, {
      person: await newPerson('developer'),
    })
    const dialog = page.getByRole('dialog')
    const send = async () => {
      await page.getByRole('button', { name: 'Send a test' }).click()
      await dialog.getByLabel('To').fill('me@example.com')
      await dialog.getByRole('button', { name: 'Send' }).click()
    }
    await send()
    await page.getByRole('heading', { level: 1, name: 'Hello Ada' }).waitFor()
    await page.goBack()
    await page.getByLabel('Subject').fill('Good morning {{ name }}')
    await send()
    await page.getByRole('heading', { level: 1, name: 'Good morning Ada' }).waitFor()
    await expect.poll(() => smtp.messages.length).toBe(2)
  })

  it('runs nothing in its preview', async () => {
    const { tenant, open, newPerson } = scene()
    const { template } = await tenant.client.createTemplate({
      ...{ name: 'Hostile', subject: '<script>document.title = "ran"</script>' },
      content: [{ type: 'text/html', value: HOSTILE }],
      sample_data: { name: 'the end' },
    })
    const page = await open(`/app/t/${tenant.tenantId}/templates/${template.template_id}`, {
      person: await newPerson('viewer'),
      expects: [/^Blocked script execution in /, /Content Security Policy/],
    })
    const frame = page.frameLocator('iframe')
    await frame.getByText('Thank you, the end').waitFor()
    expect(await frame.locator('body').innerText()).not.toMatch(/ran|1/)
    expect(await page.title()).not.toBe('ran')
  })
})
