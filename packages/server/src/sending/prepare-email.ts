/** The message of an email, made ready for all its recipients and attempts. */
import { type CopyParts, type PreparedMessage, prepareMessage, textOfHtml } from '../mail/index.ts'
import type { EmailContent } from './email.ts'
import { type ScanOnce, scanOnce } from './phishing/scan-once.ts'
import { markEmail } from './tracking/mark-email.ts'
import type { TrackingUrls } from './tracking/tracking-urls.ts'

export type PreparedEmail = ReadyEmail | BrokenEmail

export interface ReadyEmail {
  readonly message: PreparedMessage
  /** A header with such an address makes the message itself one for SMTPUTF8 (RFC 6531 §3.2). */
  readonly showsUtf8Address: boolean
  readonly toScan: ScanOnce
  /** What a recipient's copy has of its own; absent when that is the Message-ID alone. */
  readonly ownOf?: (n: number) => CopyParts
}

type EmailKey = Parameters<typeof markEmail>[1]

/** There is nothing to send, and there never will be. */
export interface BrokenEmail {
  readonly templateProblem: string
}

export async function prepareEmail(
  urls: TrackingUrls,
  { tenantId, refId }: EmailKey,
  createdAt: Date,
  content: EmailContent,
): Promise<PreparedEmail> {
  const { templateProblem } = content
  if (templateProblem !== undefined) return { templateProblem }
  const shown = [content.from, ...content.to, ...content.cc, content.replyTo]
  const marked = markEmail(urls, { tenantId, refId }, content)
  return {
    message: await prepareMessage({
      ...content,
      ...marked,
      text: textOf({ ...content, ...marked }),
      id: refId,
      date: createdAt,
    }),
    ...(marked && { ownOf: marked.ownOf }),
    showsUtf8Address: shown.some((mailbox) => needsSmtpUtf8(mailbox?.address ?? '')),
    toScan: scanOnce(content),
  }
}

/** HTML alone gets the text that it holds; beside HTML, an empty text says that none is wanted. */
function textOf({ text, html }: EmailContent): string | undefined {
  if (html === undefined) return text
  const beside = text ?? textOfHtml(html)
  return beside === '' ? undefined : beside
}

/** Of an address in wire form. */
export function needsSmtpUtf8(address: string): boolean {
  return !/^\p{ASCII}*$/u.test(address)
}
