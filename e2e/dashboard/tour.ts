/**
 * A tour of every screen, with a story behind it, which all tours of a file share. The screens of one person share
 * a page, which logs in once and is judged after each screen.
 */
import type { Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { browserHindrance } from '../browser.ts'
import { goTo, type OpenOptions } from './scene.ts'
import { fillIn, type Screen, screens } from './screens.ts'
import { createStory, type Story } from './story.ts'

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
    /** By links instead of addresses: loading a page again takes Chromium four times as long. */
    readonly isByRouter?: boolean
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

      async function visit(path: string, as: Screen['as'] = 'owner'): Promise<Page> {
        if (opened?.as === as) {
          if (o.isByRouter === true) await goTo(opened.page, path)
          else await opened.page.goto(story.scene.origin + path)
          return opened.page
        }
        await story.scene.closePages()
        const person = as === 'nobody' ? {} : { person: story.people[as] }
        const page = await story.scene.open(path, {
          ...{ ...o.open, ...person },
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
