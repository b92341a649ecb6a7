/**
 * What SendGrid makes of `POST /v3/mail/send` (its OpenAPI document, Personalizations, the list of its
 * errors): refused with every problem that it names, or one mail for each recipient.
 */
import { domainOf, hasLineBreak, isAddress, isBase64, isHeaderName, jsonBytes } from './facts.ts'
import type { PeerReply } from './http-peer.ts'
import type { RelayedAttachment, RelayedMail } from './relayed-mail.ts'
import { SENDGRID, type SendGridError, sendGridError, toSendGridError } from './sendgrid-errors.ts'
import { ANY, BOOLEAN, findProblems, INTEGER, listOf, mapOf, record, STRING } from './shapes.ts'

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
const RECIPIENTS_MAX = 1000
const ARGUMENTS_BYTES_MAX = 10_000
const SCHEDULE_S_MAX = 72 * 3600
const HEADERS_RESERVED = [
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
]

const mailbox = record({ email: STRING, name: STRING }, ['email'])
const setting = (more: Readonly<Record<string, typeof STRING | typeof BOOLEAN>> = {}) =>
  record({ enable: BOOLEAN, ...more })
const personalization = record(
  {
    from: mailbox,
    to: listOf(mailbox),
    cc: listOf(mailbox),
    bcc: listOf(mailbox),
    subject: STRING,
    headers: mapOf(STRING),
    substitutions: mapOf(STRING),
    dynamic_template_data: mapOf(ANY),
    custom_args: mapOf(STRING),
    send_at: INTEGER,
  },
  ['to'],
)
const mailShape = record(
  {
    personalizations: listOf(personalization),
    from: mailbox,
    reply_to: mailbox,
    reply_to_list: listOf(mailbox),
    subject: STRING,
    content: listOf(record({ type: STRING, value: STRING }, ['type', 'value'])),
    attachments: listOf(
      record(
        {
          content: STRING,
          type: STRING,
          filename: STRING,
          disposition: STRING,
          content_id: STRING,
        },
        ['content', 'filename'],
      ),
    ),
    template_id: STRING,
    headers: mapOf(STRING),
    categories: listOf(STRING),
    custom_args: mapOf(STRING),
    send_at: INTEGER,
    batch_id: STRING,
    asm: record({ group_id: INTEGER, groups_to_display: listOf(INTEGER) }, ['group_id']),
    ip_pool_name: STRING,
    mail_settings: record({
      bypass_list_management: setting(),
      bypass_spam_management: setting(),
      bypass_bounce_management: setting(),
      bypass_unsubscribe_management: setting(),
      footer: setting({ text: STRING, html: STRING }),
      sandbox_mode: setting(),
    }),
    tracking_settings: record({
      click_tracking: setting({ enable_text: BOOLEAN }),
      open_tracking: setting({ substitution_tag: STRING }),
      subscription_tracking: setting({ text: STRING, html: STRING, substitution_tag: STRING }),
      ganalytics: setting({
        utm_source: STRING,
        utm_medium: STRING,
        utm_term: STRING,
        utm_content: STRING,
        utm_campaign: STRING,
      }),
    }),
  },
  ['personalizations', 'from', 'content'],
)

interface Mailbox {
  readonly email: string
  readonly name?: string
}
interface Attachment {
  readonly content: string
  readonly filename: string
  readonly type?: string
  readonly disposition?: string
  readonly content_id?: string
}
interface Personalization {
  readonly from?: Mailbox
  readonly to: readonly Mailbox[]
  readonly cc?: readonly Mailbox[]
  readonly bcc?: readonly Mailbox[]
  readonly subject?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly substitutions?: Readonly<Record<string, string>>
  readonly custom_args?: Readonly<Record<string, string>>
  readonly send_at?: number
}
interface Mail {
  readonly personalizations: readonly Personalization[]
  readonly from: Mailbox
  readonly reply_to?: Mailbox
  readonly reply_to_list?: readonly Mailbox[]
  readonly subject?: string
  readonly content: readonly { readonly type: string; readonly value: string }[]
  readonly attachments?: readonly Attachment[]
  readonly headers?: Readonly<Record<string, string>>
  readonly categories?: readonly string[]
  readonly custom_args?: Readonly<Record<string, string>>
  readonly send_at?: number
  readonly ip_pool_name?: string
  readonly mail_settings?: { readonly sandbox_mode?: { readonly enable?: boolean } }
  readonly tracking_settings?: Readonly<Record<string, unknown>>
}

export function takeSendGridMail(
  body: unknown,
  bytes: number,
  account: SendGridAccountFacts,
): TakenSendGridMail {
  const refused = (reply: PeerReply): TakenSendGridMail => ({ reply, mails: [] })
  if (bytes > BODY_BYTES_MAX) return refused(SENDGRID.tooLarge)
  const problems = findProblems(body, mailShape)
  if (problems.length > 0) return refused(sendGridError(400, ...problems.map(toSendGridError)))
  const asked = body as Mail
  const errors = findErrors(asked, account)
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

function findErrors(asked: Mail, account: SendGridAccountFacts): SendGridError[] {
  const errors: SendGridError[] = []
  const check = (isSound: boolean, field: string, message: string): void => {
    if (!isSound) errors.push({ message, field })
  }
  const checkHeaders = (headers: Readonly<Record<string, string>> = {}, path: string): void => {
    for (const [name, value] of Object.entries(headers)) {
      const field = `${path}.${name}`
      check(
        !HEADERS_RESERVED.includes(name.toLowerCase()),
        field,
        'Reserved headers cannot be overwritten.',
      )
      check(isHeaderName(name), field, 'Header names are printable ASCII.')
      check(isAscii(value), field, 'Header values must be encoded where they are not ASCII.')
      check(!hasLineBreak(value), field, 'Header values cannot hold CRLF characters.')
    }
  }
  const checkSchedule = (sendAt: number | undefined, field: string): void =>
    check(
      sendAt === undefined || sendAt - account.nowMs / 1000 <= SCHEDULE_S_MAX,
      field,
      'Scheduling more than 72 hours in advance is forbidden.',
    )

  const { personalizations } = asked
  check(
    personalizations.length > 0,
    'personalizations',
    'There must be at least one personalization.',
  )
  check(
    personalizations.length <= RECIPIENTS_MAX,
    'personalizations',
    `The personalization block is limited to ${RECIPIENTS_MAX} personalizations per API request.`,
  )
  const everyone = personalizations.flatMap((one) => recipientsOf(one))
  check(
    everyone.length <= RECIPIENTS_MAX,
    'personalizations',
    `There is a limit of ${RECIPIENTS_MAX} total recipients (to + cc + bcc) per request.`,
  )
  check(
    isAddress(asked.from.email),
    'from.email',
    'The from email does not contain a valid address.',
  )
  for (const [i, one] of personalizations.entries()) {
    const path = `personalizations.${i}`
    check(one.to.length > 0, `${path}.to`, 'The to array must have at least one recipient.')
    for (const key of ['cc', 'bcc'] as const)
      check(
        one[key]?.length !== 0,
        `${path}.${key}`,
        `The ${key} array must have an email object when used.`,
      )
    const seen = new Set<string>()
    for (const { email, field } of recipientsOf(one)) {
      check(isAddress(email), `${path}.${field}.email`, 'Does not contain a valid address.')
      const key = email.toLowerCase()
      check(
        !seen.has(key),
        path,
        `Each address of a personalization must be unique between to, cc, and bcc: [${email}] is not.`,
      )
      seen.add(key)
    }
    check(one.subject !== '', `${path}.subject`, 'The subject must have at least one character.')
    check(
      one.from === undefined || domainOf(one.from.email) === domainOf(asked.from.email),
      `${path}.from`,
      'The from domain of a personalization must match that of the message.',
    )
    check(
      jsonBytes(one.substitutions ?? {}) <= ARGUMENTS_BYTES_MAX,
      `${path}.substitutions`,
      'Substitutions may not exceed 10000 bytes.',
    )
    check(
      jsonBytes({ ...asked.custom_args, ...one.custom_args }) <= ARGUMENTS_BYTES_MAX,
      `${path}.custom_args`,
      'Custom arguments may not exceed 10000 bytes.',
    )
    checkHeaders(one.headers, `${path}.headers`)
    checkSchedule(one.send_at, `${path}.send_at`)
  }
  checkHeaders(asked.headers, 'headers')
  checkSchedule(asked.send_at, 'send_at')
  check(
    (asked.subject ?? '') !== '' || personalizations.every((one) => one.subject !== undefined),
    'subject',
    'The subject is required, here or in every personalization.',
  )
  errors.push(...findContentErrors(asked), ...findAttachmentErrors(asked.attachments ?? []))
  const replies = asked.reply_to_list ?? []
  check(
    asked.reply_to === undefined || asked.reply_to_list === undefined,
    'reply_to',
    'reply_to is mutually exclusive with reply_to_list.',
  )
  for (const { email } of [...replies, ...(asked.reply_to === undefined ? [] : [asked.reply_to])])
    check(
      isAddress(email),
      'reply_to.email',
      'The reply_to email does not contain a valid address.',
    )
  check(
    new Set(replies.map(({ email }) => email.toLowerCase())).size === replies.length,
    'reply_to_list',
    'Each email address in the reply_to_list should be unique.',
  )
  const categories = asked.categories ?? []
  check(categories.length <= 10, 'categories', 'You may have no more than 10 categories.')
  check(
    categories.every((one) => one.length <= 255),
    'categories',
    'Each category name may not exceed 255 characters.',
  )
  check(new Set(categories).size === categories.length, 'categories', 'Categories must be unique.')
  const pool = asked.ip_pool_name
  check(
    pool === undefined || (pool.length >= 2 && pool.length <= 64),
    'ip_pool_name',
    'The IP pool name has 2 to 64 characters.',
  )
  return errors
}

function findContentErrors({ content }: Mail): SendGridError[] {
  if (content.length === 0)
    return [{ message: 'There must be at least one defined content block.', field: 'content' }]
  const errors = content.flatMap(({ type, value }, i): SendGridError[] => [
    ...(value === ''
      ? [
          {
            message: 'The content value must have at least one character.',
            field: `content.${i}.value`,
          },
        ]
      : []),
    ...(/^[^\s;]+\/[^\s;]+$/.test(type)
      ? []
      : [
          {
            message: "The content type cannot be empty, nor contain ';' or CRLF characters.",
            field: `content.${i}.type`,
          },
        ]),
  ])
  const types = content.map(({ type }) => type.toLowerCase())
  const known = types.filter((type) => ['text/plain', 'text/html'].includes(type))
  if (new Set(known).size < known.length)
    errors.push({
      message: 'text/plain and text/html may be there once.',
      field: 'content',
    })
  const rank = (type: string) => ['text/plain', 'text/x-amp-html', 'text/html'].indexOf(type)
  const ranks = types.map((type) => (rank(type) < 0 ? 3 : rank(type)))
  if (ranks.some((one, i) => i > 0 && one < (ranks[i - 1] ?? 0)))
    errors.push({
      message: 'text/plain comes first, then text/html, then any other content.',
      field: 'content',
    })
  return errors
}

function findAttachmentErrors(attachments: readonly Attachment[]): SendGridError[] {
  return attachments.flatMap((one, i) => {
    const wrong = (key: string, message: string) => ({ message, field: `attachments.${i}.${key}` })
    return [
      ...(isBase64(one.content)
        ? []
        : [wrong('content', 'The attachment content must be base64 encoded.')]),
      ...(one.filename === '' || hasLineBreak(one.filename)
        ? [wrong('filename', 'The filename of the attachment must be a string without CRLF.')]
        : []),
      ...(one.type === undefined || /^[^\s;]+\/[^\s;]+$/.test(one.type)
        ? []
        : [wrong('type', "The attachment type cannot contain ';' or CRLF characters.")]),
      ...(one.disposition === undefined || ['inline', 'attachment'].includes(one.disposition)
        ? []
        : [wrong('disposition', "The disposition must be 'inline' or 'attachment'.")]),
      ...(one.content_id === undefined || /^[^;,<>\s]+$/.test(one.content_id)
        ? []
        : [wrong('content_id', "The content ID cannot contain ';', ',', '<', '>' or spaces.")]),
    ]
  })
}

function recipientsOf(one: Personalization): (Mailbox & { readonly field: string })[] {
  return (['to', 'cc', 'bcc'] as const).flatMap((key) =>
    (one[key] ?? []).map((mailbox_, i) => ({ ...mailbox_, field: `${key}.${i}` })),
  )
}

function toMails(one: Personalization, i: number, asked: Mail, id: string): SendGridMail[] {
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

function toAttachment(given: Attachment): RelayedAttachment {
  return {
    filename: given.filename,
    type: given.type ?? 'application/octet-stream',
    content: Buffer.from(given.content, 'base64'),
    isInline: given.disposition === 'inline',
    ...(given.content_id === undefined ? {} : { contentId: given.content_id }),
  }
}

function writeMailbox({ email, name }: Mailbox): string {
  return name === undefined || name === '' ? email : `"${name}" <${email}>`
}

function isAscii(text: string): boolean {
  return /^[\t\r\n -~]*$/.test(text)
}
