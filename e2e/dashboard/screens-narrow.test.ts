/** Every screen in German on the narrowest phone: it fits, and is as quiet as on a wide one. */
import { expect } from 'vitest'
import { describeTour } from './tour.ts'

const NARROWEST = 320

describeTour('screens', {
  open: { width: NARROWEST, height: 640, language: 'de' },
  title: 'fits on the narrowest phone, in German',
  async check(page) {
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(
      NARROWEST,
    )
    expect(await page.evaluate('document.documentElement.lang')).toBe('de')
  },
})
