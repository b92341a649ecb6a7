import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { maskHeaderValues } from './mask-header-values.ts'

const headers = [
  ['X-Secret', 'canary/value+1&"2"'],
  ['Authorization', 'Bearer canary-token-3'],
  ['X-Basic', `Basic ${Buffer.from('user:pass-word-4').toString('base64')}`],
  ['Cookie', 'session=canary-cookie-5; theme=dark'],
  ['X-Flag', '1'],
  ['X-Short', 'abc'],
] as const

describe("what a receiver says of a webhook's own headers", () => {
  it.each([
    ['as it was sent', 'got canary/value+1&"2"!', 'got ***!'],
    ['as JSON', '{"a":"canary/value+1&\\"2\\""}', '{"a":"***"}'],
    ['as PHP writes JSON', '{"a":"canary\\/value+1&\\"2\\""}', '{"a":"***"}'],
    ['as Go writes JSON', '{"a":"canary/value+1\\u0026\\"2\\""}', '{"a":"***"}'],
    ['as HTML', '<b>canary/value+1&amp;&quot;2&quot;</b>', '<b>***</b>'],
    ['in a URL', '?s=canary%2Fvalue%2B1%26%222%22', '?s=***'],
    ['a whole list', JSON.stringify(Object.fromEntries(headers)), expect.not.stringMatching(/canary|pass-word/)],
    ['a token without its scheme', 'unknown token canary-token-3', 'unknown token ***'],
    ['the password of Basic', 'wrong password pass-word-4', 'wrong password ***'],
    ['user and password of Basic', 'not user:pass-word-4', 'not ***'],
    ['one cookie', 'no session canary-cookie-5', 'no session ***'],
    ['cut off', 'got canary/val', 'got ***'],
    ['cut off after a similar beginning', 'canary-cookie-4 canary-cook', 'canary-cookie-4 ***'],
  ])('%s', (_, text, expected) => {
    expect(maskHeaderValues(text, headers)).toEqual(expected)
  }) // biome-ignore format: a table

  it('everything else stays, also where a value is short', () => {
    const text = '{"ok":1,"abc":"abcdef","theme":"dark","can":"cana"}'
    expect(maskHeaderValues(text, headers)).toBe(text)
    expect(maskHeaderValues('', headers)).toBe('')
    expect(maskHeaderValues('ok', [])).toBe('ok')
  })

  it('leaves no value in any text, however often and wherever it is cut', () => {
    const value = fc.stringMatching(/^[\x21-\x7e]{8,40}$/)
    const around = fc.string({ unit: 'grapheme-ascii', maxLength: 20 })
    fc.assert(
      fc.property(value, value, around, around, fc.nat(200), (a, b, left, right, length) => {
        const text = `${left}${a}${right}${b}${left}${a}`.slice(0, length)
        const masked = maskHeaderValues(text, [
          ['X-A', a],
          ['X-B', `Bearer ${b}`],
        ])
        const rest = `${left}${right}`
        for (const secret of [a, b])
          if (!rest.includes(secret)) expect(masked).not.toContain(secret)
      }),
    )
  })

  it('is quick with the largest headers against the largest answer', () => {
    const large = Array.from({ length: 20 }, (_, i) => [`X-${i}`, 'ab'.repeat(2_000) + i] as const)
    expect(maskHeaderValues('ab'.repeat(2_048), large)).toBe(`${'ab'.repeat(48)}***`)
  })
})
