/**
 * The pages of a scene. A page that a test has used goes to the next one, without its cookies and what it has
 * stored: the first visit of a new browser context takes Chromium four times as long.
 */
import type { Browser, BrowserContext, Page } from 'playwright-core'

export interface PageOptions {
  readonly colors?: 'light' | 'dark'
  readonly width?: number
  readonly height?: number
  readonly language?: 'en' | 'de'
}

/** What the scene and its tests listen to. */
const HEARD = [
  ...['console', 'dialog', 'pageerror', 'popup', 'request', 'requestfailed', 'requestfinished'],
  ...['response', 'download', 'websocket'],
]

export function createPages(browser: Browser, origin: string) {
  const idle: { readonly language: string; readonly page: Page }[] = []
  const languageOf = new WeakMap<Page, string>()
  const contexts = new Set<BrowserContext>()

  return {
    async take(o: PageOptions): Promise<Page> {
      const { colors = 'light', width = 1440, height = 900, language = 'en' } = o
      const found = idle.findIndex((one) => one.language === language)
      const [used] = found < 0 ? [] : idle.splice(found, 1)
      if (used !== undefined) {
        await used.page.setViewportSize({ width, height })
        await used.page.emulateMedia({ colorScheme: colors })
        return used.page
      }
      const context = await browser.newContext({
        ...{ colorScheme: colors, locale: language, viewport: { width, height } },
        reducedMotion: 'reduce',
        timezoneId: 'Europe/Berlin',
      })
      const page = await context.newPage()
      languageOf.set(page, language)
      contexts.add(context)
      context.once('close', () => contexts.delete(context))
      return page
    },
    async giveBack(page: Page): Promise<void> {
      const language = languageOf.get(page)
      if (language !== undefined && (await isLikeNew(page, origin))) idle.push({ language, page })
      else await page.context().close()
    },
    async close(): Promise<void> {
      await Promise.all([...contexts].map((context) => context.close()))
    },
  }
}

/** False where that is not possible: the service has ended, or the test has closed the page. */
async function isLikeNew(page: Page, origin: string): Promise<boolean> {
  const context = page.context()
  try {
    for (const event of HEARD) page.removeAllListeners(event)
    await Promise.all(context.pages().map((other) => (other === page ? undefined : other.close())))
    // Of the same origin, so that what is stored is at hand and its process goes on.
    await page.goto(`${origin}/livez`)
    await page.evaluate('localStorage.clear(); sessionStorage.clear()')
    await context.clearCookies()
    await context.clearPermissions()
    return true
  } catch {
    return false
  }
}
