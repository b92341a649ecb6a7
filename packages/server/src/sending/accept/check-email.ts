/**
 * What the schema of sendEmail cannot say: addresses, repetitions, header names, sums over several
 * fields, durations. Every problem is named by its path; what is checked comes out in the form in
 * which it is stored. Attachments are in `check-attachments.ts`.
 */
import {
  contentBytesMax,
  type EmailAddressInput,
  emailHeadersBytesMax,
  type FieldError,
  recipientsMax,
  recipientTypes,
  type SendEmailBody,
  templateDataBytesMax,
  templateLengthMax,
} from '@postrider/contract'
import {
  addressKeyOf,
  checkBodyText,
  checkDisplayName,
  checkHeader,
  checkHeaderText,
  headerBytes,
  parseAddress,
} from '@postrider/mail'
import { ApiError, validationError } from '../../platform/errors.ts'
import { jsonPointer } from '../../platform/http/body/json-body.ts'
import { problemOfCustomArgs } from '../../platform/values/custom-args.ts'
import { parseDateTime } from '../../platform/values/date-time.ts'
import { parseDuration } from '../../platform/values/duration.ts'
import type { Mailbox, NewEmail, Recipient } from '../record/email.ts'
import { checkAttachments, type Refuse } from './check-attachments.ts'

export interface SendDefaults {
  readonly maxAttempts: number
  readonly expiresInMs: number
}

const EXPIRES_IN_MS_MIN = 1_000
const EXPIRES_IN_MS_MAX = 30 * 24 * 3_600_000
const HEADER_NAME_SHOWN = 100

export function checkEmail(body: SendEmailBody, defaults: SendDefaults): NewEmail {
  const errors: FieldError[] = []
  const refuse: Refuse = (path, message) => {
    if (message !== undefined) errors.push({ path, message })
  }
  refuseAbsent(body, refuse)
  const { content: parts = [], template_data: data } = body
  const from = toMailbox(body.from, '/from', refuse)
  const located = locateRecipients(body, refuse)
  const replyTo = body.replyTo && toMailbox(body.replyTo, '/replyTo', refuse)
  const subject = subjectOf(body.subject ?? '', refuse)
  refuse('/campaign_id', checkHeaderText(body.campaign_id ?? ''))
  const headers = Object.entries(body.headers ?? {})
  checkHeaders(headers, refuse)
  if (body.settings?.unsubscribe === true) refuseOwnUnsubscribe(headers, refuse)
  const attachments = checkAttachments(body.attachments ?? [], refuse)
  checkCustomArgs(body, refuse)
  const expiresInMs = expiryOf(body, defaults, refuse)
  const sendAt = sendTimeOf(body, refuse)
  const text = contentOf(parts, 'text/plain', refuse)
  const html = contentOf(parts, 'text/html', refuse)
  checkContentBytes(parts, refuse)
  if (data !== undefined) {
    refuseLongTemplates(parts, refuse)
    refuseLongData(data, '/template_data', refuse)
  }
  if (errors.length > 0) throw validationError(...errors)
  refuseRepeated(located)

  const visible = (type: 'to' | 'cc') =>
    located.flatMap(({ recipient, mailbox }) => (recipient.type === type ? [mailbox] : []))
  return {
    content: {
      from,
      to: visible('to'),
      cc: visible('cc'),
      ...(replyTo === undefined ? {} : { replyTo }),
      subject,
      ...(text === undefined ? {} : { text }),
      ...(html === undefined ? {} : { html }),
      headers,
      attachments,
    },
    recipients: located.map(({ recipient }) => recipient),
    customArgs: body.custom_args ?? null,
    ...(body.campaign_id === undefined ? {} : { campaignId: body.campaign_id }),
    ...(body.mailer_id === undefined ? {} : { mailerId: body.mailer_id }),
    maxAttempts: body.settings?.max_attempts ?? defaults.maxAttempts,
    expiresInMs,
    tracking: {
      opens: body.settings?.open_tracking ?? false,
      clicks: body.settings?.click_tracking ?? false,
      unsubscribes: body.settings?.unsubscribe ?? false,
    },
    ...(sendAt === undefined ? {} : { sendAt }),
  }
}

/** An address that cannot be parsed stands as given: nothing is made of a refused email. */
function toMailbox({ email, name }: EmailAddressInput, path: string, refuse: Refuse): Mailbox {
  const parsed = parseAddress(email)
  if (!parsed.ok) refuse(`${path}/email`, parsed.problem)
  if (name !== undefined) refuse(`${path}/name`, checkDisplayName(name))
  return {
    address: parsed.ok ? parsed.address.address : email,
    ...(name === undefined || name === '' ? {} : { name }),
  }
}

interface LocatedRecipient {
  readonly recipient: Recipient
  readonly mailbox: Mailbox
  readonly path: string
}

function locateRecipients(body: SendEmailBody, refuse: Refuse): LocatedRecipient[] {
  const located: LocatedRecipient[] = []
  for (const type of recipientTypes) {
    const given = body[type] ?? []
    if (located.length <= recipientsMax && located.length + given.length > recipientsMax)
      refuse(`/${type}`, `makes more than ${recipientsMax} recipients in to, cc and bcc together`)
    for (const [i, one] of given.entries()) {
      const path = `/${type}/${i}`
      const mailbox = toMailbox(one, path, refuse)
      located.push({
        path,
        mailbox,
        recipient: { email: one.email, address: mailbox.address, type },
      })
    }
  }
  return located
}

/** docs/reference/sending.md#recipients: one address occurs once, compared without case. */
function refuseRepeated(recipients: readonly LocatedRecipient[]): void {
  const seen = new Set<string>()
  const errors: FieldError[] = []
  for (const { mailbox, path } of recipients) {
    const key = addressKeyOf(mailbox.address)
    if (seen.has(key)) errors.push({ path: `${path}/email`, message: 'is given twice' })
    seen.add(key)
  }
  if (errors.length > 0) throw new ApiError('duplicate_recipient', { errors })
}

function checkHeaders(headers: readonly (readonly [string, string])[], refuse: Refuse): void {
  const seen = new Set<string>()
  let bytes = 0
  for (const [name, value] of headers) {
    const path = jsonPointer(['headers', name.slice(0, HEADER_NAME_SHOWN)])
    refuse(path, checkHeader(name, value))
    if (seen.has(name.toLowerCase())) refuse(path, 'is given twice')
    seen.add(name.toLowerCase())
    bytes += headerBytes(name, value)
  }
  if (bytes > emailHeadersBytesMax)
    refuse('/headers', `must be at most ${emailHeadersBytesMax} bytes together`)
}

/** Two ways to unsubscribe would be one too many: which of them a program takes is its choice. */
function refuseOwnUnsubscribe(headers: readonly (readonly [string, string])[], refuse: Refuse) {
  for (const [name] of headers)
    if (/^list-unsubscribe(?:-post)?$/i.test(name))
      refuse(jsonPointer(['headers', name]), 'is set by the service with settings.unsubscribe')
}

function checkCustomArgs({ custom_args: customArgs }: SendEmailBody, refuse: Refuse): void {
  if (customArgs != null) refuse('/custom_args', problemOfCustomArgs(customArgs))
}

function expiryOf(body: SendEmailBody, defaults: SendDefaults, refuse: Refuse): number {
  const given = body.settings?.expires_in
  if (given === undefined) return defaults.expiresInMs
  const ms = parseDuration(given)
  if (ms !== undefined && ms >= EXPIRES_IN_MS_MIN && ms <= EXPIRES_IN_MS_MAX) return ms
  refuse('/settings/expires_in', 'must be a duration from 1s to 30d, such as 6h')
  return defaults.expiresInMs
}

/** How far it may lie ahead or back is decided by the database's clock, in `accept-email.ts`. */
function sendTimeOf({ send_at: given }: SendEmailBody, refuse: Refuse): Date | undefined {
  const sendAt = given === undefined ? undefined : parseDateTime(given)
  if (given !== undefined && sendAt === undefined)
    refuse('/send_at', 'must be an RFC 3339 time such as 2026-11-20T18:00:00Z')
  return sendAt
}

/** A stored template has been put in their place by now (`use-template.ts`). */
function refuseAbsent(body: SendEmailBody, refuse: Refuse): void {
  for (const name of ['subject', 'content'] as const)
    if (body[name] === undefined) refuse(`/${name}`, 'is required')
}

export function subjectOf(given: string, refuse: Refuse): string {
  // Of a table's cell, say: no header may hold it, and none is meant.
  const subject = given.replaceAll('\t', ' ')
  refuse('/subject', checkHeaderText(subject))
  return subject
}

type Parts = NonNullable<SendEmailBody['content']>

export function contentOf(
  content: Parts,
  type: 'text/html' | 'text/plain',
  refuse: Refuse,
): string | undefined {
  const found = content.findIndex((part) => part.type === type)
  const repeated = content.findLastIndex((part) => part.type === type)
  if (repeated !== found) refuse(`/content/${repeated}/type`, `${type} is given twice`)
  const value = content[found]?.value
  if (value !== undefined) refuse(`/content/${found}/value`, checkBodyText(value))
  return value
}

/**
 * What a template says is not looked at: an error in one is an attempt's
 * (docs/reference/sending.md#failures-before-the-first-connection).
 */
function refuseLongTemplates(content: Parts, refuse: Refuse): void {
  for (const [i, { value }] of content.entries())
    if (value.length > templateLengthMax)
      refuse(`/content/${i}/value`, `must be at most ${templateLengthMax} characters as a template`)
}

export function refuseLongData(data: object, path: string, refuse: Refuse): void {
  if (Buffer.byteLength(JSON.stringify(data)) > templateDataBytesMax)
    refuse(path, `must be at most ${templateDataBytesMax} bytes as JSON`)
}

/** Named by the part with which it becomes too much. */
function checkContentBytes(content: Parts, refuse: Refuse): void {
  let bytes = 0
  for (const [i, { value }] of content.entries()) {
    const before = bytes
    bytes += Buffer.byteLength(value)
    if (before <= contentBytesMax && bytes > contentBytesMax)
      refuse(`/content/${i}/value`, `makes more than ${contentBytesMax} bytes of content together`)
  }
}
