/**
 * Every screen, with a story behind it: nothing that axe-core finds in either theme, no complaint of the browser,
 * no word of another tenant, and room enough on the narrowest phone, in German.
 */
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { browserHindrance } from '../browser.ts'
import { findBarriers } from './accessibility.ts'
import { settle } from './scene.ts'
import { fillIn, screens } from './screens.ts'
import { createStory, type Story } from './story.ts'

const NARROWEST = 320

describe.skipIf(browserHindrance !== undefined)(
  `screens ${browserHindrance ?? 'in Chromium'}`,
  () => {
    let story: Story
    beforeAll(async () => {
      story = await createStory(() => undefined)
    }, 300_000)
    afterAll(() => story?.destroy())
    afterEach(async () => {
      const complaints = await story.scene.complaints()
      await story.scene.closePages()
      expect(complaints).toEqual([])
    })

    const personOf = (as: (typeof screens)[number]['as'] = 'owner') =>
      as === 'nobody' ? {} : { person: story.people[as], maySeeAll: as === 'operator' }

    it.each(screens)('$name has no barriers', async ({ path, as }) => {
      const page = await story.scene.open(fillIn(path, story.ids), personOf(as))
      await page.getByRole('heading', { level: 1 }).waitFor()
      await settle(page)
      expect(await findBarriers(page)).toEqual([])
    })

    it.each(screens)('$name fits on the narrowest phone, in German', async ({ path, as }) => {
      const page = await story.scene.open(fillIn(path, story.ids), {
        ...{ width: NARROWEST, height: 640, language: 'de' as const },
        ...personOf(as),
      })
      await page.getByRole('heading', { level: 1 }).waitFor()
      await settle(page)
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(
        NARROWEST,
      )
      expect(await page.evaluate('document.documentElement.lang')).toBe('de')
    })
  },
)
