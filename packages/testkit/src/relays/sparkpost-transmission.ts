/**
 * What SparkPost makes of `POST /api/v1/transmissions` (Transmissions API, Recipient Lists API):
 * refused as it would be, or one mail for each recipient.
 *
 * Fields that it does not know are ignored, as it says of itself; they are named in the result, for a
 * test to see that there are none.
 */
import { domainOf, hasLineBreak, isAddress, isBase64, isHeaderName, jsonBytes } from './facts.ts'
import type { PeerReply } from './http-peer.ts'
import type { RelayedAttachment, RelayedMail } from './relayed-mail.ts'
import { ANY, BOOLEAN, either, findProblems, listOf, mapOf, record, STRING } from './shapes.ts'
import { isInvalid, isMissing, SPARKPOST, sparkPostError } from './sparkpost-errors.ts'
import { renderTemplate } from './sparkpost-template.ts'

export interface SparkPostAccountFacts {
  isVerified(domain: string): boolean
  isBlocked(domain: string): boolean
  isBounceDomain(domain: string): boolean
  newId(): string
  newMessageId(): string
}

export interface SparkPostMail extends RelayedMail {
  readonly options: Readonly<Record<string, unknown>>
  /** Names of headers that it takes and does not pass on. */
  readonly droppedHeaders: readonly string[]
  /** The raw message, where it was given as one. */
  readonly rfc822?: string
  readonly tags: readonly string[]
  readonly returnPath?: string
}

export interface TakenTransmission {
  readonly reply: PeerReply
  readonly mails: readonly SparkPostMail[]
  /** Paths of fields that mean nothing to it. */
  readonly ignored: readonly string[]
}

const CONTENT_BYTES_MAX = 20_000_000
const META_BYTES_MAX = 10_240
const SUBSTITUTIONS_BYTES_MAX = 102_400
const TAGS_MAX = 10
const HEADERS_REFUSED = [
  'subject',
  'from',
  'to',
  'reply-to',
  'content-type',
  'content-transfer-encoding',
]
/**
 * It has its own (django-anymail, «Extra header limitations»), but in transactional mail
 * (SparkPost/python-sparkpost issues 159 and 163).
 */
const HEADERS_DROPPED = ['list-unsubscribe', 'list-unsubscribe-post']

const part = record({ name: STRING, type: STRING, data: STRING }, ['name', 'type', 'data'])
const sender = either(record({ name: STRING, email: STRING }, ['email']), STRING)
const content = record({
  from: sender,
  subject: STRING,
  html: STRING,
  text: STRING,
  amp_html: STRING,
  reply_to: STRING,
  headers: mapOf(STRING),
  attachments: listOf(part),
  inline_images: listOf(part),
  email_rfc822: STRING,
  template_id: STRING,
  use_draft_template: BOOLEAN,
  ab_test_id: STRING,
})
/** Its address is looked at for each recipient: one that is wrong does not spoil the others. */
const recipient = record({
  address: ANY,
  return_path: STRING,
  tags: listOf(STRING),
  metadata: mapOf(ANY),
  substitution_data: mapOf(ANY),
})
const transmission = record(
  {
    options: record({
      start_time: STRING,
      open_tracking: BOOLEAN,
      initial_open: BOOLEAN,
      click_tracking: BOOLEAN,
      transactional: BOOLEAN,
      sandbox: BOOLEAN,
      skip_suppression: BOOLEAN,
      ip_pool: STRING,
      inline_css: BOOLEAN,
      perform_substitutions: BOOLEAN,
      dkim_key: STRING,
    }),
    override: record({ from: sender, reply_to: STRING, list_id: STRING }),
    recipients: either(listOf(recipient), record({ list_id: STRING }, ['list_id'])),
    content,
    campaign_id: STRING,
    description: STRING,
    metadata: mapOf(ANY),
    substitution_data: mapOf(ANY),
    return_path: STRING,
    tracking_domain: STRING,
  },
  ['recipients', 'content'],
)
const addressShape = either(
  record({ email: STRING, name: STRING, header_to: STRING }, ['email']),
  STRING,
)

interface Part {
  readonly name: string
  readonly type: string
  readonly data: string
}
interface Recipient {
  readonly address?: unknown
  readonly return_path?: string
  readonly tags?: readonly string[]
  readonly metadata?: Readonly<Record<string, unknown>>
  readonly substitution_data?: Readonly<Record<string, unknown>>
}
interface Transmission {
  readonly options?: Readonly<Record<string, unknown>>
  readonly recipients: readonly Recipient[]
  readonly content: {
    readonly from?: string | { readonly name?: string; readonly email: string }
    readonly subject?: string
    readonly html?: string
    readonly text?: string
    readonly reply_to?: string
    readonly headers?: Readonly<Record<string, string>>
    readonly attachments?: readonly Part[]
    readonly inline_images?: readonly Part[]
    readonly email_rfc822?: string
  }
  readonly campaign_id?: string
  readonly description?: string
  readonly metadata?: Readonly<Record<string, unknown>>
  readonly substitution_data?: Readonly<Record<string, unknown>>
  readonly return_path?: string
}

export function takeTransmission(body: unknown, account: SparkPostAccountFacts): TakenTransmission {
  const refused = (reply: PeerReply): TakenTransmission => ({ reply, mails: [], ignored: [] })
  const problems = findProblems(body, transmission)
  const broken = problems.find(({ kind }) => kind !== 'unknown')
  if (broken?.kind === 'missing') return refused(isMissing(`${broken.path} is required`))
  if (broken !== undefined)
    return refused(isInvalid(`${broken.path} must be ${broken.expected}, not ${broken.given}`))
  const asked = body as Transmission
  if (!Array.isArray(asked.recipients))
    return refused(sparkPostError(422, '1603', 'Subresource not found', 'no such recipient list'))
  const refusal = findRefusal(asked, account)
  if (refusal !== undefined) return refused(refusal)

  const id = account.newId()
  const results = asked.recipients.map((one) => toMail(one, asked, id, account))
  const templateError = results.find((one) => one.kind === 'refused')
  if (templateError?.kind === 'refused') return refused(templateError.reply)
  const mails = results.flatMap((one) => (one.kind === 'mail' ? [one.mail] : []))
  const errors = results.flatMap((one) => (one.kind === 'rejected' ? [one.error] : []))
  const ignored = problems.map(({ path }) => path)
  if (mails.length === 0)
    return refused(
      sparkPostError(
        400,
        '5002',
        'At least one valid recipient is required',
        errors[0]?.description,
      ),
    )
  const results_ = {
    ...(errors.length === 0 ? {} : { rcpt_to_errors: errors }),
    total_rejected_recipients: errors.length,
    total_accepted_recipients: mails.length,
    id,
  }
  const warnings = [{ message: 'transmission created, but with validation errors', code: '2000' }]
  const json = errors.length === 0 ? { results: results_ } : { errors: warnings, results: results_ }
  return { reply: { status: 200, json }, mails, ignored }
}

function findRefusal(asked: Transmission, account: SparkPostAccountFacts): PeerReply | undefined {
  const { content: given, recipients } = asked
  if (recipients.length === 0) return isMissing('recipients is required')
  if (Buffer.byteLength(asked.campaign_id ?? '') > 64)
    return isInvalid('campaign_id is longer than 64 bytes')
  if (Buffer.byteLength(asked.description ?? '') > 1024)
    return isInvalid('description is longer than 1024 bytes')
  for (const one of [asked, ...recipients]) {
    if (jsonBytes(one.metadata ?? {}) > META_BYTES_MAX)
      return sparkPostError(422, '2007', 'Metadata size too large')
    if (jsonBytes(one.substitution_data ?? {}) > SUBSTITUTIONS_BYTES_MAX)
      return sparkPostError(422, '2002', 'Substitution data too large')
  }
  if (contentBytes(given) > CONTENT_BYTES_MAX)
    return sparkPostError(413, undefined, 'content too large', 'the limit is 20 MB')
  const returnPaths = [asked, ...recipients].flatMap((one) => one.return_path ?? [])
  if (returnPaths.some((one) => !isAddress(one) || !account.isBounceDomain(domainOf(one))))
    return sparkPostError(
      400,
      '7001',
      'Invalid domain',
      'Unconfigured or unverified bounce domain.',
    )
  return given.email_rfc822 === undefined
    ? findInlineRefusal(given, account)
    : findRawRefusal(given, account)
}

function findInlineRefusal(
  given: Transmission['content'],
  account: SparkPostAccountFacts,
): PeerReply | undefined {
  if (given.from === undefined) return isMissing('content.from is required')
  if (given.subject === undefined) return isMissing('content.subject is required')
  if ((given.text ?? '') === '' && (given.html ?? '') === '')
    return isMissing('at least one of content.text and content.html is required')
  const headers = Object.entries(given.headers ?? {})
  for (const [name, value] of headers) {
    const isSound = isHeaderName(name) && !hasLineBreak(value)
    if (!isSound || HEADERS_REFUSED.includes(name.toLowerCase()))
      return sparkPostError(422, '3002', 'Invalid header', `header '${name}' is not allowed`)
  }
  if (hasLineBreak(given.subject) || hasLineBreak(given.reply_to ?? ''))
    return sparkPostError(422, '3002', 'Invalid header', 'line breaks are not allowed')
  const images = given.inline_images ?? []
  for (const one of [...(given.attachments ?? []), ...images]) {
    if (one.name === '' || Buffer.byteLength(one.name) > 255)
      return isInvalid('the name of an attachment has 1 to 255 bytes')
    if (!/^[\w.+-]+\/[\w.+-]+/.test(one.type)) return isInvalid(`not a MIME type: '${one.type}'`)
    if (!isBase64(one.data)) return isInvalid(`the data of '${one.name}' is not base64`)
  }
  if (new Set(images.map((one) => one.name)).size < images.length)
    return isInvalid('names of inline_images must be unique')
  return findSenderRefusal(readMailbox(given.from).email, account)
}

function findRawRefusal(
  given: Transmission['content'],
  account: SparkPostAccountFacts,
): PeerReply | undefined {
  const others = Object.keys(given).filter((key) => key !== 'email_rfc822')
  if (others.length > 0)
    return sparkPostError(
      422,
      '1301',
      'Invalid combination of fields',
      `email_rfc822 with ${others.join(', ')}`,
    )
  const headers = readHeaders(given.email_rfc822 ?? '')
  const from = headers.find(([name]) => name.toLowerCase() === 'from')?.[1]
  if (from === undefined)
    return sparkPostError(422, '3020', 'template mime parsing error', 'no From header')
  return findSenderRefusal(readMailbox(from).email, account)
}

function findSenderRefusal(email: string, account: SparkPostAccountFacts): PeerReply | undefined {
  if (email.startsWith('@'))
    return sparkPostError(400, '2008', 'No local part specified in sender address')
  if (!isAddress(email))
    return sparkPostError(400, '7001', 'Invalid domain', 'No sending domain specified')
  if (account.isBlocked(domainOf(email))) return SPARKPOST.restrictedDomain
  return account.isVerified(domainOf(email)) ? undefined : SPARKPOST.unverifiedDomain
}

function contentBytes(given: Transmission['content']): number {
  const parts = [...(given.attachments ?? []), ...(given.inline_images ?? [])]
  const texts = [given.text, given.html, given.email_rfc822, ...parts.map(({ data }) => data)]
  return texts.reduce((sum, text) => sum + Buffer.byteLength(text ?? ''), 0)
}

type Made =
  | { readonly kind: 'mail'; readonly mail: SparkPostMail }
  | { readonly kind: 'refused'; readonly reply: PeerReply }
  | {
      readonly kind: 'rejected'
      readonly error: { message: string; description: string; code: string }
    }

function toMail(
  one: Recipient,
  asked: Transmission,
  id: string,
  account: SparkPostAccountFacts,
): Made {
  const rejected = (code: string, message: string, description: string): Made => ({
    kind: 'rejected',
    error: { message, description, code },
  })
  if (findProblems(one.address, addressShape).some(({ kind }) => kind !== 'unknown'))
    return rejected(
      '1400',
      'required field is missing',
      'address.email is required for each recipient',
    )
  const address = (typeof one.address === 'string' ? { email: one.address } : one.address) as {
    email: string
    name?: string
    header_to?: string
  }
  if (!isAddress(address.email))
    return rejected('1300', 'invalid data format/type/length', `not an address: ${address.email}`)

  const meta = { ...asked.metadata, ...one.metadata }
  const data = { ...meta, ...asked.substitution_data, ...one.substitution_data, address }
  const problems: string[] = []
  const render = (text: string, escapes = false): string => {
    const rendered = renderTemplate(text, data, escapes)
    if (rendered.kind === 'rendered') return rendered.text
    problems.push(rendered.description)
    return ''
  }
  const performs = asked.options?.perform_substitutions !== false
  const body = (text: string | undefined, escapes: boolean) =>
    text === undefined || !performs ? text : render(text, escapes)
  const { content: given } = asked
  const own =
    given.email_rfc822 === undefined
      ? Object.entries(given.headers ?? {})
      : readHeaders(given.email_rfc822)
  const isDropped = ([name]: readonly [string, string]) =>
    given.email_rfc822 === undefined &&
    asked.options?.transactional !== true &&
    HEADERS_DROPPED.includes(name.toLowerCase())
  const headers = Object.fromEntries(
    own.filter((header) => !isDropped(header)).map(([name, value]) => [name, render(value)]),
  )
  const inHeaders = (name: string) =>
    Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1] ?? ''
  const from = readMailbox(given.from ?? inHeaders('from'))
  const replyTo = given.reply_to === undefined ? undefined : render(given.reply_to)
  const text = body(given.text, false)
  const html = body(given.html, true)
  const shownTo = address.header_to ?? address.email
  const mail: SparkPostMail = {
    id,
    messageId: account.newMessageId(),
    to: address.email,
    from: { email: from.email, ...(from.name === undefined ? {} : { name: render(from.name) }) },
    ...(replyTo === undefined ? {} : { replyTo }),
    subject: given.subject === undefined ? inHeaders('subject') : render(given.subject),
    ...(text === undefined ? {} : { text }),
    ...(html === undefined ? {} : { html }),
    headers:
      given.email_rfc822 === undefined
        ? { ...headers, To: writeMailbox(address.name, shownTo) }
        : headers,
    attachments: [
      ...(given.attachments ?? []).map((part_) => toAttachment(part_, false)),
      ...(given.inline_images ?? []).map((part_) => toAttachment(part_, true)),
    ],
    meta,
    ...(asked.campaign_id === undefined ? {} : { campaignId: asked.campaign_id }),
    request: asked,
    options: asked.options ?? {},
    droppedHeaders: own.filter(isDropped).map(([name]) => name),
    ...(given.email_rfc822 === undefined ? {} : { rfc822: given.email_rfc822 }),
    tags: (one.tags ?? []).slice(0, TAGS_MAX),
    ...(one.return_path === undefined ? {} : { returnPath: one.return_path }),
  }
  const [problem] = problems
  return problem === undefined
    ? { kind: 'mail', mail }
    : {
        kind: 'refused',
        reply: sparkPostError(422, '3000', 'template language syntax error', problem),
      }
}

function toAttachment(given: Part, isInline: boolean): RelayedAttachment {
  return {
    filename: given.name,
    type: given.type,
    content: Buffer.from(given.data, 'base64'),
    isInline,
    ...(isInline ? { contentId: given.name } : {}),
  }
}

/** `email`, or `name <email>`. */
function readMailbox(given: string | { readonly name?: string; readonly email: string }): {
  readonly email: string
  readonly name?: string
} {
  if (typeof given !== 'string') return given
  const [, name = '', email] = /^\s*(.*?)\s*<([^<>]*)>\s*$/.exec(given) ?? []
  if (email === undefined) return { email: given.trim() }
  return name === '' ? { email } : { email, name: name.replace(/^"(.*)"$/, '$1') }
}

function writeMailbox(name: string | undefined, email: string): string {
  return name === undefined || name === '' ? email : `"${name}" <${email}>`
}

function readHeaders(raw: string): (readonly [string, string])[] {
  const [head = ''] = raw.split(/\r?\n\r?\n/, 1)
  return head
    .replaceAll(/\r?\n[ \t]+/g, ' ')
    .split(/\r?\n/)
    .flatMap((line) => {
      const at = line.indexOf(':')
      return at < 1 ? [] : [[line.slice(0, at), line.slice(at + 1).trim()] as const]
    })
}
