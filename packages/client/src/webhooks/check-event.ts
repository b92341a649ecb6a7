/**
 * What makes an event (docs/reference/events.md#fields): the fields that its type in the
 * contract has, each of the right kind.
 *
 * Lists that the service may lengthen are open, and so are objects; an event of another name is
 * let through when it has `details`. A receiver that refused them would have its deliveries
 * divided and parked with the first update of the service.
 */
import type { MessageDetails, Tracking } from '@postrider/contract'
import {
  anyObject,
  type Check,
  count,
  every,
  flaw,
  is,
  isObject,
  listOf,
  literal,
  objectOrNull,
  type RequiredFields,
  shape,
  size,
  text,
  textOrNull,
  time,
  truth,
} from './check.ts'
import type {
  DomainVerification,
  EventName,
  ImapError,
  IncomingEmail,
  MailBounce,
  MailerDeactivated,
  SmtpError,
  UnknownEvent,
} from './event-types.ts'

const tracking = shape<Tracking>(
  {},
  {
    time: text,
    ip: text,
    user_agent: text,
    browser_name: text,
    browser_version: text,
    os: text,
    device_type: text,
    platform: text,
    url: text,
    country: text,
    city: text,
    region: text,
    time_zone: text,
    bot: truth,
  },
)

const messageFields: RequiredFields<MessageDetails> = {
  ref_id: text,
  mailer_id: text,
  email: listOf(text),
  custom_args: objectOrNull,
  message_id: text,
  thread_id: text,
  webhook_id: text,
  event_at: time,
  tracking,
  failed_reason: text,
}
const message = shape<MessageDetails>(messageFields, { test: truth })

const address = shape<IncomingEmail['details']['from']>({ email: text, name: text }, {})
const addresses = listOf(address)
const result = shape<{ result: string }>({ result: text }, {})

type IncomingFields = Omit<IncomingEmail['details'], 'mailer_id' | 'domain' | 'username'>

const incoming = shape<IncomingFields>(
  {
    inbound_id: text,
    raw_url: text,
    message_id: text,
    in_reply_to: text,
    references: listOf(text),
    thread_id: text,
    from: address,
    to: addresses,
    cc: addresses,
    reply_to: addresses,
    subject: text,
    text,
    html: text,
    headers: listOf(shape<{ name: string; value: string }>({ name: text, value: text }, {})),
    attachments: listOf(
      shape<IncomingFields['attachments'][number]>(
        { filename: text, type: text, size, content_id: textOrNull, content: text },
        { url: text },
      ),
    ),
    spf: result,
    dkim: listOf(
      shape<{ result: string; domain: string; selector: string }>(
        { result: text, domain: text, selector: text },
        {},
      ),
    ),
    dmarc: result,
    received_at: time,
  },
  {
    arc: result,
    auto_reply: truth,
    folder: text,
    problem: text,
    test: truth,
    envelope: shape<Required<IncomingFields>['envelope']>(
      { from: text, to: listOf(text), remote_ip: text, helo: text },
      { tls: truth },
    ),
  },
)

const mailbox = shape<{ mailer_id: string }>({ mailer_id: text }, {})
const route = shape<{ domain: string; username: string }>({ domain: text, username: text }, {})
const source: Check = (details) =>
  isObject(details) && Object.hasOwn(details, 'mailer_id') ? mailbox(details) : route(details)

const known = {
  MAIL_DELIVERED: event(true, message),
  MAIL_OPENED: event(true, message),
  MAIL_CLICKED: event(true, message),
  MAIL_UNSUBSCRIBED: event(true, message),
  MAIL_BOUNCE: event(
    false,
    shape<MailBounce['details']>(messageFields, {
      error_code: text,
      num_retries: text,
      test: truth,
    }),
  ),
  MAIL_SPAM: event(false, message),
  MAIL_POLICY_REJECTION: event(false, message),
  MAIL_GENERATION_FAILURE: event(false, message),
  MAIL_GENERATION_REJECTION: event(false, message),
  SMTP_ERROR: event(
    false,
    shape<SmtpError['details']>(
      { ...messageFields, attempt: count, max_attempts: count, retry_scheduled: truth },
      { provider_error: text, test: truth },
    ),
  ),
  PHISHING: event(false, message),
  MAILER_DEACTIVATED: event(
    false,
    shape<MailerDeactivated['details']>(
      { mailer_id: text, config_type: text, failed_reason: text },
      { provider_error: text, test: truth },
    ),
  ),
  DOMAIN_VERIFICATION: shape<DomainVerification>(
    {
      event: text,
      details: shape<DomainVerification['details']>(
        {
          domain: text,
          verified: truth,
          mailer_id: text,
          custom_args: objectOrNull,
          webhook_id: text,
        },
        { test: truth },
      ),
    },
    {},
  ),
  IMAP_ERROR: event(
    false,
    shape<ImapError['details']>(
      { mailer_id: text, failed_reason: text, event_at: time },
      { provider_error: text, test: truth },
    ),
  ),
  INCOMING_EMAIL: event(true, every(source, incoming)),
} as const satisfies Record<EventName, Check>

export function isKnownName(name: string): name is EventName {
  return Object.hasOwn(known, name)
}

const named = is(
  'must be a string of 1 to 100 characters',
  (value) => typeof value === 'string' && value.length >= 1 && value.length <= 100,
)
const unknownEvent = shape<UnknownEvent>({ event: named, details: anyObject }, { success: truth })

export const checkEvent: Check = (value) => {
  if (!isObject(value)) return flaw('must be an object')
  const { event: name } = value
  const check = typeof name === 'string' && isKnownName(name) ? known[name] : unknownEvent
  return check(value)
}

function event(success: boolean, details: Check): Check {
  return shape<{ event: string; success: boolean; details: object }>(
    { event: text, success: literal(success), details },
    {},
  )
}
