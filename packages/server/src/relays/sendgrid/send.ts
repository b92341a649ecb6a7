/**
 * One copy as a request of SendGrid's v3 Mail Send: one personalization with its one recipient.
 *
 * SendGrid writes To itself, from whom it sends to, and refuses to be given To or Cc: a copy shows
 * its own recipient only, not the others of the email. A sender who needs the others shown uses a
 * provider or a mail server that can.
 *
 * It changes nothing in the mail: links and pixels are ours, and so is List-Unsubscribe.
 */
import { dispositionOf, encodeHeaderText, mediaTypeOf } from '@postrider/mail'
import { mailRefName, writeMailRef } from '../callbacks/mail-ref.ts'
import { idLengthMax, storable } from '../callbacks/report-fields.ts'
import { headerOf, isUnanswered, refusedUnasked, uncertain } from '../failure.ts'
import type {
  RelayAccount,
  RelayAnswer,
  RelayFailure,
  RelayMail,
  RelayMailbox,
  RelayRequest,
  RelaySendOutcome,
} from '../relay.ts'
import { readFailure } from './read-failure.ts'

/** Those that it refuses the whole mail for. It writes some of them, others are its marks. */
const RESERVED: ReadonlySet<string> = new Set([
  'x-sg-id',
  'x-sg-eid',
  'received',
  'dkim-signature',
  'content-type',
  'content-transfer-encoding',
  'to',
  'from',
  'subject',
  'reply-to',
  'cc',
  'bcc',
])

/** Every text has at least one character. */
const EMPTY = ' '

const TRACKING_OFF = {
  click_tracking: { enable: false, enable_text: false },
  open_tracking: { enable: false },
  subscription_tracking: { enable: false },
  ganalytics: { enable: false },
}

/** "The total message size is limited to 30MB": files count as they are written. */
const MESSAGE_OCTETS_MAX = 30 * 1024 * 1024

/**
 * Of what is too large SendGrid ends the connection while it is still being sent: a retry would only
 * send it again.
 */
export function refuseMail({
  text = '',
  html = '',
  attachments,
}: RelayMail): RelayFailure | undefined {
  const files = attachments.reduce((sum, { content }) => sum + content.length, 0)
  if (attachments.some(({ content }) => content === ''))
    return refusedUnasked('content_rejected', 'An attachment is empty; SendGrid takes none')
  const octets = Buffer.byteLength(text) + Buffer.byteLength(html) + files
  if (octets <= MESSAGE_OCTETS_MAX) return undefined
  const words = `Bodies and attachments have ${octets} bytes; SendGrid takes ${MESSAGE_OCTETS_MAX}`
  return refusedUnasked('message_too_large', words)
}

export function sendRequest(account: RelayAccount, mail: RelayMail): RelayRequest {
  const headers = headersOf(mail)
  const { replyTo, campaignId } = mail
  return {
    method: 'POST',
    path: '/v3/mail/send',
    headers: authorizationOf(account),
    body: {
      personalizations: [
        { to: [mailboxOf(mail.to)], custom_args: { [mailRefName]: writeMailRef(mail) } },
      ],
      from: mailboxOf(mail.from),
      ...(replyTo === undefined ? {} : { reply_to: mailboxOf(replyTo) }),
      subject: mail.subject || EMPTY,
      content: contentOf(mail),
      ...(mail.attachments.length === 0 ? {} : { attachments: attachmentsOf(mail) }),
      ...(Object.keys(headers).length === 0 ? {} : { headers }),
      ...(isCategory(campaignId) ? { categories: [campaignId] } : {}),
      tracking_settings: TRACKING_OFF,
    },
  }
}

/** Others than ASCII make it refuse the mail. */
function isCategory(campaignId: string | undefined): campaignId is string {
  return campaignId !== undefined && /^[\x20-\x7e]{1,255}$/.test(campaignId)
}

/** Its id begins what every report of the copy has as `sg_message_id`. */
export function readSent(answer: RelayAnswer): RelaySendOutcome {
  if (isUnanswered(answer)) return { kind: 'failed', failure: uncertain(answer) }
  if (answer.status !== 202) return { kind: 'failed', failure: readFailure(answer) }
  const id = headerOf(answer, 'x-message-id') ?? ''
  return { kind: 'accepted', providerMessageId: storable(id, idLengthMax) }
}

export function authorizationOf({ apiKey }: RelayAccount): Readonly<Record<string, string>> {
  return { authorization: `Bearer ${apiKey}`, accept: 'application/json' }
}

function mailboxOf({ address, name }: RelayMailbox): { email: string; name?: string } {
  return name === undefined ? { email: address } : { email: address, name }
}

/** In this order, or it is refused. */
function contentOf({ text, html, attachments }: RelayMail): { type: string; value: string }[] {
  const content = [
    ...(text ? [{ type: 'text/plain', value: text }] : []),
    ...(html ? [{ type: 'text/html', value: withTakenIds(html, attachments) }] : []),
  ]
  if (content.length > 0) return content
  return [{ type: html === undefined ? 'text/plain' : 'text/html', value: EMPTY }]
}

/** In names of files and in content ids these make it refuse the mail. */
function taken(name: string): string {
  return name.replaceAll(/[;,\r\n]/g, '_')
}

/** Pictures are shown under the content id that they are sent with. */
function withTakenIds(html: string, attachments: RelayMail['attachments']): string {
  return attachments.reduce(
    (body, { contentId = '' }) =>
      contentId === taken(contentId)
        ? body
        : body.replaceAll(`cid:${contentId}`, () => `cid:${taken(contentId)}`),
    html,
  )
}

function attachmentsOf({ attachments, html }: RelayMail): object[] {
  return attachments.map((attachment) => ({
    content: attachment.content,
    filename: taken(attachment.filename),
    // Parameters are refused.
    type: mediaTypeOf(attachment).replace(/\s*;.*$/, ''),
    disposition: dispositionOf(attachment, html),
    ...(attachment.contentId === undefined ? {} : { content_id: taken(attachment.contentId) }),
  }))
}

/** It sends values as they are given: what is not ASCII is to be encoded before. */
function headersOf({ headers }: RelayMail): Record<string, string> {
  return Object.fromEntries(
    headers
      .filter(([name]) => !RESERVED.has(name.toLowerCase()))
      .map(([name, value]) => [name, encodeHeaderText(value)]),
  )
}
