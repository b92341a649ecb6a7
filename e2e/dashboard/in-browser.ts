/**
 * Tests of the dashboard in Chromium. After each test the pages that it opened are judged (see `Scene`), so that
 * a complaint of the browser, a request to another host or a secret on a page fails the test it came in.
 */
import { afterAll, afterEach, beforeAll, describe, expect } from 'vitest'
import { browserHindrance } from '../browser.ts'
import { createScene, type Scene, type SceneOptions } from './scene.ts'

/**
 * `define` is given a function, as there is no scene before the tests run; and so may be the options, which then
 * are made just before it.
 */
export function describeInBrowser(
  name: string,
  define: (scene: () => Scene) => void,
  o: SceneOptions | (() => Promise<SceneOptions>) = {},
): void {
  describe.skipIf(browserHindrance !== undefined)(
    `${name} ${browserHindrance ?? 'in Chromium'}`,
    () => {
      let scene: Scene | undefined
      beforeAll(async () => {
        scene = await createScene(typeof o === 'function' ? await o() : o)
      })
      afterEach(async () => {
        const complaints = (await scene?.complaints()) ?? []
        await scene?.closePages()
        expect(complaints).toEqual([])
      })
      afterAll(() => scene?.destroy())
      define(() => {
        if (scene === undefined) throw new Error('the scene is not set')
        return scene
      })
    },
  )
}
