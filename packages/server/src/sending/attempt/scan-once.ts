/**
 * What phishing protection looks at of an email, and what it found once it has looked: all
 * recipients share the content, so an email to a thousand of them is scanned once while its message
 * is kept ready.
 */
import type { ScannedContent, ScanResult } from '@postrider/mail'
import type { Attachment, EmailContent } from '../record/email.ts'

export interface ScanOnce {
  /** Those who want it at once share one scan; one that failed is made again for the next. */
  result(scan: (content: ScannedContent) => Promise<ScanResult>): Promise<ScanResult>
}

export function scanOnce(email: EmailContent): ScanOnce {
  // The result is small, the content need not be.
  let state: ScannedContent | Promise<ScanResult> = toScannedContent(email)
  return {
    result(scan) {
      if (state instanceof Promise) return state
      const content = state
      const result = scan(content)
      state = result
      result.catch(() => {
        state = content
      })
      return result
    },
  }
}

function toScannedContent({
  from,
  subject,
  text,
  html,
  attachments,
}: EmailContent): ScannedContent {
  const pages = attachments.filter(isPage).map(({ content }) => decode(content))
  return {
    from,
    subject,
    ...(text === undefined ? {} : { text }),
    html: html === undefined ? pages : [html, ...pages],
  }
}

/** What opens in a browser is as good as a link. */
function isPage({ filename, type = '' }: Attachment): boolean {
  return /^(?:text\/html|application\/xhtml|image\/svg)/i.test(type) || PAGE_NAME.test(filename)
}

const PAGE_NAME = /\.(?:s?html?|xht(?:ml)?|svg)$/i

function decode(base64: string): string {
  const bytes = Buffer.from(base64, 'base64')
  const isUtf16 = bytes[0] === 0xff && bytes[1] === 0xfe
  return bytes.toString(isUtf16 ? 'utf16le' : 'utf8')
}
