/** That the scene sees what it watches for: a page that does everything wrong gets a complaint for each. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { browserHindrance } from '../browser.ts'
import { createScene, type Scene } from './scene.ts'

const title = `a scene of the dashboard ${browserHindrance ?? 'in Chromium'}`
describe.skipIf(browserHindrance !== undefined)(title, () => {
  let scene: Scene
  beforeAll(async () => {
    scene = await createScene()
  })
  afterAll(() => scene?.destroy())

  /** What is complained of after a script was run in a page of the owner. */
  async function complaintsAfter(script: string): Promise<string> {
    const page = await scene.open('/app/login', { refusals: ['404 /app/assets/expected.js'] })
    await page.getByRole('button', { name: 'Log in' }).waitFor()
    await page.evaluate(script)
    const complaints = await scene.complaints()
    await scene.closePages()
    return complaints.join('\n')
  }

  it('complains of nothing where nothing is wrong', async () => {
    expect(await complaintsAfter('1 + 1')).toBe('')
    expect(
      await complaintsAfter(`fetch('/app/assets/expected.js').then((answer) => answer.text())`),
    ).toBe('')
  })

  it.each([
    ['an error on the console', `console.error('something broke')`, 'something broke'],
    ['a warning', `console.warn('take care')`, 'take care'],
    [
      'an exception',
      `new Promise((done) => { setTimeout(() => { done(); throw new Error('nobody caught it') }) })
         .then(() => new Promise((done) => setTimeout(done, 100)))`,
      'nobody caught it',
    ],
    ['a dialog', `alert('it ran')`, 'a dialog opened: it ran'],
    [
      'a script in the page that the policy refuses',
      `document.body.append(Object.assign(document.createElement('script'), { textContent: '1' }))`,
      'Content Security Policy',
    ],
    [
      'a style without the nonce',
      `document.body.append(Object.assign(document.createElement('style'), { textContent: 'a{}' }))`,
      'Content Security Policy',
    ],
    [
      'a picture from another host',
      `new Promise((done) => { const picture = new Image(); picture.onerror = () => done();
         picture.src = 'http://elsewhere.test/pixel.gif' })`,
      'elsewhere.test',
    ],
    [
      'an answer that is refused',
      `fetch('/app/assets/none.js').then((answer) => answer.text())`,
      'status of 404',
    ],
  ])('complains of %s', async (_what, script, told) => {
    expect(await complaintsAfter(script)).toContain(told)
  })

  it('complains of a request to another host, whatever the policy', async () => {
    const page = await scene.open('/app/login')
    await page.goto('about:blank')
    await page.evaluate(`fetch('http://elsewhere.test/').catch(() => undefined)`)
    expect((await scene.complaints()).join()).toContain('asked for http://elsewhere.test/')
    await scene.closePages()
  })

  it('complains of a secret, and of a stranger, in the page or in an answer', async () => {
    const secret = scene.newSecret()
    const shown = await complaintsAfter(
      `document.body.append('${secret}', '${scene.stranger.name}')`,
    )
    expect(shown).toContain(`shows ${secret}`)
    expect(shown).toContain(`shows ${scene.stranger.name}`)

    const page = await scene.open('/app/', { person: scene.operator })
    await page.getByRole('heading', { level: 1 }).waitFor()
    expect(await scene.complaints()).toEqual([])
    const answered = await page.evaluate<string>(
      `fetch('/ui/api/admin/v1/tenants').then((answer) => answer.text())`,
    )
    expect(answered).toContain(scene.stranger.name)
    expect(await scene.complaints()).toEqual([])
    await scene.closePages()

    const leaking = await scene.open('/app/', { person: { ...scene.operator, role: 'viewer' } })
    await leaking.evaluate(`fetch('/ui/api/admin/v1/tenants').then((answer) => answer.text())`)
    expect((await scene.complaints()).join('\n')).toContain(
      `/ui/api/admin/v1/tenants shows ${scene.stranger.name}`,
    )
    await scene.closePages()
  })
})
