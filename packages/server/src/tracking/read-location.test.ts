import { expect, it } from 'vitest'
import { locationOf } from './routes.ts'

it.each([
  ['https://example.com/a?b=%20c&d=[1]|"#e', 'https://example.com/a?b=%20c&d=[1]|"#e'],
  ['HTTP://Example.COM', 'HTTP://Example.COM'],
  ['https://example.com/ä b', 'https://example.com/%C3%A4%20b'],
  ['https://bücher.example/', 'https://xn--bcher-kva.example/'],
  [
    'https://Bücher.example:8443/ä?q=ü&b=%20[x]#é',
    'https://xn--bcher-kva.example:8443/%C3%A4?q=%C3%BC&b=%20[x]#%C3%A9',
  ],
  ['https://b%C3%BCcher.example/', 'https://b%C3%BCcher.example/'],
  ['https://example.com/\r\nset-cookie: a=b', 'https://example.com/set-cookie:%20a=b'],
  ['https://example.com/\ud800', 'https://example.com/%EF%BF%BD'],
])('makes of %j the header %j', (url, expected) => {
  expect(locationOf(url)).toBe(expected)
})

it.each([
  'javascript:alert(1)',
  'data:text/html,x',
  '//example.com/',
  'https:///x',
  'mailto:a@b.c',
  '',
])('makes no header of %j', (url) => {
  expect(locationOf(url)).toBeUndefined()
})
