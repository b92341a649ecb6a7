/**
 * Every screen: nothing that axe-core finds (in `npm test` in one theme, by turns); in German on the narrowest phone
 * it fits. No complaint of the browser in any, and no word of another tenant.
 */
import { expect } from 'vitest'
import { findBarriers } from './accessibility.ts'
import { settle } from './scene.ts'
import { describeTour } from './tour.ts'

const NARROWEST = 320

describeTour('screens', {
  open: {},
  title: 'has no barriers',
  async check(page) {
    expect(await findBarriers(page)).toEqual([])
  },
})

describeTour('screens', {
  open: { width: NARROWEST, height: 640, language: 'de' },
  title: 'fits on the narrowest phone, in German',
  isByRouter: true,
  async check(page) {
    await settle(page)
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(
      NARROWEST,
    )
    expect(await page.evaluate('document.documentElement.lang')).toBe('de')
  },
})
