/**
 * Every screen, in German: nothing that axe-core finds (in `npm test` in one theme, by turns); it fits on the narrowest
 * phone, and no cell of a table hides a word at any width. No complaint of the browser in any, and no word of another
 * tenant.
 */
import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { findBarriers } from './accessibility.ts'
import { findCutCells, findCutInCurrentRow } from './cut-cells.ts'
import { settle } from './scene.ts'
import { describeTour } from './tour.ts'

const NARROWEST = { width: 320, height: 640 }
const WIDTHS = [1440, 768, 360]
const WIDTH_ONCE_DRAWN = `new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))
  .then(() => document.documentElement.scrollWidth)`

describeTour('screens', {
  open: { language: 'de' },
  title: 'has no barriers, fits on the narrowest phone and hides no word of a table, in German',
  async check(page) {
    expect(await findBarriers(page)).toEqual([])
    await page.setViewportSize(NARROWEST)
    await settle(page)
    expect(await page.evaluate(WIDTH_ONCE_DRAWN)).toBeLessThanOrEqual(NARROWEST.width)
    expect(await page.evaluate('document.documentElement.lang')).toBe('de')
    if ((await page.getByRole('table').count()) > 0) await expectWholeCells(page)
  },
})

async function expectWholeCells(page: Page): Promise<void> {
  for (const width of WIDTHS) {
    await page.setViewportSize({ ...NARROWEST, width })
    expect(await findCutCells(page), `${width} px`).toEqual([])
  }
  await page.setViewportSize({ ...NARROWEST, width: 768 })
  await page.keyboard.press('j')
  expect(await findCutInCurrentRow(page)).toEqual([])
}
