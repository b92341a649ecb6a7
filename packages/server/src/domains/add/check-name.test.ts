import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { checkName, isReservedName, problemOfSelector } from './check-name.ts'

describe('the name of a domain', () => {
  it.each([
    ['example.com', 'example.com'],
    ['MAIL.Example.Com', 'mail.example.com'],
    ['mail.example.com.', 'mail.example.com'],
    ['bücher.example', 'xn--bcher-kva.example'],
    ['BÜCHER.Example', 'xn--bcher-kva.example'],
    ['xn--bcher-kva.example', 'xn--bcher-kva.example'],
    ['example.co.uk', 'example.co.uk'],
    ['a.b.c.example.test', 'a.b.c.example.test'],
    ['example.рф', 'example.xn--p1ai'],
    ['user.github.io', 'user.github.io'],
  ])('accepts %s as %s', (given, domain) => {
    expect(checkName(given)).toEqual({ ok: true, domain })
  })

  it.each([
    ['a top-level domain', 'com', 'dot'],
    ['one of a country, with letters of its own', 'рф', 'dot'],
    ['localhost', 'localhost', 'dot'],
    ['a public suffix', 'co.uk', 'public suffix'],
    ['a public suffix of a company', 'github.io', 'public suffix'],
    ['a public suffix with a wildcard', 'foo.ck', 'public suffix'],
    ['an address', '192.0.2.1', 'IP address'],
    ['an address in brackets', '[192.0.2.1]', 'IP address'],
    ['an IPv6 address', '2001:db8::1', 'IP address'],
    ['an IPv6 address as in mail', '[IPv6:2001:db8::1]', 'IP address'],
    ['a number that is read as an address', '2130706433', 'domain name'],
    ['hexadecimal parts of one', '0x7f.0.0.1', 'domain name'],
    ['an email address', 'ada@example.com', 'alone'],
    ['a URL', 'https://example.com/', 'alone'],
    ['a port', 'example.com:25', 'alone'],
    ['white space', ' example.com', 'alone'],
    ['a line break', 'example.com\r\nX: y', 'alone'],
    ['nothing', '', 'domain name'],
    ['a dot', '.', 'domain name'],
    ['empty labels', 'a..example.com', 'domain name'],
    ['two final dots', 'example.com..', 'domain name'],
    ['an underscore', '_dmarc.example.com', 'domain name'],
    ['a hyphen at the end', 'a-.example.com', 'domain name'],
    ['a label that is too long', `${'a'.repeat(64)}.example.com`, 'domain name'],
    ['a name that is too long', `${'a.'.repeat(130)}example.com`, 'domain name'],
    ['no room for its records', `${`${'a'.repeat(59)}.`.repeat(3)}example.com`, 'records'],
    ['a false A-label', 'xn--a.example.com', 'domain name'],
    ['a wildcard', '*.example.com', 'domain name'],
    ['NUL', 'a\u0000.example.com', 'domain name'],
    ['half a surrogate pair', '\ud800.example.com', 'domain name'],
  ])('refuses %s with a clear message', (_what, given, words) => {
    expect(checkName(given)).toEqual({ ok: false, problem: expect.stringContaining(words) })
  })

  it('normalises a name to one form, whatever its spelling', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: 'grapheme' }), fc.domain()), (text) => {
        const checked = checkName(text)
        if (checked.ok) expect(checkName(checked.domain)).toEqual(checked)
      }),
      { numRuns: 500 },
    )
  })
})

describe('a reserved name (RFC 2606, RFC 6761)', () => {
  it.each([
    ['example.com', true],
    ['a.b.example.org', true],
    ['example.net', true],
    ['shop.test', true],
    ['shop.example', true],
    ['shop.invalid', true],
    ['shop.localhost', true],
    ['notexample.com', false],
    ['example.com.evil.com', false],
    ['example.de', false],
    ['mytest', false],
  ])('tells whether %s is reserved: %s', (name, isReserved) => {
    expect(isReservedName(name)).toBe(isReserved)
  })
})

describe('a selector', () => {
  it.each(['s1', 'a', '2026', 'mail-1', 'a.b', 'S1', 'x'.repeat(63)])('may be %s', (text) => {
    expect(problemOfSelector(text)).toBeUndefined()
  })
  it.each(['', '-a', 'a-', 'a_b', 'a..b', '.a', 'ü', 'a b', 'a/b', 'a\n'])(
    'may not be "%s"',
    (text) => {
      expect(problemOfSelector(text)).toContain('letters')
    },
  )
})
