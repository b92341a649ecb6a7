import { expect, it } from 'vitest'
import { linkOf } from './links.ts'

it.each([
  ['https://evil.example/login', 'www.bank.example', true],
  ['https://evil.example/login', 'https://bank.example/login', true],
  ['http://192.0.2.7/x', 'bank.example', true],
  ['https://www.bank.example/login', 'bank.example', false],
  ['https://bank.example/a', 'https://bank.example/b?c', false],
  ['https://bank.example/a', 'Follow your parcel', false],
  ['mailto:help@bank.example', 'help@other.example', false],
  ['https://bank.example/', 'version 1.2', false],
  ['%unsubscribe_url%', 'bank.example', false],
])('judges a link to %s that shows %s', (href, text, lies) => {
  expect(linkOf(href, text)).toEqual({ href, text, lies })
})
