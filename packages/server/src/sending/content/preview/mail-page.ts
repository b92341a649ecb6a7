/** A page that shows mail, and runs and loads nothing (docs/reference/sending.md#preview). */
import { setImmediate } from 'node:timers/promises'
import { escapeHtml } from '../../../platform/http/page.ts'

export const previewHeaders = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy':
    "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'self'",
  'x-content-type-options': 'nosniff',
  'x-dns-prefetch-control': 'off',
  'x-frame-options': 'SAMEORIGIN',
  'referrer-policy': 'no-referrer',
  'cache-control': 'private, no-store',
} as const

/** Hostile HTML of so many characters takes 10 ms. */
const SLICE = 128 * 1024
const END_OF_NAME = '(?=[\\t\\n\\f\\r />])'
const EMPTY = new RegExp(`</?(?:base|embed|frame|link|meta)${END_OF_NAME}`, 'gi')
const WITH_CONTENT = new RegExp(
  `<(/?)(applet|fencedframe|frameset|iframe|object|portal)${END_OF_NAME}`,
  'gi',
)

/**
 * The HTML without what a browser connects for before the policy refuses it, such as `link rel=preconnect`. What
 * stands within `object` and the like, to be shown in their place, is shown. `bgsound` does nothing, and has no
 * content either.
 *
 * Names are changed wherever they stand, in text and comments, too: a tag has no other form, so nothing depends on
 * reading HTML as a browser does. Others have their turn between slices.
 */
export async function pageOfHtml(html: string): Promise<string> {
  let page = ''
  for (let start = 0, end = 0; start < html.length; start = end) {
    if (start > 0) await setImmediate()
    end = endOfSlice(html, start)
    page += html.slice(start, end).replace(EMPTY, '<bgsound').replace(WITH_CONTENT, '<$1x-$2')
  }
  return page
}

/** No name stands in two of them: the next one begins with `<`, or none is near. */
function endOfSlice(html: string, start: number): number {
  const end = start + SLICE
  if (end >= html.length) return html.length
  const tag = html.lastIndexOf('<', end)
  return tag > start ? tag : end
}

/** Of mail without HTML. */
export function pageOfText(text: string): string {
  return `<!doctype html><pre style="white-space:pre-wrap">${escapeHtml(text)}</pre>`
}
