/**
 * What a message that was handed in over SMTP asks of the service (docs/submission.md#control-fields): its
 * `X-Postrider-*` fields as the fields of sendEmail that they stand for, with the same limits.
 */
import {
  type EmailAddressInput,
  type FieldError,
  type RecipientType,
  recipientTypes,
  type SendEmailBody,
  sendEmailBody,
  subjectLengthMax,
} from '@postrider/contract'
import { addressKeyOf, parseAddress, type RawMessage } from '@postrider/mail'
import { ApiError, validationError } from '../../platform/errors.ts'
import { parseJson } from '../../platform/http/body/json-body.ts'
import { compileSchema } from '../../platform/http/body/validation.ts'
import type { Recipient } from '../record/email.ts'

export const controlPrefix = 'x-postrider-'

const TRACKS = {
  opens: 'open_tracking',
  clicks: 'click_tracking',
  unsubscribe: 'unsubscribe',
} as const
/** The longest that fits comes first. */
const FIELDS: readonly (readonly [path: string, field: string])[] = [
  ['/settings/max_attempts', 'X-Postrider-Max-Attempts'],
  ['/settings/expires_in', 'X-Postrider-Expires-In'],
  ['/settings', 'X-Postrider-Track'],
  ['/headers/List-Unsubscribe', 'X-Postrider-Track: List-Unsubscribe'],
  ['/campaign_id', 'X-Postrider-Campaign'],
  ['/custom_args', 'X-Postrider-Args'],
  ['/send_at', 'X-Postrider-Send-At'],
  ['/template_data', 'X-Postrider-Template-Data'],
  ['Idempotency-Key', 'X-Postrider-Idempotency-Key'],
  ['/subject', 'Subject'],
  ['/from', 'From'],
  ['/content', 'The text'],
]

const checkBody = compileSchema(sendEmailBody, 'body')

/** As sendEmail would have been asked. Throws 400 with the header field at fault. */
export function bodyOfSubmitted(message: RawMessage, recipients: readonly string[]): SendEmailBody {
  const { controls, from, subject, text, html, headers } = message
  const control = (name: string) => controls[controlPrefix + name]
  const campaign = control('campaign')
  const args = jsonOf('X-Postrider-Args', control('args'))
  const data = jsonOf('X-Postrider-Template-Data', control('template-data'))
  const sendAt = control('send-at')
  const attempts = control('max-attempts')
  const expiresIn = control('expires-in')
  const settings = {
    ...tracksOf(control('track')),
    ...(attempts === undefined ? {} : { max_attempts: numberOf(attempts) }),
    ...(expiresIn === undefined ? {} : { expires_in: expiresIn }),
  }
  const unsubscribe = headers.find(([name]) => /^list-unsubscribe$/i.test(name))
  const content = [
    ...(text === undefined ? [] : [{ type: 'text/plain', value: text }]),
    ...(html === undefined ? [] : [{ type: 'text/html', value: html }]),
  ]
  const body: unknown = {
    from: { email: from.address },
    to: onceEach(recipients),
    subject: subject.replace(/\p{Cc}/gu, ' ').slice(0, subjectLengthMax),
    content: content.length > 0 ? content : [{ type: 'text/plain', value: ' ' }],
    ...(campaign === undefined ? {} : { campaign_id: campaign }),
    ...(args === undefined ? {} : { custom_args: args }),
    ...(data === undefined ? {} : { template_data: data }),
    ...(sendAt === undefined ? {} : { send_at: sendAt }),
    ...(Object.keys(settings).length === 0 ? {} : { settings }),
    ...(unsubscribe === undefined ? {} : { headers: { 'List-Unsubscribe': '-' } }),
  }
  const checked = checkBody(body)
  if (checked !== true) throw checked.error
  return body as SendEmailBody
}

/** By the names that the program wrote. */
export function namedByField(error: unknown): unknown {
  if (!(error instanceof ApiError) || error.errors === undefined) return error
  const named = (path: string) => FIELDS.find(([of]) => path.startsWith(of))?.[1]
  const errors: FieldError[] = error.errors.map(({ path, message }) => ({
    path: named(path) ?? path,
    message,
  }))
  return new ApiError(error.code, { message: error.message, errors })
}

/** What a body of sendEmail may not hold is refused here, too, by its path within the field. */
function jsonOf(field: string, value: string | undefined): unknown {
  if (value === undefined) return undefined
  try {
    return parseJson(Buffer.from(value))
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    const { errors = [{ path: '', message: 'must be a JSON object' }] } = error
    throw validationError(...errors.map((one) => ({ ...one, path: field + one.path })))
  }
}

function tracksOf(value: string | undefined): Record<string, boolean> {
  const names = (value ?? '').split(',').map((name) => name.trim().toLowerCase())
  const settings: Record<string, boolean> = {}
  for (const name of names.filter((one) => one !== '')) {
    if (!Object.hasOwn(TRACKS, name))
      throw validationError({
        path: 'X-Postrider-Track',
        message: 'must be a list of opens, clicks and unsubscribe, with commas between',
      })
    settings[TRACKS[name as keyof typeof TRACKS]] = true
  }
  return settings
}

/** What is no number is refused as such by the schema. */
function numberOf(text: string): number | string {
  return /^\d{1,6}$/.test(text) ? Number(text) : text
}

/** Who stands in neither To nor Cc gets a blind copy. Recipients are numbered in the order of their types. */
export function typedRecipients(
  { to, cc }: RawMessage,
  recipients: readonly Recipient[],
): readonly Recipient[] {
  const shown = { to: keysOf(to), cc: keysOf(cc) }
  const typed = recipients.map((recipient) => {
    const key = addressKeyOf(recipient.address)
    const type: RecipientType = shown.to.has(key) ? 'to' : shown.cc.has(key) ? 'cc' : 'bcc'
    return { ...recipient, type }
  })
  return recipientTypes.flatMap((type) => typed.filter((one) => one.type === type))
}

/** Each address once, however it is spelled. */
function onceEach(recipients: readonly string[]): EmailAddressInput[] {
  const byKey = new Map<string, string>()
  for (const email of recipients) if (!byKey.has(keyOf(email))) byKey.set(keyOf(email), email)
  return [...byKey.values()].map((email) => ({ email }))
}

function keysOf(mailboxes: RawMessage['to']): ReadonlySet<string> {
  return new Set(mailboxes.map(({ address }) => addressKeyOf(address)))
}

function keyOf(email: string): string {
  const parsed = parseAddress(email)
  return addressKeyOf(parsed.ok ? parsed.address.address : email)
}
