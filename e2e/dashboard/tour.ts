/**
 * A tour of every screen, with a story behind it, which all tours of a file share. The screens of one person share
 * a page, which logs in once and is judged after each screen.
 */
import { casesOf } from '@postrider/testkit'
import type { Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { browserHindrance } from '../browser.ts'
import { goTo, type OpenOptions } from './scene.ts'
import { fillIn, type Screen, screens } from './screens.ts'
import { createStory, type Story } from './story.ts'

/**
 * So many screens are reached by links before one is loaded by its address, which takes Chromium four times as long
 * (hostile.test.ts and operator.test.ts load nearly all of them).
 */
const LOADED_EACH = casesOf(4, 1)
/** Each screen comes up in a window of this size. */
const DESK = { width: 1440, height: 900 }

let telling: Promise<Story> | undefined
const tellOnce = () => {
  telling ??= createStory(() => undefined)
  return telling
}
afterAll(async () => (await telling)?.destroy())

export function describeTour(
  name: string,
  o: {
    readonly open: OpenOptions
    /** Completes the title of each test: "<screen> <title>". */
    readonly title: string
    readonly check: (page: Page) => Promise<void>
  },
): void {
  describe.skipIf(browserHindrance !== undefined)(
    `${name} ${browserHindrance ?? 'in Chromium'}`,
    () => {
      let story: Story
      let opened: { readonly as: Screen['as']; readonly page: Page } | undefined
      beforeAll(async () => {
        story = await tellOnce()
      }, 300_000)
      afterAll(() => story?.scene.closePages())
      afterEach(async () => expect(await story.scene.complaints()).toEqual([]))

      let visits = 0
      async function visit(path: string, as: Screen['as'] = 'owner'): Promise<Page> {
        visits += 1
        if (opened?.as === as) {
          await opened.page.setViewportSize(DESK)
          if (visits % LOADED_EACH === 0) await opened.page.goto(story.scene.origin + path)
          else await goTo(opened.page, path)
          return opened.page
        }
        await story.scene.closePages()
        const person = as === 'nobody' ? {} : { person: story.people[as] }
        const page = await story.scene.open(path, {
          ...{ ...o.open, ...DESK, ...person },
          maySeeAll: as === 'operator',
        })
        opened = { as, page }
        return page
      }

      it.each(screens)(`$name ${o.title}`, async ({ path, as }) => {
        const page = await visit(fillIn(path, story.ids), as)
        await page.getByRole('heading', { level: 1 }).waitFor()
        await o.check(page)
      })
    },
  )
}
