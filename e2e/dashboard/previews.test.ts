/**
 * Previews of hostile HTML connect to no other host: not even for what a browser does before it asks the policy. The
 * host of the HTML is one on this machine, which browsers of these tests reach.
 */
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { BrowserContext, Page } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { launchProfile, profileHindrance } from '../browser.ts'
import { createScene, type Scene } from './scene.ts'

const serve = (onSocket: (socket: Socket) => void) =>
  createServer((socket) => {
    onSocket(socket)
    socket.on('data', () =>
      socket.end('HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n'),
    )
    socket.on('error', () => undefined)
  })
const strange = new Set<Socket>()
const host = serve((socket) => strange.add(socket))
const portOf = (server: Server) => (server.address() as AddressInfo).port
const at = () => `http://127.0.0.1:${portOf(host)}`

function hostile(): string {
  const rels = ['preconnect', 'dns-prefetch', 'prefetch', 'preload', 'modulepreload', 'prerender']
  return [
    `<base href="${at()}/base/"><meta http-equiv="x-dns-prefetch-control" content="on">`,
    `<meta http-equiv="refresh" content="0;url=${at()}/refresh">`,
    ...['stylesheet', 'icon', 'manifest', ...rels].map(
      (rel) => `<link rel="${rel}" as="style" href="${at()}/${rel}">`,
    ),
    `<svg><title><LINK\nrel=preconnect href="${at()}"></title></svg>`,
    `<iframe src="${at()}/iframe"></iframe>`,
    `<iframe srcdoc="<link rel=preconnect href=${at()}>"></iframe>`,
    `<object data="${at()}/object"><embed src="${at()}/embed"></object>`,
    `<img src="${at()}/img" srcset="${at()}/srcset 2x"><video poster="${at()}/poster"></video>`,
    `<style>@import "${at()}/import"; body { background: url(${at()}/background) }</style>`,
    `<script src="${at()}/script"></script>`,
    `<script type="speculationrules">{"prefetch":[{"urls":["${at()}/rules"]}]}</script>`,
    `<form action="${at()}/form"><input autofocus></form><a href="${at()}/a" ping="${at()}">a</a>`,
    '<p>The end of the mail</p>',
  ].join('')
}

describe.skipIf(profileHindrance !== undefined)(
  `previews ${profileHindrance ?? 'in a browser as people have it'}`,
  () => {
    const directory = mkdtempSync(join(tmpdir(), 'postrider-profile-'))
    let scene: Scene
    let browser: BrowserContext
    let page: Page
    beforeAll(async () => {
      host.listen(0, '127.0.0.1')
      await once(host, 'listening')
      scene = await createScene()
      browser = await launchProfile(directory)
      page = await browser.newPage()
      const { email, password } = await scene.newPerson('owner')
      await browser.request.post(`${scene.origin}/ui/session`, { data: { email, password } })
    })
    beforeEach(() => {
      strange.clear()
    })
    afterAll(async () => {
      await browser?.close()
      await scene?.destroy()
      host.close()
      rmSync(directory, { recursive: true, force: true })
    })

    /**
     * What would connect has done so before a page does that is asked for later. That page is of a host of its own
     * each time: a browser connects ahead to hosts that it has seen.
     */
    async function expectSilence(): Promise<void> {
      await page.frameLocator('iframe').getByText('The end of the mail').waitFor()
      const other = serve(() => undefined)
      other.listen(0, '127.0.0.1')
      await once(other, 'listening')
      const control = await browser.newPage()
      const answer = await control.goto(`http://127.0.0.1:${portOf(other)}/control`)
      await control.close()
      other.close()
      expect(answer?.status()).toBe(200)
      // Connections are accepted in the order in which they came.
      const last = connect(portOf(host), '127.0.0.1')
      await once(last, 'connect')
      const isLast = ({ remotePort }: Socket) => remotePort === last.localPort
      await expect.poll(() => [...strange].some(isLast)).toBe(true)
      last.destroy()
      expect(strange.size).toBe(1)
      strange.clear()
    }

    it('of an email connect to nobody', async () => {
      const { client, tenantId } = scene.tenant
      const smtp = await scene.world.newSmtpServer({})
      await client.updatePhishingSettings({ enabled: false })
      await client.configureSMTP({
        ...{ name: 'News', email: 'news@example.com', config_type: 'smtp' },
        connection_type: 'basic',
        config: { host: '127.0.0.1', port: smtp.port, secure: 'None' },
      })
      const { ref_id: refId } = await client.sendEmail({
        ...{ from: { email: 'news@example.com' }, to: [{ email: 'ada@example.com' }] },
        ...{ subject: 'Hi', content: [{ type: 'text/html', value: hostile() }] },
      })
      await page.goto(`${scene.origin}/app/t/${tenantId}/emails/${refId}?tab=preview`)
      await expectSilence()
    })

    it('of a template connect to nobody, stored or not', async () => {
      const { client, tenantId } = scene.tenant
      const { template } = await client.createTemplate({
        ...{ name: 'Hostile', subject: 'Hi', content: [{ type: 'text/html', value: hostile() }] },
      })
      await page.goto(`${scene.origin}/app/t/${tenantId}/templates/${template.template_id}`)
      await expectSilence()
      await page.getByLabel('Subject').fill('Hello')
      await page.getByRole('button', { name: 'Preview' }).click()
      await page.getByText('What the form holds').waitFor()
      await expectSilence()
    })

    // The last: its connections come as the browser likes.
    it('would see a page that connects before it asks the policy', async () => {
      await page.route(`${scene.origin}/probe`, (route) =>
        route.fulfill({
          contentType: 'text/html',
          headers: { 'content-security-policy': "sandbox; default-src 'none'" },
          body: `<link rel=preconnect href="${at()}">`,
        }),
      )
      await page.goto(`${scene.origin}/probe`)
      await expect.poll(() => strange.size).toBeGreaterThan(0)
    })
  },
)
