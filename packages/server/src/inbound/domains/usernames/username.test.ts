import { describe, expect, it } from 'vitest'
import { checkUsername, readUsername, usernameOf } from './username.ts'

describe('a local part', () => {
  it.each([
    ['support', 'support'],
    ['SUPPORT', 'support'],
    ['support+tag', 'support'],
    ['support+a+b', 'support'],
    ['first.last', 'first.last'],
    ['"support"', 'support'],
    ['"sup\\port+x"', 'support'],
    ['"john smith"', 'john smith'],
    ['"a@b"', 'a@b'],
    ['JOSE\u0301', 'josé'],
    ['+only-a-tag', ''],
    ['', ''],
  ])('[3.5] %s belongs to the username %s', (local, username) => {
    expect(usernameOf(local)).toBe(username)
  })

  it.each(['a\u0000b', 'a\nb', 'a\ud800', 'a\u200bb'])(
    'has no username when it is invalid: %j',
    (local) => {
      expect(usernameOf(local)).toBeUndefined()
    },
  )
})

describe('a username', () => {
  it.each([
    ['Support', 'support'],
    ['"John Smith"', 'john smith'],
    ['first.last', 'first.last'],
    ['jos\u00e9', 'jos\u00e9'],
    ['x'.repeat(64), 'x'.repeat(64)],
  ])('[3.5] %s is accepted, and gets the mail to it', (text, username) => {
    expect(checkUsername(text)).toEqual({ ok: true, username })
    expect(usernameOf(text)).toBe(username)
    const tagged = text.endsWith('"') ? text.replace(/"$/, '+tag"') : `${text}+tag`
    expect(usernameOf(tagged)).toBe(username)
    for (const path of [text, username]) expect(readUsername(path)).toBe(username)
    expect(readUsername(tagged)).toBeUndefined()
  })

  it.each([
    ['support+tag', 'tag'],
    ['"a+b"', 'tag'],
    ['+', 'tag'],
    ['*', 'all'],
    ['support@example.com', 'before the @'],
    ['john smith', 'local part'],
    ['.a', 'local part'],
    ['a..b', 'local part'],
    ['', 'local part'],
    ['""', 'local part'],
    ['"a', 'local part'],
    ['a\u0000', 'invisible'],
    ['x'.repeat(65), '64 octets'],
    ['\u00e9'.repeat(33), '64 octets'],
  ])('is refused: %j', (text, why) => {
    expect(checkUsername(text)).toEqual({ ok: false, problem: expect.stringContaining(why) })
  })
})
