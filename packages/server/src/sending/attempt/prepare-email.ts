/** The message of an email, made ready for all its recipients and attempts. */
import {
  type ChangedPart,
  type CopyParts,
  fileOfRaw,
  type PreparedMessage,
  prepareMessage,
  prepareRaw,
  textOfHtml,
} from '@postrider/mail'
import { isDomainMailer } from '../../mailers/index.ts'
import type { Attachment, EmailContent } from '../record/email.ts'
import { markEmail } from '../tracking/mark-email.ts'
import type { TrackingUrls } from '../tracking/tracking-urls.ts'
import { prepareRelayMail, type ReadyForRelay } from './prepare-relay-mail.ts'
import { type ScanOnce, scanOnce } from './scan-once.ts'

export type ReadyEmail = ReadyForSmtp | ReadyForRelay
export type PreparedEmail = ReadyEmail | BrokenEmail

export interface ReadyForSmtp {
  readonly kind: 'smtp'
  readonly message: PreparedMessage
  /** A header with such an address makes the message itself one for SMTPUTF8 (RFC 6531 §3.2). */
  readonly showsUtf8Address: boolean
  readonly toScan: ScanOnce
  /** What a recipient's copy has of its own; absent when that is the Message-ID alone. */
  readonly ownOf?: (n: number) => CopyParts
}

export interface EmailFacts {
  readonly tenantId: string
  readonly refId: string
  /** Of the mailer whose attempts it is made ready for. */
  readonly mailerId: string
  readonly createdAt: Date
  readonly campaignId: string | null
  /** That it came with. */
  readonly messageId?: string | null
  /** The number of the recipient's rendering, where it has one. */
  readonly rendering?: number | undefined
}

/** There is nothing to send, and there never will be. */
export interface BrokenEmail {
  readonly templateProblem: string
}

export async function prepareEmail(
  urls: TrackingUrls,
  email: EmailFacts,
  content: EmailContent,
): Promise<PreparedEmail> {
  const { templateProblem } = content
  if (templateProblem !== undefined) return { templateProblem }
  if (isDomainMailer(email.mailerId)) {
    const { rawBytes: handedIn } = content
    if (handedIn === undefined) return prepareRelayMail(urls, email, content, textOf)
    // A provider builds the message itself, of its parts.
    const parts = { ...content, attachments: await filesOf(handedIn, content) }
    return { ...prepareRelayMail(urls, email, parts, textOf), toScan: scanOnce(content) }
  }
  const { tenantId, refId, createdAt } = email
  const shown = [content.from, ...content.to, ...content.cc, content.replyTo]
  const marked = markEmail(urls, { tenantId, refId }, content)
  const { raw, rawBytes } = content
  if (raw !== undefined && rawBytes !== undefined)
    return {
      kind: 'smtp',
      message: await prepareRaw({
        ...raw,
        raw: rawBytes,
        id: refId,
        placeholders: marked?.placeholders,
        changed: changedParts(content, marked),
      }),
      ...(marked && { ownOf: marked.ownOf }),
      showsUtf8Address: raw.hasUtf8Header,
      toScan: scanOnce(content),
    }
  return {
    kind: 'smtp',
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

/** Of a message that was handed in. */
async function filesOf(handedIn: Buffer, { attachments }: EmailContent): Promise<Attachment[]> {
  const files: Attachment[] = []
  for (const { place, filename, ...rest } of attachments)
    files.push({
      ...rest,
      filename: filename === '' ? 'attachment' : filename,
      content: place === undefined ? rest.content : await fileOfRaw(handedIn, place),
    })
  return files
}

/** Of a message that was handed in: those that tracking writes into, and only where it does. */
function changedParts(
  { raw, text, html }: EmailContent,
  marked: { readonly text: string; readonly html?: string } | undefined,
): ChangedPart[] {
  if (marked === undefined) return []
  const { textPlace, htmlPlace } = raw ?? {}
  const changed: ChangedPart[] = []
  if (htmlPlace !== undefined && marked.html !== undefined && marked.html !== html)
    changed.push({ type: 'text/html', place: htmlPlace, text: marked.html })
  if (textPlace !== undefined && text !== undefined && marked.text !== text)
    changed.push({ type: 'text/plain', place: textPlace, text: marked.text })
  return changed
}

/** HTML alone gets the text that it holds; beside HTML, an empty text says that none is wanted. */
export function textOf({ text, html }: Pick<EmailContent, 'text' | 'html'>): string | undefined {
  if (html === undefined) return text
  const beside = text ?? textOfHtml(html)
  return beside === '' ? undefined : beside
}

/** Of an address in wire form. */
export function needsSmtpUtf8(address: string): boolean {
  return !/^\p{ASCII}*$/u.test(address)
}

/** What one made ready may be kept under: for a relay it is not what it is for a mail server. */
export function preparedAs({
  refId,
  mailerId,
  rendering,
}: Pick<EmailFacts, 'refId' | 'mailerId' | 'rendering'>): string {
  const of = rendering === undefined ? refId : `${refId} ${rendering}`
  return isDomainMailer(mailerId) ? `${of} relay` : of
}
