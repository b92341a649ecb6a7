import { expect, it } from 'vitest'
import { findLinkOffsets } from './find-link-offsets.ts'
import { spliceHtml } from './splice-html.ts'

const html = `<a href='https://a.example/'>x</a></body><a href=https://b.example/>y</a>`
const places = findLinkOffsets(html)
const linkOf = (link: number) => `https://t.example/${link}`

it('writes links within their quotes, or without any', () => {
  expect(spliceHtml(html, places, { linkOf })).toBe(
    `<a href='https://t.example/0'>x</a></body><a href=https://t.example/1>y</a>`,
  )
})

it('writes a pixel without size and text', () => {
  expect(spliceHtml(html, places, { pixel: 'https://t.example/o.gif' })).toBe(
    `<a href='https://a.example/'>x</a><img src="https://t.example/o.gif" alt="" width="1" height="1" style="display:block;width:1px;height:1px;margin:-1px 0 0;padding:0;border:0"></body><a href=https://b.example/>y</a>`,
  )
})

it('writes nothing without offsets', () => {
  expect(spliceHtml(html, places, {})).toBe(html)
})
