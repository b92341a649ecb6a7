import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { CustomHeaders } from '../../subscriptions/custom-headers.ts'
import { readings } from './decode-text.ts'
import { createHeaderMask, WITHHELD } from './mask-header-values.ts'

const maskHeaderValues = (text: string, headers: CustomHeaders) =>
  createHeaderMask(headers).hide(text)

const headers = [
  ['X-Secret', 'canary/value+1&"2"'],
  ['Authorization', 'Bearer canary-token-3'],
  ['X-Basic', `Basic ${Buffer.from('user:pass-word-4').toString('base64')}`],
  ['Cookie', 'session=canary-cookie-5; theme=dark'],
  ['X-Flag', '1'],
  ['X-Short', 'abc'],
] as const

describe('a header value in the answer of a receiver', () => {
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
  ])('is masked %s', (_, text, expected) => {
    expect(maskHeaderValues(text, headers)).toEqual(expected)
  }) // biome-ignore format: a table

  const key = 'q9+Zk/3uV+8rT5wYxA0bCdEfGh2IjK4l+M='
  const inBase64 = (before: string) => Buffer.from(`${before}${key}&more`).toString('base64')
  it.each([
    ['JSON with escaped signs', key.replaceAll('+', '\\u002B').replaceAll('=', '\\u003d')],
    ['JSON with escaped slashes', key.replaceAll('/', '\\/')],
    ['JSON in JSON', JSON.stringify(key.replaceAll('+', '\\u002b')).slice(1, -1)],
    ['HTML with decimal numbers', key.replaceAll('+', '&#43;')],
    ['HTML with hexadecimal numbers', key.replaceAll('+', '&#x0002B;')],
    ['HTML in HTML', key.replaceAll('+', '&amp;#43;')],
    ['JavaScript', key.replaceAll('/', '\\x2F')],
    ['a URL in small letters', encodeURIComponent(key).replace(/%../g, (e) => e.toLowerCase())],
    ['a URL in a URL', encodeURIComponent(encodeURIComponent(key))],
    ['a form that was read', key.replaceAll('+', ' ')],
    ['capitals', key.toUpperCase()],
    ['hexadecimal digits', Buffer.from(key).toString('hex')],
    ['hexadecimal capitals', Buffer.from(key).toString('hex').toUpperCase()],
    ['a cut escape', `${encodeURIComponent(key.slice(0, 6))}%2`],
    ['a cut escape of JSON', `${key.slice(0, 5)}\\u00`],
  ])('is masked as %s', (_, written) => {
    const masked = createHeaderMask([['X-Secret', key]]).hide(`got ${written}`)
    expect(masked).toMatch(/^got \*\*\*(?:%2|\\u00)?$/)
  })

  it.each(['', 'a', 'ab', 'abc', 'X-Webhook-Secret: '])(
    'is masked in base64 behind "%s"',
    (before) => {
      const mask = createHeaderMask([['X-Secret', key]])
      for (const text of [
        inBase64(before),
        inBase64(before).replaceAll('+', '-').replaceAll('/', '_'),
      ]) {
        const masked = mask.hide(`{"body":"${text}"}`)
        const rest = masked.replaceAll(/[^A-Za-z0-9+/_-]/g, '')
        expect(masked).toContain('***')
        expect(rest.length).toBeLessThan(before.length * 2 + 'body'.length + 14)
      }
    },
  )

  it('is masked as it is and decoded when it looks escaped itself', () => {
    const mask = createHeaderMask([['X-Secret', 'a%2Bb%2Bc&amp;d']])
    expect(mask.hide('got a%2Bb%2Bc&amp;d.')).toBe('got ***.')
    expect(mask.hide('got a+b+c&d.')).toBe('got ***.')
  })

  it('leaves all other text unchanged, also where a value is short', () => {
    const text = '{"ok":1,"abc":"abcdef","theme":"dark","can":"cana"}'
    expect(maskHeaderValues(text, headers)).toBe(text)
    expect(maskHeaderValues('', headers)).toBe('')
    expect(maskHeaderValues('ok', [])).toBe('ok')
  })

  it('remains in no text, however often it occurs and wherever the text is cut', () => {
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

  it('drops the whole text when the values are too large to search for', () => {
    const value = (i: number) => `${i}-`.padEnd(4_000, Math.E.toString(36 - i).slice(2))
    const large = Array.from({ length: 20 }, (_, i) => [`X-${i}`, value(i)] as const)
    const mask = createHeaderMask(large)
    expect(mask.hide('The quick brown fox')).toBe(WITHHELD)
    expect(mask.hide('')).toBe('')
    expect(mask.octets).toBe(0)
  })

  it('is searched for in a bounded number of characters', () => {
    for (const length of [100, 1_000, 2_000, 4_000])
      for (const count of [1, 5, 20]) {
        const many = Array.from({ length: count }, (_, i) => {
          const parts = Array.from({ length: length / 10 }, (_, at) => `aaaa<&${i * 400 + at}`)
          return [`X-${i}`, parts.join(' ')] as const
        })
        expect(createHeaderMask(many).octets).toBeLessThan(2 ** 20)
      }
  })

  it.each([
    ['values that begin alike', 'aaaa'],
    ['no sequences', ';&\\%'],
    ['sequences within sequences', '%25'],
    ['base64', 'AaBb'],
    ['hexadecimal digits', '61'],
  ])('is searched for in a bounded number of steps: %s', (_, piece) => {
    const text = piece.repeat(4_096 / piece.length)
    const read = readings(text)
    expect(read.length).toBeLessThanOrEqual(8)
    expect(read.reduce((sum, { codes }) => sum + codes.length, 0)).toBeLessThan(7 * 4_096)
  })

  it('is found with the largest headers and the largest answer', () => {
    const large = Array.from({ length: 20 }, (_, i) => [`X-${i}`, 'ab'.repeat(2_000) + i] as const)
    expect(maskHeaderValues('ab'.repeat(2_048), large)).toBe(`${'ab'.repeat(48)}***`)
  })
})
