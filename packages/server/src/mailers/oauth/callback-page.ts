/** The page that ends a login without a way back. */
import { escapeHtml, PAGE_STYLE, pageHeaders } from '../../platform/http/page.ts'
import type { CallbackAnswer } from './finish-login.ts'

/** The address of this page holds a code: it goes to nobody. */
export const PAGE_HEADERS = pageHeaders({ formAction: "'none'" })

export function callbackPage({ isSuccess, message }: CallbackAnswer): string {
  const title = isSuccess ? 'Connected' : 'Not connected'
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${title}</title><style>${PAGE_STYLE}</style></head>
<body><h1>${title}</h1><p>${escapeHtml(message)}</p></body>
</html>
`
}
