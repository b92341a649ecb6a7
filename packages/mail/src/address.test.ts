import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { checkDisplayName, checkHeaderText, parseAddress } from './address.ts'

function wireOf(text: string): string | undefined {
  const parsed = parseAddress(text)
  return parsed.ok ? parsed.address.address : undefined
}

describe('an accepted address', () => {
  it.each([
    ['user@receiver.test', 'user@receiver.test'],
    ['User.Name+tag@Example.COM', 'User.Name+tag@example.com'],
    ["!#$%&'*+-/=?^_`{|}~@example.invalid", "!#$%&'*+-/=?^_`{|}~@example.invalid"],
    ['a@sub.domain.example', 'a@sub.domain.example'],
    ['a@1and1.example', 'a@1and1.example'],
    ['a@xn--mnchen-3ya.example', 'a@xn--mnchen-3ya.example'],
    ['info@münchen.example', 'info@xn--mnchen-3ya.example'],
    ['info@MÜNCHEN.example', 'info@xn--mnchen-3ya.example'],
    ['a@例え.テスト', 'a@xn--r8jz45g.xn--zckzah'],
    [`${'a'.repeat(64)}@example.com`, `${'a'.repeat(64)}@example.com`],
  ])('includes %s', (text, wire) => {
    expect(wireOf(text)).toBe(wire)
  })

  it('needs SMTPUTF8 when its local part is not ASCII', () => {
    expect(parseAddress('änn@münchen.example')).toEqual({
      ok: true,
      address: {
        address: 'änn@xn--mnchen-3ya.example',
        local: 'änn',
        domain: 'xn--mnchen-3ya.example',
        needsSmtpUtf8: true,
      },
    })
    const ascii = parseAddress('ann@münchen.example')
    expect(ascii.ok && ascii.address.needsSmtpUtf8).toBe(false)
  })
})

describe('a refused address', () => {
  it.each([
    ['', 'no @'],
    ['nobody', 'no @'],
    ['@example.com', 'nothing before'],
    ['a@', 'domain'],
    ['a@localhost', 'dot'],
    ['a@example.com.', 'domain'],
    ['a@.example.com', 'domain'],
    ['a@example..com', 'domain'],
    ['a@-example.com', 'domain'],
    ['a@exa_mple.com', 'domain'],
    ['a@example.123', 'domain'],
    ['a@127.0.0.1', 'domain'],
    ['a@[127.0.0.1]', 'domain'],
    ['a@[IPv6:::1]', 'domain'],
    ['a@0x7f.1', 'domain'],
    ['a@①②⑦.⓪.⓪.①', 'domain'],
    ['a@example。com', 'domain'],
    ['a@ｅｘａｍｐｌｅ.com', 'domain'],
    ['a@exa\u00admple.com', 'domain'],
    ['a@exa%6dple.com', 'domain'],
    ['a@example.com/x', 'domain'],
    ['a@xn--a.example', 'domain'],
    [`a@${'x'.repeat(64)}.com`, 'domain'],
    [`a@${'x.'.repeat(127)}com`, 'domain'],
    [`${'a'.repeat(65)}@example.com`, 'too long'],
    [`${'ä'.repeat(33)}@example.com`, 'too long'],
    [`${'a'.repeat(64)}@${`${'x'.repeat(60)}.`.repeat(3)}example.com`, 'too long'],
    ['.a@example.com', 'local part'],
    ['a.@example.com', 'local part'],
    ['a..b@example.com', 'local part'],
    ['a b@example.com', 'local part'],
    ['a@b@example.com', 'local part'],
    ['a(comment)@example.com', 'local part'],
    ['<a@example.com>', 'local part'],
    ['Ann <a@example.com>', 'local part'],
    ['@relay.example:a@example.com', 'local part'],
    ['a,b@example.com', 'local part'],
    ['a;b@example.com', 'local part'],
    ['a\\b@example.com', 'local part'],
    ['"a"@example.com', 'quoted'],
    ['"x@evil.example x"@example.com', 'quoted'],
    [' a@example.com', 'local part'],
    ['a@example.com ', 'domain'],
    ['a\u00a0b@example.com', 'local part'],
    ['a\u200bb@example.com', 'local part'],
    ['a\u202eb@example.com', 'local part'],
    ['a@example.com\r\nRCPT TO:<evil@example.com>', 'control'],
    ['a\r\n@example.com', 'control'],
    ['a\u0000@example.com', 'control'],
    ['a\u007f@example.com', 'control'],
    ['a\u0085@example.com', 'control'],
    ['a\ud800@example.com', 'Unicode'],
  ])('includes %j', (text, problem) => {
    const parsed = parseAddress(text)
    expect(parsed.ok).toBe(false)
    if (!parsed.ok) expect(parsed.problem).toContain(problem)
  })
})

describe('any text as an address', () => {
  const near = fc
    .array(fc.constantFrom(...'aZ09@.-_+"<>()[],;:\\ \r\n\0äéß例。①%'), { maxLength: 40 })
    .map((characters) => characters.join(''))
  const texts = fc.oneof(near, fc.string({ unit: 'binary', maxLength: 300 }), fc.emailAddress())

  it('is one safe path in its own wire form when it is accepted', () => {
    fc.assert(
      fc.property(texts, (text) => {
        const parsed = parseAddress(text)
        if (!parsed.ok) return
        const { address, local, domain, needsSmtpUtf8 } = parsed.address
        expect(address).toBe(`${local}@${domain}`)
        expect(address).not.toMatch(/[\p{Cc}\p{Z}<>()[\]\\,;:"]/u)
        expect(local).not.toContain('@')
        expect(domain).toMatch(/^[a-z\d-]+(\.[a-z\d-]+)+$/)
        expect(Buffer.byteLength(address)).toBeLessThanOrEqual(254)
        expect(needsSmtpUtf8).toBe(Buffer.byteLength(local) !== local.length)
        expect(wireOf(address)).toBe(address)
        expect(wireOf(`${local}@${domain.toUpperCase()}`)).toBe(address)
      }),
      { numRuns: 2_000 },
    )
  })
})

describe('a display name', () => {
  it('may be anything that fits on one line', () => {
    for (const text of ['', 'Ann', 'Zoë "x" <y@z>', '👩‍👩‍👧', 'שלום\u200f'])
      expect(checkDisplayName(text)).toBeUndefined()
  })

  it.each(['a\r\nBcc: x@example.com', 'a\nb', 'a\rb', 'a\u0000', 'a\tb', 'a\u2028b', 'a\u0085b'])(
    'may have no line break or control character: %j',
    (text) => {
      expect(checkHeaderText(text)).toBe('contains control characters')
    },
  )

  it('is made well-formed, and bounded in length', () => {
    expect(checkHeaderText('\udc00')).toBe('is not well-formed Unicode')
    expect(checkDisplayName('x'.repeat(257))).toContain('256')
  })
})
