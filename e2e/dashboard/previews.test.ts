/**
 * Previews of hostile HTML connect to no other host: not even for what a browser does before it asks the policy. The
 * host of the HTML is one on this machine, which browsers of these tests reach.
 */
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { launchBrowser } from '../browser.ts'
import { describeInBrowser } from './in-browser.ts'
import { settle } from './scene.ts'

let connections = 0
const host = createServer((socket) => {
  connections += 1
  socket.on('error', () => undefined)
  socket.end('HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n')
})
beforeAll(async () => {
  host.listen(0, '127.0.0.1')
  await once(host, 'listening')
})
afterAll(() => host.close())
beforeEach(() => {
  connections = 0
})

const origin = () => `http://127.0.0.1:${(host.address() as AddressInfo).port}`

function hostile(): string {
  const at = origin()
  const rels = ['preconnect', 'dns-prefetch', 'prefetch', 'preload', 'modulepreload', 'prerender']
  return [
    `<base href="${at}/base/"><meta http-equiv="x-dns-prefetch-control" content="on">`,
    `<meta http-equiv="refresh" content="0;url=${at}/refresh">`,
    ...['stylesheet', 'icon', 'manifest', ...rels].map(
      (rel) => `<link rel="${rel}" as="style" href="${at}/${rel}">`,
    ),
    `<svg><title><LINK\nrel=preconnect href="${at}"></title></svg>`,
    `<iframe src="${at}/iframe"></iframe><iframe srcdoc="<link rel=preconnect href=${at}>"></iframe>`,
    `<object data="${at}/object"><embed src="${at}/embed"></object>`,
    `<img src="${at}/img" srcset="${at}/srcset 2x"><video src="${at}/video" poster="${at}/poster"></video>`,
    `<style>@import "${at}/import"; body { background: url(${at}/background) }</style>`,
    `<script src="${at}/script"></script><script type="speculationrules">{"prefetch":[{"urls":["${at}/rules"]}]}</script>`,
    `<form action="${at}/form"><input autofocus></form><a href="${at}/a" ping="${at}/ping">link</a>`,
    '<p>The end of the mail</p>',
  ].join('')
}

it('sees what a page without a policy connects for', async () => {
  const browser = await launchBrowser()
  try {
    const page = await browser.newPage()
    await page.setContent(`<link rel=preconnect href="${origin()}">`)
    await expect.poll(() => connections).toBeGreaterThan(0)
  } finally {
    await browser.close()
  }
})

describeInBrowser('previews', (scene) => {
  const expects = [/^Blocked script execution in /, /Content Security Policy/, /sandbox/i]

  async function expectSilence(page: Page): Promise<void> {
    await page.frameLocator('iframe').getByText('The end of the mail').waitFor()
    await settle(page)
    expect(connections).toBe(0)
  }

  it('of an email connect to nobody', async () => {
    const { world, tenant, open, newPerson } = scene()
    const { client, tenantId } = tenant
    const smtp = await world.newSmtpServer({})
    await client.updatePhishingSettings({ enabled: false })
    await client.configureSMTP({
      ...{ name: 'News', email: 'news@example.com', config_type: 'smtp', connection_type: 'basic' },
      config: { host: '127.0.0.1', port: smtp.port, secure: 'None' },
    })
    const { ref_id: refId } = await client.sendEmail({
      ...{ from: { email: 'news@example.com' }, to: [{ email: 'ada@example.com' }], subject: 'Hi' },
      content: [{ type: 'text/html', value: hostile() }],
    })
    const page = await open(`/app/t/${tenantId}/emails/${refId}?tab=preview`, {
      ...{ person: await newPerson('owner'), expects },
    })
    await expectSilence(page)
  })

  it('of a template connect to nobody, stored or not', async () => {
    const { tenant, open, newPerson } = scene()
    const { client, tenantId } = tenant
    const { template } = await client.createTemplate({
      ...{ name: 'Hostile', subject: 'Hi', content: [{ type: 'text/html', value: hostile() }] },
    })
    const page = await open(`/app/t/${tenantId}/templates/${template.template_id}`, {
      ...{ person: await newPerson('owner'), expects },
    })
    await expectSilence(page)
    await page.getByLabel('Subject').fill('Hello')
    await page.getByRole('button', { name: 'Preview' }).click()
    await page.getByText('What the form holds').waitFor()
    await expectSilence(page)
  })
})
