import { expect, it } from 'vitest'
import { pageOfHtml } from './mail-page.ts'

it.each([
  ['<link rel=preconnect href="https://a.test">', '<bgsound rel=preconnect href="https://a.test">'],
  ['<LINK\nrel=dns-prefetch href="//a.test">', '<bgsound\nrel=dns-prefetch href="//a.test">'],
  [
    '<meta http-equiv=refresh content="0;url=//a.test">',
    '<bgsound http-equiv=refresh content="0;url=//a.test">',
  ],
  ['<base href="https://a.test/">', '<bgsound href="https://a.test/">'],
  ['<embed/src=x>', '<bgsound/src=x>'],
  ['<iframe src="//a.test"></iframe>', '<x-iframe src="//a.test"></x-iframe>'],
  ['<object data=x><p>Hi</p></object\t>', '<x-object data=x><p>Hi</p></x-object\t>'],
  ['<frameset><frame src=x></frameset>', '<x-frameset><bgsound src=x></x-frameset>'],
  [
    '<svg><title><link rel=preconnect></title></svg>',
    '<svg><title><bgsound rel=preconnect></title></svg>',
  ],
  [
    '<!-- <link > --><style>a{content:"<base >"}</style>',
    '<!-- <bgsound > --><style>a{content:"<bgsound >"}</style>',
  ],
])('changes the name of what loads: %s', async (html, page) => {
  expect(await pageOfHtml(html)).toBe(page)
})

it.each([
  '<p style="color:red">Hi <a href="https://a.test/">a</a></p><img src="cid:1"><br/>',
  '<links><metadata><x-link> &lt;link&gt; < link> <basefont><linkx',
])('leaves all else as it was given: %s', async (html) => {
  expect(await pageOfHtml(html)).toBe(html)
})

it('leaves no name that stands where a slice ends', async () => {
  const one = '<link rel=preconnect href=//a.test>'
  const long = 'x'.repeat(300_000)
  const html = one.repeat(20_000) + long + one.repeat(9_000)
  const page = await pageOfHtml(html)
  expect(page).toBe(html.replaceAll('<link', '<bgsound'))
})
