/** A page that shows mail, and runs and loads nothing (docs/reference/sending.md#preview). */
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

/** Of mail without HTML. */
export function pageOfText(text: string): string {
  return `<!doctype html><pre style="white-space:pre-wrap">${escapeHtml(text)}</pre>`
}
