/**
 * The pages that recipients see: for unsubscribing, and where a link leads nowhere. No script, nothing
 * from elsewhere, readable without style and by a screen reader, in the reader's language.
 */
import { escapeHtml, PAGE_STYLE, pageHeaders } from '../../platform/http/page.ts'
import { fallbackLanguage, type PageTexts, pageTexts } from './page-texts.ts'

export type PageName = keyof PageTexts

/** A form may be sent to where the page came from, and nowhere else. */
export const recipientPageHeaders = {
  ...pageHeaders({ formAction: "'self'" }),
  'x-robots-tag': 'noindex, nofollow',
}

/** RFC 8058 §3.1: what a mail program's POST has in its body, and so has the form's. */
const FIELD = '<input type="hidden" name="List-Unsubscribe" value="One-Click">'

export function recipientPage(name: PageName, acceptLanguage: string | undefined): string {
  const language = chooseLanguage(acceptLanguage)
  const texts = pageTexts[language]?.[name]
  const { title, text } = texts ?? { title: '', text: '' }
  const button = texts !== undefined && 'button' in texts ? String(texts.button) : undefined
  const form =
    button === undefined
      ? ''
      : `<form method="post">${FIELD}<button type="submit">${escapeHtml(button)}</button></form>`
  return `<!doctype html>
<html lang="${language}">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>${escapeHtml(title)}</title><style>${PAGE_STYLE}</style></head>
<body><main><h1>${escapeHtml(title)}</h1><p>${escapeHtml(text)}</p>${form}</main></body>
</html>
`
}

/** So long a header is nobody's. */
const LANGUAGES_MAX = 20

/** Of those that we have, the one that the reader likes best (RFC 9110 §12.5.4). */
export function chooseLanguage(acceptLanguage = ''): string {
  const wanted = acceptLanguage
    .split(',', LANGUAGES_MAX)
    .map((range) => {
      const [, tag = '', quality = '1'] =
        /^([a-z]{1,8})(?:-[a-z0-9-]*)?\s*(?:;\s*q=([01](?:\.\d{0,3})?))?$/i.exec(range.trim()) ?? []
      return { language: tag.toLowerCase(), quality: Number(quality) }
    })
    .filter(({ language, quality }) => Object.hasOwn(pageTexts, language) && quality > 0)
    .sort((a, b) => b.quality - a.quality)
  return wanted[0]?.language ?? fallbackLanguage
}
