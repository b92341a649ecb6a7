/**
 * INCOMING_EMAIL in wire form (docs/reference/events.md#incoming-email): the only place where this capability
 * writes its names.
 *
 * What is large is not in the event: attachments beyond what stands inline have a link instead of their
 * content, and of bodies beyond it `problem` says that they are in the raw message alone.
 */
import type { IncomingAttachment, IncomingEmail } from '@postrider/contract'
import { type Authentication, type ParsedMessage, threadIdOf } from '@postrider/mail'
import { formatMicros } from '../../platform/clock.ts'
import { usernameOf } from '../domains/usernames/username.ts'
import type { StoredMessage } from '../messages/message-store.ts'
import { messageUrlOf } from '../messages/message-wire.ts'

type Details = IncomingEmail['details']

export interface ReadMessage {
  readonly parsed: ParsedMessage
  readonly authentication: Authentication
}

export interface DetailsOptions {
  readonly publicUrl: string
  /** Of all attachments. */
  readonly inlineBytesMax: number
  /** Of text and HTML together. */
  readonly bodyBytesMax?: number
}

const BODY_BYTES_MAX = 5 * 1024 * 1024

export function incomingDetails(
  message: StoredMessage,
  { parsed, authentication }: ReadMessage,
  { publicUrl, inlineBytesMax, bodyBytesMax = BODY_BYTES_MAX }: DetailsOptions,
): Details {
  const url = messageUrlOf(publicUrl, message.inboundId)
  const bodies = inlineBodies(parsed, bodyBytesMax)
  const problems = [message.problem, parsed.problem, bodies.problem].filter(
    (one) => one !== undefined && one !== null,
  )
  const { spf, dkim, dmarc, arc } = authentication
  const envelope = message.envelope ?? undefined
  return {
    ...doorOf(message),
    inbound_id: message.inboundId,
    raw_url: `${url}/raw`,
    message_id: parsed.messageId,
    in_reply_to: parsed.inReplyTo,
    references: [...parsed.references],
    thread_id: threadIdOf(parsed, message.serverThread ?? undefined) || message.inboundId,
    from: parsed.from,
    to: [...parsed.to],
    cc: [...parsed.cc],
    reply_to: [...parsed.replyTo],
    subject: parsed.subject,
    text: bodies.text,
    html: bodies.html,
    headers: [...parsed.headers],
    attachments: inlineAttachments(parsed, `${url}/attachments`, inlineBytesMax),
    spf: { ...spf },
    dkim: dkim.map((one) => ({ ...one })),
    dmarc: { ...dmarc },
    arc: { ...arc },
    received_at: formatMicros(message.receivedAtMicros),
    auto_reply: parsed.isAutoReply || parsed.reports.length > 0 || envelope?.from === '',
    ...(message.folder === null ? {} : { folder: message.folder }),
    ...(problems.length === 0 ? {} : { problem: problems.join('; ') }),
    ...(envelope === undefined ? {} : { envelope: { ...envelope, to: [...envelope.to] } }),
  }
}

function doorOf({ mailerId, domain, username, envelope }: StoredMessage) {
  if (mailerId !== null) return { mailer_id: mailerId }
  return { domain: domain ?? '', username: username || localPartOf(envelope?.to[0] ?? '') }
}

/** Of a domain without a route for it: whom it was sent to, without a tag. */
function localPartOf(address: string): string {
  return usernameOf(address.slice(0, Math.max(0, address.lastIndexOf('@')))) ?? ''
}

function inlineBodies({ text, html }: ParsedMessage, bytesMax: number) {
  const [textBytes, htmlBytes] = [Buffer.byteLength(text), Buffer.byteLength(html)]
  if (textBytes + htmlBytes <= bytesMax) return { text, html, problem: undefined }
  // The smaller one says it, too.
  const keeps = textBytes <= htmlBytes ? 'text' : 'html'
  const isKept = Math.min(textBytes, htmlBytes) <= bytesMax
  const left = isKept ? `the ${keeps === 'text' ? 'HTML' : 'text'} is` : 'they are'
  return {
    text: isKept && keeps === 'text' ? text : '',
    html: isKept && keeps === 'html' ? html : '',
    problem: `text and HTML are larger than ${bytesMax} bytes together: ${left} in the raw message alone`,
  }
}

function inlineAttachments(
  { attachments }: ParsedMessage,
  url: string,
  bytesMax: number,
): IncomingAttachment[] {
  let left = bytesMax
  return attachments.map(({ filename, type, size, contentId, content }, n) => {
    const described = { filename, type, size, content_id: contentId }
    if (content.byteLength > left) return { ...described, content: '', url: `${url}/${n}` }
    left -= content.byteLength
    return {
      ...described,
      content: Buffer.from(content.buffer, content.byteOffset, content.byteLength).toString(
        'base64',
      ),
    }
  })
}
