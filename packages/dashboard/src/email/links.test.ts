import { expect, it } from 'vitest'
import { findLinks, linkOf } from './links.ts'

const found = (html: string) => findLinks(html).map(({ href, text }) => [href, text])

it('finds links with the text that shows them', () => {
  const html = `<p>Hi <A class=x HREF='https://a.example/?b=1&amp;c=2'>your <b>order</b>
    &amp; more</A>, <a href=https://b.example/x>b</a><map><area href="https://c.example/"></map></p>`
  expect(found(html)).toEqual([
    ['https://a.example/?b=1&c=2', 'your order & more'],
    ['https://b.example/x', 'b'],
    ['https://c.example/', ''],
  ])
})

it('shows the words of a picture in place of its text', () => {
  expect(found('<a href="https://a.example"><img src="x.png" alt="Our shop"></a>')).toEqual([
    ['https://a.example', 'Our shop'],
  ])
})

it('finds no links in comments, styles, scripts and names of attributes', () => {
  const html = `<!-- <a href="https://a.example">a</a> --><style><a href="https://b.example"></style>
    <script>'<a href="https://c.example">'</script><a name="x" data-href="https://d.example">d</a>`
  expect(found(html)).toEqual([])
})

it('ends a tag behind the brackets that are quoted', () => {
  expect(found('<a title="a > b" href="https://a.example">x</a>')).toEqual([
    ['https://a.example', 'x'],
  ])
})

it('reads what is broken to its end, and no further', () => {
  expect(found('<a href="https://a.example">never closed')).toEqual([['https://a.example', '']])
  expect(found('<a href="https://a.example>lost</a>')).toEqual([])
  expect(found('<a href="https://a.example"><a href="https://b.example">b</a>')).toEqual([
    ['https://a.example', ''],
    ['https://b.example', 'b'],
  ])
  expect(found('&#0; <a href="&#x6a;avascript:x&#99999999;">x</a>')).toEqual([
    ['javascript:x&#99999999;', 'x'],
  ])
})

it('stops at a thousand links', () => {
  expect(findLinks('<a href="https://a.example">a</a>'.repeat(1_200))).toHaveLength(1_000)
})

it('takes time that grows with the length alone', () => {
  for (const part of ['<a ', '<!--', '<a href="', '<style>', '<', '&#'])
    expect(findLinks(part.repeat(300_000)).length).toBeLessThanOrEqual(1_000)
})

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
