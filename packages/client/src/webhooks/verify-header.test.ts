import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { verifyHeader } from './verify-header.ts'

const name = 'X-Webhook-Secret'
const headers = (value: string) => new Headers({ [name]: value })

describe('verifyHeader', () => {
  it('[5.2] accepts any of the secrets, in every order, and no other value', () => {
    const secrets = ['old secret', 'new secret']
    for (const list of [secrets, secrets.toReversed()]) {
      for (const secret of list) expect(verifyHeader(headers(secret), name, list)).toBe(true)
      for (const wrong of ['old secre', 'old secret2', 'OLD SECRET', 'old secretnew secret']) {
        expect(verifyHeader(headers(wrong), name, list), wrong).toBe(false)
      }
    }
  })

  it('refuses a header that is missing, empty or repeated', () => {
    expect(verifyHeader(new Headers(), name, ['s'])).toBe(false)
    expect(verifyHeader(headers(''), name, ['s'])).toBe(false)
    const twice = new Headers([
      [name, 's'],
      [name, 's'],
    ])
    expect(verifyHeader(twice, name, ['s'])).toBe(false)
    expect(verifyHeader({ [name]: ['s', 's'] }, name, ['s'])).toBe(false)
    expect(verifyHeader({ [name]: 's', [name.toLowerCase()]: 's' }, name, ['s'])).toBe(false)
    expect(verifyHeader({ [name]: undefined }, name, ['s'])).toBe(false)
  })

  it('finds the name in any case, also in the plain object of node:http', () => {
    for (const spelling of [name, name.toLowerCase(), name.toUpperCase()]) {
      expect(verifyHeader(headers('s'), spelling, ['s'])).toBe(true)
      expect(verifyHeader({ [spelling]: 's' }, name, ['s'])).toBe(true)
      expect(verifyHeader({ [spelling]: ['s'] }, name, ['s'])).toBe(true)
    }
    expect(verifyHeader({ get: 's' }, 'get', ['s'])).toBe(true)
  })

  it('accepts exactly an equal value', () => {
    const value = fc.stringMatching(/^[!-~]([ -~]{0,60}[!-~])?$/)
    fc.assert(
      fc.property(value, fc.array(value, { minLength: 1, maxLength: 4 }), (given, secrets) => {
        expect(verifyHeader({ [name]: given }, name, secrets)).toBe(secrets.includes(given))
        expect(verifyHeader(headers(given), name, [...secrets, given])).toBe(true)
      }),
    )
  })

  it('compares the longest possible header to the last character', () => {
    const secret = 'a'.repeat(4096)
    expect(verifyHeader({ [name]: secret }, name, [secret])).toBe(true)
    for (const wrong of [`${secret.slice(1)}b`, `${secret}a`, secret.slice(1)]) {
      expect(verifyHeader({ [name]: wrong }, name, [secret])).toBe(false)
    }
  })

  it('compares whole characters, not their low bytes', () => {
    // 0x161 and 0x61 have the same low octet.
    expect(verifyHeader({ [name]: 'š' }, name, ['a'])).toBe(false)
  })

  it.each<[string, string, unknown]>([
    ['no secrets', name, []],
    ['secrets that are none', name, undefined],
    ['one secret in place of a list', name, 'secret'],
    ['an object in place of a list', name, { 0: 'secret', length: 1 }],
    ['an empty secret, which an empty header would equal', name, ['s', '']],
    ['a secret that is not set', name, [undefined]],
    ['white space that HTTP takes away', name, ['secret ']],
    ['a line break', name, ['a\r\nb']],
    ['characters that the service does not send', name, ['sésame']],
    ['a secret that no header can hold', name, ['a'.repeat(4097)]],
    ['no name', '', ['s']],
    ['a name that is none', 'X Secret', ['s']],
  ])('throws when it is configured with %s', (_, header, secrets) => {
    const verify = () => verifyHeader(new Headers(), header, secrets as string[])
    expect(verify).toThrow(TypeError)
    expect(verify).not.toThrow('sésame')
  })

  it('says what secrets must be when it is given a single one', () => {
    const verify = () => verifyHeader(new Headers(), name, 'secret' as unknown as string[])
    expect(verify).toThrow('secrets must be an array of strings')
  })
})
