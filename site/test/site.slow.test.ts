/**
 * The site as it is built: its links lead to pages and headings, it asks no other host for anything, and
 * its search and its themes work in Chromium.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { askedElsewhere, browserHindrance, launchBrowser, watchPage } from '../../e2e/browser.ts'
import { allPages } from '../pages/all.ts'
import { findBroken, findOutside } from './built-site.ts'
import { type SiteServer, serveSite } from './serve-site.ts'

const builder = fileURLToPath(new URL('../../scripts/build-site.mjs', import.meta.url))

let out: string
let server: SiteServer

beforeAll(async () => {
  out = mkdtempSync(join(tmpdir(), 'postrider-site-'))
  const build = spawn(process.execPath, [builder, out], { stdio: ['ignore', 'inherit', 'inherit'] })
  expect(await once(build, 'exit')).toEqual([0, null])
  server = await serveSite(out)
}, 300_000)
afterAll(async () => {
  await server?.close()
  rmSync(out, { recursive: true, force: true })
})

it('every page is built', () => {
  const missing = allPages().filter(({ slug }) => {
    const file = slug === '404' ? '404.html' : join(slug, 'index.html')
    return !filesOf(out).includes(file)
  })
  expect(missing.map(({ slug }) => slug)).toEqual([])
})

it('every link leads to a page of the site, and to a heading that it has', () => {
  const files = filesOf(out)
  expect(findBroken(files, readPage)).toEqual([])
})

it('no page asks another host for a script, a style, a font or a picture', () => {
  const texts = filesOf(out).filter((file) => /\.(?:html|css)$/.test(file))
  expect(texts.length).toBeGreaterThan(200)
  expect(texts.flatMap((file) => findOutside(file, readPage(file)))).toEqual([])
})

describe.skipIf(browserHindrance !== undefined)(`in Chromium ${browserHindrance ?? ''}`, () => {
  let browser: Browser
  beforeAll(async () => {
    browser = await launchBrowser()
  })
  afterAll(() => browser?.close())

  it('the search finds an error by its code, and leads to its page', async () => {
    const page = await browser.newPage()
    const watch = watchPage(page)
    await page.goto(server.origin)
    await page.getByRole('button', { name: 'Search' }).first().click()
    await page.getByRole('textbox').fill('idempotency_mismatch')
    const result = page.locator('.pagefind-ui__result-link[href*="/errors/idempotency-mismatch/"]')
    await result.first().click()
    await page.waitForURL('**/errors/idempotency-mismatch/**')
    expect(await page.locator('h1').textContent()).toBe('idempotency_mismatch')
    expect(askedElsewhere(watch, server.origin)).toEqual([])
    expect(watch.complaints).toEqual([])
    await page.close()
  })

  it.each(['light', 'dark'] as const)(
    'the %s theme follows the system, without complaints',
    async (theme) => {
      const page = await browser.newPage({ colorScheme: theme })
      const watch = watchPage(page)
      await page.goto(`${server.origin}/api/send-email/`)
      expect(await page.evaluate('document.documentElement.dataset.theme')).toBe(theme)
      const paper = await page.evaluate<string>('getComputedStyle(document.body).backgroundColor')
      const [red = 0] = paper.match(/\d+/g)?.map(Number) ?? []
      expect(red > 128).toBe(theme === 'light')
      expect(askedElsewhere(watch, server.origin)).toEqual([])
      expect(watch.complaints).toEqual([])
      await page.close()
    },
  )

  it('no page is wider than a phone', async () => {
    const page = await browser.newPage({ viewport: { width: 360, height: 800 } })
    for (const path of ['/', '/start/', '/api/send-email/', '/events/mail-clicked/', '/config/']) {
      await page.goto(server.origin + path)
      const width = await page.evaluate('document.documentElement.scrollWidth')
      expect([path, width]).toEqual([path, 360])
    }
    await page.close()
  })

  it('dates in tables stay on one line', async () => {
    const page = await browser.newPage({ viewport: { width: 1440, height: 900 } })
    await page.goto(`${server.origin}/comparison/`)
    const lines = await page
      .locator('td .date')
      .evaluateAll((dates) => dates.map((date) => date.getClientRects().length))
    expect(lines.length).toBeGreaterThan(50)
    expect(lines.filter((one) => one !== 1)).toEqual([])
    await page.close()
  })

  it('an address that leads nowhere gets a page that says so', async () => {
    const page = await browser.newPage()
    const response = await page.goto(`${server.origin}/nothing/`)
    expect(response?.status()).toBe(404)
    expect(await page.locator('h1').textContent()).toBe('There is no such page')
    await page.close()
  })
})

function readPage(file: string): string {
  return readFileSync(join(out, file), 'utf8')
}

function filesOf(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
}
