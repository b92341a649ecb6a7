/**
 * What SparkPost makes of `POST /api/v1/transmissions` (Transmissions API, Recipient Lists API):
 * refused as it would be, or one mail for each recipient.
 *
 * Fields that it does not know are ignored, as it says of itself; they are named in the result, for a
 * test to see that there are none.
 */
import { isAddress } from './facts.ts'
import type { PeerReply } from './http-peer.ts'
import type { RelayedAttachment, RelayedMail } from './relayed-mail.ts'
import { findProblems } from './shapes.ts'
import {
  addressShape,
  readHeaders,
  readMailbox,
  type SparkPostPart,
  type SparkPostRecipient,
  type SparkPostTransmission,
  transmissionShape,
} from './sparkpost-body.ts'
import { isInvalid, isMissing, sparkPostError } from './sparkpost-errors.ts'
import { findTransmissionRefusal, type SparkPostDomainFacts } from './sparkpost-refusals.ts'
import { renderTemplate } from './sparkpost-template.ts'

export interface SparkPostAccountFacts extends SparkPostDomainFacts {
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

const TAGS_MAX = 10
/**
 * It has its own (django-anymail, «Extra header limitations»), but in transactional mail
 * (SparkPost/python-sparkpost issues 159 and 163).
 */
const HEADERS_DROPPED = ['list-unsubscribe', 'list-unsubscribe-post']

export function takeTransmission(body: unknown, account: SparkPostAccountFacts): TakenTransmission {
  const refused = (reply: PeerReply): TakenTransmission => ({ reply, mails: [], ignored: [] })
  const problems = findProblems(body, transmissionShape)
  const broken = problems.find(({ kind }) => kind !== 'unknown')
  if (broken?.kind === 'missing') return refused(isMissing(`${broken.path} is required`))
  if (broken !== undefined)
    return refused(isInvalid(`${broken.path} must be ${broken.expected}, not ${broken.given}`))
  const asked = body as SparkPostTransmission
  if (!Array.isArray(asked.recipients))
    return refused(sparkPostError(422, '1603', 'Subresource not found', 'no such recipient list'))
  const refusal = findTransmissionRefusal(asked, account)
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

type Made =
  | { readonly kind: 'mail'; readonly mail: SparkPostMail }
  | { readonly kind: 'refused'; readonly reply: PeerReply }
  | {
      readonly kind: 'rejected'
      readonly error: { message: string; description: string; code: string }
    }

function toMail(
  one: SparkPostRecipient,
  asked: SparkPostTransmission,
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

function toAttachment(given: SparkPostPart, isInline: boolean): RelayedAttachment {
  return {
    filename: given.name,
    type: given.type,
    content: Buffer.from(given.data, 'base64'),
    isInline,
    ...(isInline ? { contentId: given.name } : {}),
  }
}

function writeMailbox(name: string | undefined, email: string): string {
  return name === undefined || name === '' ? email : `"${name}" <${email}>`
}
