/**
 * What SendGrid refuses of a mail whose form is right (the list of its mail send errors,
 * Personalizations): every problem with the field that it names.
 */
import { domainOf, hasLineBreak, isAddress, isBase64, isHeaderName, jsonBytes } from './facts.ts'
import type {
  SendGridAttachment,
  SendGridMailBody,
  SendGridMailbox,
  SendGridPersonalization,
} from './sendgrid-body.ts'
import type { SendGridError } from './sendgrid-errors.ts'

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

/** `;` and `,` are named beside line breaks as what such fields may not hold. */
const NOT_PLAIN = /[;,\r\n]/
const MIME_TYPE = /^[^\s;,/]+\/[^\s;,]+$/

export function findSendGridErrors(asked: SendGridMailBody, nowMs: number): SendGridError[] {
  const { personalizations } = asked
  const count = personalizations.flatMap(recipientsOf).length
  return [
    ...unless(personalizations.length > 0, 'personalizations', 'There must be at least one.'),
    ...unless(
      personalizations.length <= RECIPIENTS_MAX,
      'personalizations',
      `There is a limit of ${RECIPIENTS_MAX} personalizations per request.`,
    ),
    ...unless(
      count <= RECIPIENTS_MAX,
      'personalizations',
      `There is a limit of ${RECIPIENTS_MAX} total recipients (to + cc + bcc) per request.`,
    ),
    ...unless(isAddress(asked.from.email), 'from.email', 'It is not a valid address.'),
    ...personalizations.flatMap((one, i) =>
      findErrorsOfOne(one, `personalizations.${i}`, asked, nowMs),
    ),
    ...findHeaderErrors(asked.headers ?? {}, 'headers'),
    ...findArgumentErrors(asked.custom_args, 'custom_args'),
    ...findScheduleErrors(asked.send_at, 'send_at', nowMs),
    ...unless(
      (asked.subject ?? '') !== '' || personalizations.every((one) => one.subject !== undefined),
      'subject',
      'The subject is required, here or in every personalization.',
    ),
    ...findContentErrors(asked.content),
    ...(asked.attachments ?? []).flatMap((one, i) => findAttachmentErrors(one, `attachments.${i}`)),
    ...findReplyErrors(asked),
    ...findCategoryErrors(asked.categories ?? []),
    ...unless(
      asked.ip_pool_name === undefined || /^.{2,64}$/.test(asked.ip_pool_name),
      'ip_pool_name',
      'The IP pool name has 2 to 64 characters.',
    ),
  ]
}

function unless(isSound: boolean, field: string, message: string): SendGridError[] {
  return isSound ? [] : [{ message, field }]
}

function findErrorsOfOne(
  one: SendGridPersonalization,
  path: string,
  { from, custom_args }: SendGridMailBody,
  nowMs: number,
): SendGridError[] {
  const everyone = recipientsOf(one)
  const addresses = everyone.map(({ email }) => email.toLowerCase())
  const repeated = addresses.find((address, i) => addresses.indexOf(address) < i)
  return [
    ...unless(one.to.length > 0, `${path}.to`, 'There must be at least one recipient.'),
    ...(['cc', 'bcc'] as const).flatMap((key) =>
      unless(one[key]?.length !== 0, `${path}.${key}`, 'When used, it must have a recipient.'),
    ),
    ...everyone.flatMap(({ email, field }) =>
      unless(isAddress(email), `${path}.${field}.email`, 'Does not contain a valid address.'),
    ),
    ...unless(
      repeated === undefined,
      path,
      `Each address must be unique between to, cc, and bcc: [${repeated}] is not.`,
    ),
    ...unless(one.subject !== '', `${path}.subject`, 'It must have at least one character.'),
    ...unless(
      one.from === undefined || domainOf(one.from.email) === domainOf(from.email),
      `${path}.from`,
      'Its domain must match that of the message.',
    ),
    ...unless(
      jsonBytes(one.substitutions ?? {}) <= ARGUMENTS_BYTES_MAX,
      `${path}.substitutions`,
      'Substitutions may not exceed 10000 bytes.',
    ),
    ...findArgumentErrors(one.custom_args, `${path}.custom_args`),
    ...unless(
      jsonBytes({ ...custom_args, ...one.custom_args }) <= ARGUMENTS_BYTES_MAX,
      `${path}.custom_args`,
      'Custom arguments may not exceed 10000 bytes.',
    ),
    ...findHeaderErrors(one.headers ?? {}, `${path}.headers`),
    ...findScheduleErrors(one.send_at, `${path}.send_at`, nowMs),
  ]
}

function findHeaderErrors(
  headers: Readonly<Record<string, string>>,
  path: string,
): SendGridError[] {
  const names = Object.keys(headers).map((name) => name.toLowerCase())
  return [
    ...unless(new Set(names).size === names.length, path, 'There cannot be duplicate keys.'),
    ...Object.entries(headers).flatMap(([name, value]) => [
      ...unless(
        !HEADERS_RESERVED.includes(name.toLowerCase()),
        `${path}.${name}`,
        'It cannot be one of the reserved keys.',
      ),
      ...unless(isHeaderName(name), `${path}.${name}`, 'Keys are ASCII without empty spaces.'),
      ...unless(isAscii(value), `${path}.${name}`, 'What is not ASCII must be encoded.'),
      ...unless(!hasLineBreak(value), `${path}.${name}`, 'It cannot contain CRLF characters.'),
    ]),
  ]
}

function findArgumentErrors(
  given: Readonly<Record<string, string>> | undefined,
  path: string,
): SendGridError[] {
  return unless(given === undefined || Object.keys(given).length > 0, path, 'It cannot be empty.')
}

function findScheduleErrors(
  sendAt: number | undefined,
  path: string,
  nowMs: number,
): SendGridError[] {
  const isSoon = sendAt === undefined || sendAt - nowMs / 1000 <= SCHEDULE_S_MAX
  return unless(isSoon, path, 'Scheduling more than 72 hours in advance is forbidden.')
}

function findContentErrors(content: SendGridMailBody['content']): SendGridError[] {
  const types = content.map(({ type }) => type.toLowerCase())
  const known = types.filter((type) => ['text/plain', 'text/html'].includes(type))
  const places = types.map((type) => {
    const at = ['text/plain', 'text/x-amp-html', 'text/html'].indexOf(type)
    return at < 0 ? 3 : at
  })
  return [
    ...unless(content.length > 0, 'content', 'There must be at least one content block.'),
    ...content.flatMap(({ type, value }, i) => [
      ...unless(value !== '', `content.${i}.value`, 'It must have at least one character.'),
      ...unless(MIME_TYPE.test(type), `content.${i}.type`, "Cannot contain ';', or CRLF."),
    ]),
    ...unless(new Set(known).size === known.length, 'content', 'Text and HTML may be there once.'),
    ...unless(
      places.every((place, i) => place >= (places[i - 1] ?? 0)),
      'content',
      'text/plain comes first, then text/html, then any other content.',
    ),
  ]
}

function findAttachmentErrors(
  { content, filename, type, disposition, content_id: contentId }: SendGridAttachment,
  path: string,
): SendGridError[] {
  return [
    ...unless(content !== '' && isBase64(content), `${path}.content`, 'It must be base64 encoded.'),
    ...unless(
      filename !== '' && !NOT_PLAIN.test(filename),
      `${path}.filename`,
      "It cannot be empty, nor contain ';', ',', or CRLF characters.",
    ),
    ...unless(
      type === undefined || MIME_TYPE.test(type),
      `${path}.type`,
      "The attachment type cannot contain ';', or CRLF characters.",
    ),
    ...unless(
      disposition === undefined || ['inline', 'attachment'].includes(disposition),
      `${path}.disposition`,
      `It can be "inline" or "attachment". You provided ${disposition}.`,
    ),
    ...unless(
      contentId === undefined || !NOT_PLAIN.test(contentId),
      `${path}.content_id`,
      "It cannot contain ';', ',', or CRLF characters.",
    ),
  ]
}

function findReplyErrors({
  reply_to: one,
  reply_to_list: list,
}: SendGridMailBody): SendGridError[] {
  const addresses = (list ?? []).map(({ email }) => email.toLowerCase())
  const isNoAddress = [...(one === undefined ? [] : [one.email]), ...addresses].some(
    (address) => !isAddress(address),
  )
  return [
    ...unless(
      one === undefined || list === undefined,
      'reply_to',
      'It is mutually exclusive with reply_to_list.',
    ),
    ...unless(!isNoAddress, 'reply_to.email', 'It is not a valid address.'),
    ...unless(
      new Set(addresses).size === addresses.length,
      'reply_to_list',
      'Each address should be unique.',
    ),
  ]
}

function findCategoryErrors(categories: readonly string[]): SendGridError[] {
  const unique = new Set(categories)
  return [
    ...unless(categories.length <= 10, 'categories', 'There is a limit of 10 categories.'),
    ...unless(
      categories.every((one) => one.length <= 255),
      'categories',
      'Each category must not be longer than 255 characters.',
    ),
    ...unless(unique.size === categories.length, 'categories', 'They must be a unique list.'),
    ...unless(
      categories.every(isAscii),
      'categories',
      'They can not contain non-ASCII characters.',
    ),
  ]
}

function isAscii(text: string): boolean {
  return /^[\t\r\n -~]*$/.test(text)
}

export function recipientsOf(
  one: SendGridPersonalization,
): (SendGridMailbox & { readonly field: string })[] {
  return (['to', 'cc', 'bcc'] as const).flatMap((key) =>
    (one[key] ?? []).map((mailbox, i) => ({ ...mailbox, field: `${key}.${i}` })),
  )
}
