import { describe, expect, it } from 'vitest'
import type { CallbackRequest } from '../relay.ts'
import { sparkpost } from './sparkpost.ts'

const secret = 'pass:word'
const isAuthentic = (headers: CallbackRequest['headers'], callbackSecret?: string) =>
  sparkpost.callbacks.isAuthentic(
    { headers, body: Buffer.from('[]') },
    callbackSecret === undefined ? {} : { callbackSecret },
    0,
  )
const basic = (credentials: string) => `Basic ${Buffer.from(credentials).toString('base64')}`

describe('a callback', () => {
  it('[3.4] needs its path only when no secret is set', () => {
    expect(isAuthentic({})).toBe(true)
    expect(isAuthentic({ 'x-callback-secret': 'any' })).toBe(true)
  })

  it('[3.4] needs the secret in its header when one is set', () => {
    expect(isAuthentic({ 'x-callback-secret': secret }, secret)).toBe(true)
    for (const given of ['', 'x', `${secret} `, secret.toUpperCase(), [secret, secret], undefined])
      expect(isAuthentic({ 'x-callback-secret': given }, secret)).toBe(false)
  })

  it('may have the secret as the password of Basic credentials', () => {
    for (const authorization of [
      basic(`any:${secret}`),
      basic(`:${secret}`).toUpperCase().slice(0, 5) + basic(`:${secret}`).slice(5),
    ])
      expect(isAuthentic({ authorization }, secret)).toBe(true)
    for (const authorization of [
      basic(secret),
      basic(`${secret}:`),
      basic(`any:x${secret}`),
      `Bearer ${secret}`,
      'Basic',
      'Basic ===',
      [basic(`any:${secret}`)],
    ])
      expect(isAuthentic({ authorization }, secret)).toBe(false)
  })

  it('is authentic with one valid secret, whatever the other is', () => {
    const authorization = basic('other:thing')
    expect(isAuthentic({ authorization, 'x-callback-secret': secret }, secret)).toBe(true)
    const wrong = { authorization: basic(`a:${secret}`), 'x-callback-secret': 'wrong' }
    expect(isAuthentic(wrong, secret)).toBe(true)
  })
})
