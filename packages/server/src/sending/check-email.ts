/**
 * What the schema of sendEmail cannot say: addresses, repetitions, header names, base64, sums over
 * several fields, durations. Every problem is named by its path; what is checked comes out in the
 * form in which it is stored.
 */
import {
  attachmentBytesMax,
  customArgsBytesMax,
  customArgsDepthMax,
  type EmailAddressInput,
  type EmailAttachment,
  emailHeadersBytesMax,
  type FieldError,
  recipientsMax,
  recipientTypes,
  type SendEmailBody,
} from '@postrider/contract'
import { checkDisplayName, checkHeader, checkHeaderText, parseAddress } from '../mail/index.ts'
import { parseDuration } from '../platform/duration.ts'
import { ApiError, validationError } from '../platform/errors.ts'
import type { Attachment, Mailbox, NewEmail, Recipient } from './email.ts'

export interface SendDefaults {
  readonly maxAttempts: number
  readonly expiresInMs: number
}

const EXPIRES_IN_MS_MAX = 30 * 24 * 3_600_000
const MEDIA_TYPE = /^[\w!#$&^.+-]{1,100}\/[\w!#$&^.+-]{1,100}$/
const CONTENT_ID = /^[\x21-\x7e]{1,255}$/
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/

export function checkEmail(body: SendEmailBody, defaults: SendDefaults): NewEmail {
  const errors: FieldError[] = []
  const refuse = (path: string, message: string): void => {
    errors.push({ path, message })
  }
  refuseUnavailable(body, refuse)
  const from = toMailbox(body.from, '/from', refuse)
  const recipients = toRecipients(body, refuse)
  const replyTo = body.replyTo && toMailbox(body.replyTo, '/replyTo', refuse)
  const subjectProblem = checkHeaderText(body.subject)
  if (subjectProblem !== undefined) refuse('/subject', subjectProblem)
  const headers = Object.entries(body.headers ?? {})
  checkHeaders(headers, refuse)
  const attachments = toAttachments(body.attachments ?? [], refuse)
  checkCustomArgs(body, refuse)
  const expiresInMs = expiryOf(body, defaults, refuse)
  const html = contentOf(body, 'text/html', refuse)
  const text = contentOf(body, 'text/plain', refuse)
  if (errors.length > 0) throw validationError(...errors)
  refuseRepeated(recipients)

  const visible = (type: 'to' | 'cc') =>
    (body[type] ?? []).map((given) => toMailbox(given, '', refuse))
  return {
    content: {
      from,
      to: visible('to'),
      cc: visible('cc'),
      ...(replyTo === undefined ? {} : { replyTo }),
      subject: body.subject,
      ...(text === undefined ? {} : { text }),
      ...(html === undefined ? {} : { html }),
      headers,
      attachments,
    },
    recipients: recipients.map(({ recipient }) => recipient),
    customArgs: body.custom_args ?? null,
    ...(body.campaign_id === undefined ? {} : { campaignId: body.campaign_id }),
    ...(body.mailer_id === undefined ? {} : { mailerId: body.mailer_id }),
    maxAttempts: body.settings?.max_attempts ?? defaults.maxAttempts,
    expiresInMs,
  }
}

type Refuse = (path: string, message: string) => void

/** Named by path rather than ignored: a mail that leaves without what was asked for is a loss. */
function refuseUnavailable(body: SendEmailBody, refuse: Refuse): void {
  const message = 'is not available in this version'
  if (body.template_data !== undefined) refuse('/template_data', message)
  if (body.send_at !== undefined) refuse('/send_at', message)
  for (const key of ['open_tracking', 'click_tracking', 'unsubscribe'] as const)
    if (body.settings?.[key] === true) refuse(`/settings/${key}`, message)
}

function toMailbox(given: EmailAddressInput, path: string, refuse: Refuse): Mailbox {
  const parsed = parseAddress(given.email)
  if (!parsed.ok) refuse(`${path}/email`, parsed.problem)
  const problem = given.name === undefined ? undefined : checkDisplayName(given.name)
  if (problem !== undefined) refuse(`${path}/name`, problem)
  return {
    address: parsed.ok ? parsed.address.address : given.email,
    ...(given.name === undefined || given.name === '' ? {} : { name: given.name }),
  }
}

interface LocatedRecipient {
  readonly recipient: Recipient
  readonly path: string
}

function toRecipients(body: SendEmailBody, refuse: Refuse): LocatedRecipient[] {
  const located: LocatedRecipient[] = []
  for (const type of recipientTypes) {
    for (const [i, given] of (body[type] ?? []).entries()) {
      const path = `/${type}/${i}`
      const parsed = parseAddress(given.email)
      if (!parsed.ok) refuse(`${path}/email`, parsed.problem)
      const problem = given.name === undefined ? undefined : checkDisplayName(given.name)
      if (problem !== undefined) refuse(`${path}/name`, problem)
      if (!parsed.ok) continue
      const { address, needsSmtpUtf8 } = parsed.address
      located.push({ path, recipient: { email: given.email, address, needsSmtpUtf8, type } })
    }
  }
  if (located.length > recipientsMax)
    refuse('/to', `there must be at most ${recipientsMax} recipients in to, cc and bcc together`)
  return located
}

/** Contract §5: one address occurs once, compared without case. */
function refuseRepeated(recipients: readonly LocatedRecipient[]): void {
  const seen = new Set<string>()
  const errors: FieldError[] = []
  for (const { recipient, path } of recipients) {
    const key = recipient.address.toLowerCase()
    if (seen.has(key)) errors.push({ path: `${path}/email`, message: 'is given twice' })
    seen.add(key)
  }
  if (errors.length > 0) throw new ApiError('duplicate_recipient', { errors })
}

function checkHeaders(headers: readonly (readonly [string, string])[], refuse: Refuse): void {
  const seen = new Set<string>()
  let bytes = 0
  for (const [name, value] of headers) {
    const path = `/headers/${name.slice(0, 100).replaceAll('~', '~0').replaceAll('/', '~1')}`
    const problem = checkHeader(name, value)
    if (problem !== undefined) refuse(path, problem)
    if (seen.has(name.toLowerCase())) refuse(path, 'is given twice')
    seen.add(name.toLowerCase())
    bytes += Buffer.byteLength(name) + Buffer.byteLength(value) + 4
  }
  if (bytes > emailHeadersBytesMax)
    refuse('/headers', `must be at most ${emailHeadersBytesMax} bytes together`)
}

function toAttachments(given: readonly EmailAttachment[], refuse: Refuse): Attachment[] {
  let bytes = 0
  const attachments = given.map((attachment, i) => {
    const path = `/attachments/${i}`
    const content = attachment.content.replaceAll(/[\r\n]/g, '')
    if (content.length % 4 !== 0 || !BASE64.test(content))
      refuse(`${path}/content`, 'must be base64')
    bytes += Math.floor((content.length * 3) / 4)
    const { filename, type, disposition, content_id: contentId } = attachment
    const problem = checkHeaderText(filename)
    if (problem !== undefined) refuse(`${path}/filename`, problem)
    if (type !== undefined && !MEDIA_TYPE.test(type))
      refuse(`${path}/type`, 'must be a media type such as application/pdf')
    if (contentId !== undefined && (!CONTENT_ID.test(contentId) || /[<>]/.test(contentId)))
      refuse(`${path}/content_id`, 'must be visible ASCII without angle brackets')
    return {
      filename,
      content,
      ...(type === undefined ? {} : { type }),
      ...(disposition === undefined ? {} : { disposition }),
      ...(contentId === undefined ? {} : { contentId }),
    }
  })
  if (bytes > attachmentBytesMax)
    refuse('/attachments', `must be at most ${attachmentBytesMax} bytes together, decoded`)
  return attachments
}

function checkCustomArgs(body: SendEmailBody, refuse: Refuse): void {
  if (body.custom_args === undefined) return
  if (Buffer.byteLength(JSON.stringify(body.custom_args)) > customArgsBytesMax)
    refuse('/custom_args', `must be at most ${customArgsBytesMax} bytes as JSON`)
  if (depthOf(body.custom_args) > customArgsDepthMax)
    refuse('/custom_args', `must be at most ${customArgsDepthMax} levels deep`)
}

function depthOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  return 1 + Math.max(0, ...Object.values(value).map(depthOf))
}

function expiryOf(body: SendEmailBody, defaults: SendDefaults, refuse: Refuse): number {
  const given = body.settings?.expires_in
  if (given === undefined) return defaults.expiresInMs
  const ms = parseDuration(given)
  if (ms !== undefined && ms >= 1000 && ms <= EXPIRES_IN_MS_MAX) return ms
  refuse('/settings/expires_in', 'must be a duration from 1s to 30d, such as 6h')
  return defaults.expiresInMs
}

function contentOf(
  body: SendEmailBody,
  type: 'text/html' | 'text/plain',
  refuse: Refuse,
): string | undefined {
  const found = body.content.findIndex((part) => part.type === type)
  const repeated = body.content.findLastIndex((part) => part.type === type)
  if (repeated !== found) refuse(`/content/${repeated}/type`, `${type} is given twice`)
  return body.content[found]?.value
}
