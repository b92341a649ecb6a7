/** What pages for people share: no script, nothing from elsewhere, and an address that goes to nobody. */
import { createHash } from 'node:crypto'

export const PAGE_STYLE =
  'body{font:16px/1.5 system-ui,sans-serif;max-width:32em;margin:15vh auto;padding:0 1em}button{font:inherit;padding:.5em 1em}@media(prefers-color-scheme:dark){body{background:#111;color:#eee}}'

/** @param formAction where a form of the page may be sent to, as a source of CSP 3 */
export function pageHeaders(o: {
  readonly formAction: "'none'" | "'self'"
}): Readonly<Record<string, string>> {
  const style = createHash('sha256').update(PAGE_STYLE).digest('base64')
  return {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': `default-src 'none'; style-src 'sha256-${style}'; base-uri 'none'; form-action ${o.formAction}; frame-ancestors 'none'`,
    'referrer-policy': 'no-referrer',
    'x-content-type-options': 'nosniff',
  }
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => ENTITIES[character] ?? '')
}
