import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { ScannedContent } from './content.ts'
import { createKnownHosts } from './known-hosts.ts'
import { LINKS_MAX } from './read-html.ts'
import { scanContent } from './scan-content.ts'

const FROM = { address: 'news@acme.example' }

function scan(html: string, o: Partial<ScannedContent> = {}) {
  const result = scanContent(createKnownHosts(), { from: FROM, subject: '', html: [html], ...o })
  if (result.kind !== 'scanned') throw new Error(result.kind)
  return result.scan
}
const kindsOf = (html: string, o?: Partial<ScannedContent>) =>
  scan(html, o).signs.map(({ kind }) => kind)

describe('any content', () => {
  const pieces = fc.constantFrom(
    '<a href="', '">', '</a>', '<', '>', '"', '&#x', '&amp;', 'http://', 'https://', '@', '.', '/',
    'paypal.com', 'xn--', 'а', '%', '%00', '\u0000', '\ud800', '<!--[if x]>', '<![endif]-->', '-->',
    '<input type=password>', '<form action=', '<base href=', '<meta http-equiv=refresh content="0;url=',
    'javascript:', 'data:text/html,', '0x7f.1', '[::1]', '\\', ' ', '\n', '<script>', '</script>', 'www.',
  ) // biome-ignore format: a list
  const hostile = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 300 }),
    fc
      .array(fc.oneof(pieces, fc.string({ maxLength: 5 })), { maxLength: 60 })
      .map((all) => all.join('')),
  )

  it('is scanned without an exception, with reasons of one line in ASCII', () => {
    fc.assert(
      fc.property(hostile, hostile, hostile, hostile, (html, text, name, address) => {
        const content = { from: { address, name }, subject: text, text, html: [html, text] }
        const result = scanContent(createKnownHosts(), content)
        if (result.kind !== 'scanned') return false
        return result.scan.signs.every(({ reason }) => /^[\x20-\x7e]{1,400}$/.test(reason))
      }),
      { numRuns: 2_000 },
    )
  })

  it('has the same result each time', () => {
    const known = createKnownHosts()
    fc.assert(
      fc.property(hostile, (html) => {
        const content = { from: FROM, subject: '', html: [html] }
        expect(scanContent(known, content)).toEqual(scanContent(createKnownHosts(), content))
      }),
    )
  })
})

describe('content without a sign', () => {
  it.each([
    [
      'its own address over a tracked link',
      '<a href="https://click.acme.example/x">https://www.acme.example/sale</a>',
    ],
    ['a brand over its own link', '<a href="https://paypal.me/x">https://www.paypal.com/x</a>'],
    [
      'a social site over the sender’s tracker',
      '<a href="https://go.acme.example/x">facebook.com/acme</a>',
    ],
    [
      'any site over a well-known tracker',
      '<a href="https://u1.ct.sendgrid.net/x">https://www.other.test/</a>',
    ],
    ['a brand’s name in text', 'Pay with PayPal, Visa or at your bank.'],
    ['a picture from elsewhere', '<img src="http://203.0.113.7/a.png">'],
    ['a form to oneself', '<form action="https://acme.example/f"><input name=q></form>'],
    [
      'what stands in a style sheet or a comment',
      '<style>a{background:url(http://0x7f.1/)}</style><!-- http://0x7f.1/ -->',
    ],
    ['an address of a mailbox', '<a href="mailto:help@paypal.com">help@paypal.com</a>'],
  ])('includes %s', (_, html) => {
    expect(kindsOf(html)).toEqual([])
  })

  it('includes any text of a link over the tracker of the whole mail', () => {
    const link = (text: string) => `<a href="https://t.tracker.test/${text.length}">${text}</a>`
    const other = link('https://www.other.test/')
    expect(kindsOf(other)).toEqual(['link_elsewhere'])
    expect(kindsOf(other + link('https://acme.example/a'))).toEqual([])
    expect(kindsOf(other + ['a', 'b', 'c', 'd'].map(link).join(''))).toEqual([])
  })
})

it('counts a sign once with its highest weight, the heaviest first', () => {
  const html =
    '<a href="https://paypal-shop.test">x</a><a href="http://0x7f.1">x</a><a href="http://0x7f.2">x</a>'
  expect(scan(html).signs.map(({ kind, weight }) => [kind, weight])).toEqual([
    ['disguised_address', 65],
    ['brand_in_host', 20],
  ])
})

it('names every host once, in A-labels', () => {
  const html = `<a href="https://a.test/?u=https://b.test">c.com</a><img src="//D.test/x"><form action="https://e.test">
    <a href="https://bücher.test">x</a> see f.com/x and https://a.test`
  const { hosts } = scan(html, { text: 'g.org', subject: 'h.net' })
  expect([...hosts].sort()).toEqual(
    ['a.test', 'acme.example', 'b.test', 'c.com', 'd.test', 'e.test', 'f.com', 'g.org', 'h.net', 'xn--bcher-kva.test'], // biome-ignore format: a list
  )
})

it.each([
  ['links', '<a href="/x">', LINKS_MAX + 1],
  ['hosts', (i: number) => `<a href="//h${i}.test">`, 2_001],
  ['hosts in text', (i: number) => `h${i}.com `, 2_001],
])('flags content with more %s than are looked at', (_, piece, count) => {
  const make = typeof piece === 'string' ? () => piece : piece
  const html = Array.from({ length: count }, (__, i) => make(i)).join('')
  const content = { from: FROM, subject: '', html: [html] }
  expect(scanContent(createKnownHosts(), content)).toEqual({ kind: 'too-much' })
})
