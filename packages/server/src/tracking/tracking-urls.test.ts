import { randomBytes } from 'node:crypto'
import { expect, it } from 'vitest'
import { newId, newUlid } from '../platform/ids.ts'
import { createKeyRing } from '../platform/secrets/index.ts'
import { createTrackingTokens } from './tokens.ts'
import { createTrackingUrls } from './tracking-urls.ts'

it('builds the URLs of a message with the token of each kind', () => {
  const keyRing = createKeyRing(`a:${randomBytes(32).toString('base64')}`)
  const tokens = createTrackingTokens(keyRing)
  const urls = createTrackingUrls({ tokens, publicUrl: 'https://mail.example.com' })
  const who = { tenantId: newId('tn'), refId: newUlid(), n: 2 }
  const tokenIn = (url: string, shape: RegExp) => shape.exec(url)?.[1] ?? ''

  const open = tokenIn(urls.openUrl(who), /^https:\/\/mail\.example\.com\/t\/o\/([^/]+)\.gif$/)
  expect(tokens.read(open, 'open')).toEqual({ ...who, link: 0 })
  const click = tokenIn(urls.clickUrl(who, 9), /^https:\/\/mail\.example\.com\/t\/c\/([^/]+)$/)
  expect(tokens.read(click, 'click')).toEqual({ ...who, link: 9 })
  const leave = tokenIn(urls.unsubscribeUrl(who), /^https:\/\/mail\.example\.com\/t\/u\/([^/]+)$/)
  expect(tokens.read(leave, 'unsubscribe')).toEqual({ ...who, link: 0 })
})
