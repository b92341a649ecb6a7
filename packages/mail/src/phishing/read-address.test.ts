import { expect, it } from 'vitest'
import { readAddress } from './read-address.ts'

it.each([
  ['https://Example.COM/a', 'example.com'],
  ['https://example.com./a', 'example.com'],
  ['//example.com/a', 'example.com'],
  ['www.example.com/a', 'www.example.com'],
  ['https:\\\\example.com\\a', 'example.com'],
  ['https:/example.com/a', 'example.com'],
  ['ht\ntps://exa\tmple.com/a', 'example.com'],
  ['\u200bhttps://example.com', 'example.com'],
  ['https://b%C3%BCcher.example/', 'xn--bcher-kva.example'],
  ['https://e%78ample.com/', 'example.com'],
  ['ftp://example.com/', 'example.com'],
])('reads %j as a link to %s', (text, host) => {
  expect(readAddress(text)).toMatchObject({ kind: 'web', host, isNumeric: false, user: '' })
})

it.each([
  ['http://203.0.113.7/', '203.0.113.7', false],
  ['http://[2001:db8::1]/', '[2001:db8::1]', false],
  ['http://3405803783/', '203.0.113.7', true],
  ['http://0xcb007107/', '203.0.113.7', true],
  ['http://0313.0.0161.07/', '203.0.113.7', true],
  ['http://203.28935/', '203.0.113.7', true],
  ['http://２０３.0.113.7/', '203.0.113.7', true],
])('reads %s as the address %s (disguised: %s)', (text, host, isDisguised) => {
  expect(readAddress(text)).toMatchObject({ kind: 'web', host, isNumeric: true, isDisguised })
})

it.each([
  ['mailto:a@example.com', 'none'],
  ['tel:+49', 'none'],
  ['#top', 'none'],
  ['/a', 'none'],
  ['', 'none'],
  ['http://', 'none'],
  ['cid:a', 'none'],
  ['javascript:void(0)', 'none'],
  ['javascript:;', 'none'],
  ['javascript:', 'none'],
  ['javascript:alert(1)', 'script'],
  ['java\nscript:alert(1)', 'script'],
  ['\u0001javascript:alert(1)', 'script'],
  ['vbscript:x', 'script'],
  ['file:///c:/x', 'file'],
  ['data:text/html,x', 'data'],
  ['DATA:application/xhtml+xml,x', 'data'],
  ['data:image/png;base64,AA==', 'none'],
  [`https://example.com/${'a'.repeat(20_000)}`, 'overlong'],
  [`data:image/png;base64,${'A'.repeat(20_000)}`, 'none'],
])('reads %j as %s', (text, kind) => {
  expect(readAddress(text).kind).toBe(kind)
})

it('resolves a relative address against the document', () => {
  expect(readAddress('/a', 'https://base.example/x')).toMatchObject({ host: 'base.example' })
  expect(readAddress('/a', 'no base').kind).toBe('none')
})

it.each([
  ['https://a.example/?u=https://b.example/x&y=1', ['https://b.example/x']],
  ['https://a.example/?u=https%3A%2F%2Fb.example%2Fx', ['https://b.example/x']],
  ['https://a.example/https://b.example/x', ['https://b.example/x']],
  ['https://a.example/#https://b.example', ['https://b.example']],
  ['https://a.example/?u=%E0%A4%A&v=https%3A%2F%2Fb.example', ['https://b.example']],
  ['https://a.example/path?q=1', []],
])('finds in %s the inner address %j', (text, inner) => {
  expect(readAddress(text)).toMatchObject({ inner })
})

it('decodes the text before an at sign', () => {
  expect(readAddress('https://a.example%2Fx:p@b.example/')).toMatchObject({
    host: 'b.example',
    user: 'a.example/x:p',
  })
})
