/**
 * What axe-core finds in a page (WCAG 2.2 AA): in both themes in the soak run, in one of them, by turns, in
 * `npm test`.
 */
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { casesOf } from '@postrider/testkit'
import type { Page } from 'playwright-core'
import { settle } from './scene.ts'

const axe = readFileSync(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8')
const THEMES = ['light', 'dark'] as const
// The frames of a page hold strangers' mail, and no script of ours runs in them.
const TAGS = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice']

interface Violation {
  readonly id: string
  readonly help: string
  readonly nodes: readonly { readonly target: readonly unknown[]; readonly html: string }[]
}

let looks = 0

/** A line for each rule that is broken: the theme, the rule, and the first elements at fault. */
export async function findBarriers(page: Page): Promise<string[]> {
  const found: string[] = []
  await settle(page)
  // A page that was loaded once runs it three times as fast the next time.
  if (await page.evaluate('globalThis.axe === undefined')) await page.evaluate(axe)
  looks += 1
  const turn = looks
  for (const colors of THEMES.filter((_, at) => (at + turn) % casesOf(2, 1) === 0)) {
    await switchTheme(page, colors)
    const violations = await page.evaluate<Violation[]>(
      `axe.run(document, { runOnly: ${JSON.stringify(TAGS)}, resultTypes: ['violations'],
        iframes: false }).then(({ violations }) =>
        violations.map(({ id, help, nodes }) =>
          ({ id, help, nodes: nodes.map(({ target, html }) => ({ target, html })) })))`,
    )
    for (const { id, help, nodes } of violations) {
      const where = nodes.slice(0, 5).map(({ target, html }) => `${target} ${html.slice(0, 200)}`)
      found.push(`${colors}: ${id}: ${help}\n  ${where.join('\n  ')}`)
    }
  }
  return found
}

/** The page follows the browser; what moves on the way has come to rest. */
async function switchTheme(page: Page, colors: 'light' | 'dark'): Promise<void> {
  await page.emulateMedia({ colorScheme: colors })
  await page.locator(`html[data-mantine-color-scheme="${colors}"]`).waitFor()
  await page.evaluate(
    `new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))).then(() =>
      Promise.allSettled(document.getAnimations()
        .filter(({ effect }) => effect.getComputedTiming().iterations !== Infinity)
        .map(({ finished }) => finished)).then(() => undefined))`,
  )
}
