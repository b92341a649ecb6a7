/** The body of SparkPost's `POST /api/v1/transmissions` (Transmissions API, Recipient Lists API). */
import { ANY, BOOLEAN, either, listOf, mapOf, record, STRING } from './shapes.ts'

export interface SparkPostPart {
  readonly name: string
  readonly type: string
  readonly data: string
}
export interface SparkPostRecipient {
  readonly address?: unknown
  readonly return_path?: string
  readonly tags?: readonly string[]
  readonly metadata?: Readonly<Record<string, unknown>>
  readonly substitution_data?: Readonly<Record<string, unknown>>
}
export interface SparkPostTransmission {
  readonly options?: Readonly<Record<string, unknown>>
  readonly recipients: readonly SparkPostRecipient[]
  readonly content: {
    readonly from?: string | { readonly name?: string; readonly email: string }
    readonly subject?: string
    readonly html?: string
    readonly text?: string
    readonly reply_to?: string
    readonly headers?: Readonly<Record<string, string>>
    readonly attachments?: readonly SparkPostPart[]
    readonly inline_images?: readonly SparkPostPart[]
    readonly email_rfc822?: string
  }
  readonly campaign_id?: string
  readonly description?: string
  readonly metadata?: Readonly<Record<string, unknown>>
  readonly substitution_data?: Readonly<Record<string, unknown>>
  readonly return_path?: string
}

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
export const transmissionShape = record(
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
export const addressShape = either(
  record({ email: STRING, name: STRING, header_to: STRING }, ['email']),
  STRING,
)

/** `email`, or `name <email>`. */
export function readMailbox(given: string | { readonly name?: string; readonly email: string }): {
  readonly email: string
  readonly name?: string
} {
  if (typeof given !== 'string') return given
  const [, name = '', email] = /^\s*(.*?)\s*<([^<>]*)>\s*$/.exec(given) ?? []
  if (email === undefined) return { email: given.trim() }
  return name === '' ? { email } : { email, name: name.replace(/^"(.*)"$/, '$1') }
}

/** Of a raw message. */
export function readHeaders(raw: string): (readonly [string, string])[] {
  const [head = ''] = raw.split(/\r?\n\r?\n/, 1)
  return head
    .replaceAll(/\r?\n[ \t]+/g, ' ')
    .split(/\r?\n/)
    .flatMap((line) => {
      const at = line.indexOf(':')
      return at < 1 ? [] : [[line.slice(0, at), line.slice(at + 1).trim()] as const]
    })
}
