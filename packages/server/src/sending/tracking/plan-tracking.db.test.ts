import { expect, it } from 'vitest'
import { emailBody, findLinkOffsets, LINKS_MAX } from '../../../test/sending.ts'
import { checkEmail } from '../accept/check-email.ts'
import { planTracking } from './plan-tracking.ts'

const LINK = '<a href="https://a.example/">x</a>'
const everything = { open_tracking: true, click_tracking: true, unsubscribe: true }

function plan(
  html: string | undefined,
  settings = {},
  find = async () => findLinkOffsets(html ?? ''),
) {
  const value = html ?? 'Hello'
  const type = html === undefined ? 'text/plain' : 'text/html'
  const checked = checkEmail(emailBody({ content: [{ type, value }], settings }), {
    maxAttempts: 5,
    expiresInMs: 1_000,
  })
  return planTracking({ find }, 'tn_a', checked)
}

it.each([
  [{ open_tracking: true }, { pixelAt: LINK.length, unsubscribes: false }, undefined],
  [{ click_tracking: true }, { links: [[9, 27, 0]], unsubscribes: false }, ['https://a.example/']],
  [{ unsubscribe: true }, { unsubscribes: true }, undefined],
  [{ open_tracking: false }, undefined, undefined],
])('finds the offsets that %j needs, and no others', async (settings, tracking, links) => {
  const { email, leftOut } = await plan(LINK, settings)
  expect(email.content.tracking).toEqual(tracking)
  expect(email.links).toEqual(links)
  expect(leftOut).toBeUndefined()
})

it('does not parse HTML where nothing in it is tracked', async () => {
  const notCalled = () => Promise.reject(new Error('not called'))
  expect((await plan(LINK, {}, notCalled)).email.content).not.toHaveProperty('tracking')
  const { email } = await plan(LINK, { unsubscribe: true }, notCalled)
  expect(email.content.tracking).toEqual({ unsubscribes: true })
  const plain = await plan(undefined, everything, notCalled)
  expect(plain.email.content.tracking).toEqual({ unsubscribes: true })
})

it('does not track a template that cannot be rendered', async () => {
  const checked = checkEmail(emailBody({ settings: everything }), {
    maxAttempts: 5,
    expiresInMs: 1_000,
  })
  const broken = { ...checked, content: { ...checked.content, templateProblem: 'x' } }
  const find = () => Promise.reject(new Error('not called'))
  expect(await planTracking({ find }, 'tn_a', broken)).toEqual({ email: broken })
})

it('tracks opens only, and keeps the links, in HTML with too many links', async () => {
  const html = LINK.repeat(LINKS_MAX + 1)
  const { email, leftOut } = await plan(html, everything)
  expect(email.content.tracking).toEqual({ pixelAt: html.length, unsubscribes: true })
  expect(email.links).toBeUndefined()
  expect(leftOut).toBe('clicks: too many links')
  expect((await plan(html, { open_tracking: true })).leftOut).toBeUndefined()
})

it('leaves HTML as it is when parsing takes too long', async () => {
  const { email, leftOut } = await plan(LINK, everything, async () => undefined as never)
  expect(email.content.tracking).toEqual({ unsubscribes: true })
  expect(email.links).toBeUndefined()
  expect(leftOut).toBe('all: the HTML takes too long')
})
