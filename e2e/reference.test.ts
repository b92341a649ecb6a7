/**
 * The reference at /docs as a browser shows it: in both colors, from this service alone, by any name and
 * over plain http. Needs Debian's `chromium`, or another one that CHROMIUM names.
 */
import { operations } from '@postrider/contract'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { askedElsewhere, browserHindrance, launchBrowser, watchPage } from './browser.ts'
import { createWorld, type World } from './world.ts'

/** Stands for a name that a service is reached by. It leads to this machine. */
const NAME = 'postrider.test'

const title = `the reference ${browserHindrance ?? 'in Chromium'}`
describe.skipIf(browserHindrance !== undefined)(title, () => {
  let world: World
  let browser: Browser
  let apiKey: string

  beforeAll(async () => {
    world = createWorld()
    await world.start()
    apiKey = (await world.newTenant()).apiKey
    browser = await launchBrowser([NAME])
  })
  afterAll(async () => {
    await browser?.close()
    await world?.destroy()
  })

  /** With what it complained of, and every address that it asked for. */
  async function open(
    o: { readonly host?: string; readonly path?: string; readonly colors?: 'light' | 'dark' } = {},
  ) {
    const { host = '127.0.0.1', path = '/docs', colors = 'light' } = o
    const page = await browser.newPage({ colorScheme: colors })
    const watch = watchPage(page)
    const origin = `http://${host}:${world.service().port}`
    const response = await page.goto(origin + path, { waitUntil: 'networkidle' })
    expect(response?.status()).toBe(200)
    // The network may be idle for a while before all of the page has come.
    await page.waitForLoadState('load')
    return { page, origin, watch }
  }

  /** How light the paper and the ink are. */
  const lightnessOf = (page: Page) =>
    page.evaluate<{ paper: number; ink: number }>(`(() => {
      const { backgroundColor, color } = getComputedStyle(document.body)
      const sum = (text) => text.match(/[\\d.]+/g).slice(0, 3).reduce((all, one) => all + Number(one), 0)
      return { paper: sum(backgroundColor), ink: sum(color) }
    })()`)

  it.each([
    { host: '127.0.0.1', path: '/docs' },
    { host: 'localhost', path: '/docs/' },
    { host: NAME, path: '/docs' },
  ])(
    'shows every operation at the name $host with $path, and requests nothing from other hosts',
    async (where) => {
      const { page, origin, watch } = await open(where)
      const shown = await page.evaluate<string[]>(
        `[...document.querySelectorAll('section.operation[data-method]')].map(({ id }) => id)`,
      )
      expect(shown.sort()).toEqual(Object.keys(operations).sort())
      expect(await page.locator('#find-operations').isVisible()).toBe(true)
      expect(await page.locator('#sendEmail .origin').textContent()).toBe(origin)
      expect(watch.complaints).toEqual([])
      expect(askedElsewhere(watch, origin)).toEqual([])
      await page.close()
    },
  )

  it('is light or dark as the reader prefers, and changes on request', async () => {
    for (const colors of ['light', 'dark'] as const) {
      const { page } = await open({ colors })
      const before = await lightnessOf(page)
      expect(before.paper > before.ink).toBe(colors === 'light')
      const button = page.locator('#theme')
      expect(await button.textContent()).toBe(colors === 'light' ? 'Dark' : 'Light')
      await button.click()
      const after = await lightnessOf(page)
      expect(after.paper > after.ink).toBe(colors === 'dark')
      await page.close()
    }
  })

  it('has no dangling internal link, and fits a narrow window', async () => {
    const { page } = await open()
    const dead = await page.evaluate<string[]>(
      `[...document.querySelectorAll('a[href^="#"]')]
        .map((link) => link.getAttribute('href').slice(1))
        .filter((target) => document.getElementById(target) === null)`,
    )
    expect(dead).toEqual([])
    await page.setViewportSize({ width: 390, height: 800 })
    const [wide, window] = await page.evaluate<[number, number]>(
      '[document.documentElement.scrollWidth, document.documentElement.clientWidth]',
    )
    expect(wide).toBe(window)
    await page.close()
  })

  it('finds operations by their words', async () => {
    const { page } = await open()
    await page.locator('#find-operations').fill('rescue')
    const found = page.locator('nav [data-words]:visible')
    expect(await found.locator('a[href="#rescueEmails"]').count()).toBe(1)
    await page.locator('#find-operations').press('Enter')
    expect(new URL(page.url()).hash).toBe('#rescueEmails')

    // What only their descriptions and fields say.
    for (const [words, id] of [
      ['idempotency', 'sendEmail'],
      ['bounce', 'listSuppressions'],
      ['suppress', 'unsubscribeEmail'],
    ]) {
      await page.locator('#find-operations').fill(words ?? '')
      await found.locator(`a[href="#${id}"]`).waitFor()
    }
    await page.locator('#find-operations').fill('idempotency')
    expect(await page.locator('nav .to-group:visible').allTextContents()).not.toContain('Shapes')
    await page.locator('#find-operations').fill('no operation says this')
    await page.locator('nav').getByText('Nothing found').waitFor()
    expect(await page.locator('nav .to-group:visible').count()).toBe(0)
    await page.locator('#find-operations').fill('')
    const groups = page.locator('nav .to-group')
    expect(await groups.and(page.locator(':visible')).count()).toBe(await groups.count())
    await page.close()
  })

  it.each(['localhost', NAME])('tries operations out at %s', async (host) => {
    const { page, watch } = await open({ host })
    const tryOut = async (id: string) => {
      const section = page.locator(`#${id}`)
      await section.getByRole('button', { name: 'Try it' }).click()
      await section.getByRole('button', { name: 'Send' }).click()
      const output = section.getByRole('status')
      await output.getByText(/^\d{3} /).waitFor()
      return (await output.textContent()) ?? ''
    }
    const first = page.locator('#listWebhooks')
    await first.getByRole('button', { name: 'Try it' }).click()
    const key = first.getByLabel('API key')
    await first.locator('input.key:focus').waitFor()
    await first.getByRole('button', { name: 'Send' }).click()
    expect(await first.locator('input.key:focus:invalid').count()).toBe(1)
    expect(watch.asked.filter((url) => url.includes('/v1/'))).toEqual([])
    await key.fill('wrong')
    await key.press('Enter')
    await first.getByRole('status').getByText('"code": "unauthorized"').waitFor()
    expect(await page.locator('#key input').inputValue()).toBe('wrong')
    await page.locator('#key input').fill(apiKey)
    expect(await key.inputValue()).toBe(apiKey)
    const another = page.locator('#getEmail')
    await another.getByRole('button', { name: 'Try it' }).click()
    await another.locator('input[name=ref_id]:focus').waitFor()
    expect(await tryOut('listMailers')).toMatch(
      /^200 OK\nx-request-id: \S+\n\n\{\n {2}"success": true/,
    )
    expect(await tryOut('unsubscribeEmail')).toContain('Email Unsubscribed')
    // The browser tells of the first one, which was refused.
    expect(watch.complaints.filter((text) => !text.includes('401'))).toEqual([])
    await page.close()
  })

  it('can be read without scripts', async () => {
    const context = await browser.newContext({ javaScriptEnabled: false })
    const page = await context.newPage()
    await page.goto(`${world.service().origin}/docs`)
    expect(await page.locator('#sendEmail pre').first().textContent()).toContain('/v1/email/send')
    expect(await page.locator('#find-operations').isVisible()).toBe(false)
    await context.close()
  })
})
