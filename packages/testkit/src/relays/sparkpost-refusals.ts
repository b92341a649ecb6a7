/** What SparkPost refuses of a transmission whose form is right, in the order in which it is looked at here. */
import { domainOf, hasLineBreak, isAddress, isBase64, isHeaderName, jsonBytes } from './facts.ts'
import type { PeerReply } from './http-peer.ts'
import { readHeaders, readMailbox, type SparkPostTransmission } from './sparkpost-body.ts'
import { isInvalid, isMissing, SPARKPOST, sparkPostError } from './sparkpost-errors.ts'

/** What a transmission is judged by beside itself. */
export interface SparkPostDomainFacts {
  isVerified(domain: string): boolean
  isBlocked(domain: string): boolean
  isBounceDomain(domain: string): boolean
}

const CONTENT_BYTES_MAX = 20_000_000
const META_BYTES_MAX = 10_240
const SUBSTITUTIONS_BYTES_MAX = 102_400
const HEADERS_REFUSED = [
  'subject',
  'from',
  'to',
  'reply-to',
  'content-type',
  'content-transfer-encoding',
]
export function findTransmissionRefusal(
  asked: SparkPostTransmission,
  account: SparkPostDomainFacts,
): PeerReply | undefined {
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
  given: SparkPostTransmission['content'],
  account: SparkPostDomainFacts,
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
  given: SparkPostTransmission['content'],
  account: SparkPostDomainFacts,
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

function findSenderRefusal(email: string, account: SparkPostDomainFacts): PeerReply | undefined {
  if (email.startsWith('@'))
    return sparkPostError(400, '2008', 'No local part specified in sender address')
  if (!isAddress(email))
    return sparkPostError(400, '7001', 'Invalid domain', 'No sending domain specified')
  if (account.isBlocked(domainOf(email))) return SPARKPOST.restrictedDomain
  return account.isVerified(domainOf(email)) ? undefined : SPARKPOST.unverifiedDomain
}

function contentBytes(given: SparkPostTransmission['content']): number {
  const parts = [...(given.attachments ?? []), ...(given.inline_images ?? [])]
  const texts = [given.text, given.html, given.email_rfc822, ...parts.map(({ data }) => data)]
  return texts.reduce((sum, text) => sum + Buffer.byteLength(text ?? ''), 0)
}
