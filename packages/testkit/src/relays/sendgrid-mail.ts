/**
 * What SendGrid makes of `POST /v3/mail/send`: refused, or one mail for each recipient.
 */
import { domainOf } from './facts.ts'
import type { PeerReply } from './http-peer.ts'
import type { RelayedAttachment, RelayedMail } from './relayed-mail.ts'
import {
  type SendGridAttachment,
  type SendGridMailBody,
  type SendGridMailbox,
  type SendGridPersonalization,
  sendGridMailShape,
} from './sendgrid-body.ts'
import { SENDGRID, sendGridError, toSendGridError } from './sendgrid-errors.ts'
import { findSendGridErrors, recipientsOf } from './sendgrid-refusals.ts'
import { findProblems } from './shapes.ts'

export interface SendGridMail extends RelayedMail {
  readonly type: 'to' | 'cc' | 'bcc'
  readonly categories: readonly string[]
  readonly trackingSettings: Readonly<Record<string, unknown>>
}

export interface TakenSendGridMail {
  readonly reply: PeerReply
  readonly mails: readonly SendGridMail[]
}

export interface SendGridAccountFacts {
  isVerified(domain: string): boolean
  newId(): string
  readonly nowMs: number
}

const BODY_BYTES_MAX = 30 * 1024 * 1024

export function takeSendGridMail(
  body: unknown,
  bytes: number,
  account: SendGridAccountFacts,
): TakenSendGridMail {
  const refused = (reply: PeerReply): TakenSendGridMail => ({ reply, mails: [] })
  if (bytes > BODY_BYTES_MAX) return refused(SENDGRID.tooLarge)
  const problems = findProblems(body, sendGridMailShape)
  if (problems.length > 0) return refused(sendGridError(400, ...problems.map(toSendGridError)))
  const asked = body as SendGridMailBody
  const errors = findSendGridErrors(asked, account.nowMs)
  if (errors.length > 0) return refused(sendGridError(400, ...errors))
  const senders = [asked.from, ...asked.personalizations.flatMap(({ from }) => from ?? [])]
  if (!senders.every(({ email }) => account.isVerified(domainOf(email))))
    return refused(SENDGRID.unverifiedSender)
  // It is looked at, and goes nowhere.
  if (asked.mail_settings?.sandbox_mode?.enable === true) return refused({ status: 200 })
  const id = account.newId()
  const mails = asked.personalizations.flatMap((one, i) => toMails(one, i, asked, id))
  return { reply: { status: 202, headers: { 'X-Message-Id': id } }, mails }
}

function toMails(
  one: SendGridPersonalization,
  i: number,
  asked: SendGridMailBody,
  id: string,
): SendGridMail[] {
  const replaced = (text: string): string =>
    Object.entries(one.substitutions ?? {}).reduce(
      (all, [tag, value]) => all.replaceAll(tag, value),
      text,
    )
  const bodyOf = (type: string): string | undefined => {
    const found = asked.content.find((part) => part.type.toLowerCase() === type)?.value
    return found === undefined ? undefined : replaced(found)
  }
  const text = bodyOf('text/plain')
  const html = bodyOf('text/html')
  const replyTo = asked.reply_to?.email ?? asked.reply_to_list?.map(({ email }) => email).join(', ')
  const shown = {
    To: one.to.map(writeMailbox).join(', '),
    ...(one.cc === undefined ? {} : { Cc: one.cc.map(writeMailbox).join(', ') }),
  }
  return recipientsOf(one).map(({ email, field }, n) => ({
    id,
    messageId: `${id}.filter0001.16648.5515E0B88.${i}.${n}`,
    to: email,
    type: field.split('.')[0] as 'to' | 'cc' | 'bcc',
    from: one.from ?? asked.from,
    ...(replyTo === undefined ? {} : { replyTo }),
    subject: replaced(one.subject ?? asked.subject ?? ''),
    ...(text === undefined ? {} : { text }),
    ...(html === undefined ? {} : { html }),
    headers: { ...asked.headers, ...one.headers, ...shown },
    attachments: (asked.attachments ?? []).map(toAttachment),
    meta: { ...asked.custom_args, ...one.custom_args },
    request: asked,
    categories: asked.categories ?? [],
    trackingSettings: asked.tracking_settings ?? {},
  }))
}

function toAttachment(given: SendGridAttachment): RelayedAttachment {
  return {
    filename: given.filename,
    type: given.type ?? 'application/octet-stream',
    content: Buffer.from(given.content, 'base64'),
    isInline: given.disposition === 'inline',
    ...(given.content_id === undefined ? {} : { contentId: given.content_id }),
  }
}

function writeMailbox({ email, name }: SendGridMailbox): string {
  return name === undefined || name === '' ? email : `"${name}" <${email}>`
}
