/**
 * What SparkPost reports of a mail, in the form of its event documentation: each type with the fields
 * that it documents for it, numbers as strings.
 */
import { randomBytes } from 'node:crypto'
import { domainOf } from './facts.ts'
import type { SparkPostMail } from './sparkpost-transmission.ts'

/** A type, or a type with fields in place of the documented ones; one that is undefined is left out. */
export type SparkPostStep = string | { readonly type: string; readonly [field: string]: unknown }

const GEN = ['generation_failure', 'generation_rejection']
const CLASSES: Readonly<Record<string, readonly string[]>> = {
  track_event: ['open', 'initial_open', 'click', 'amp_open', 'amp_initial_open', 'amp_click'],
  gen_event: GEN,
  unsubscribe_event: ['list_unsubscribe', 'link_unsubscribe'],
  relay_event: [
    'relay_injection',
    'relay_rejection',
    'relay_delivery',
    'relay_tempfail',
    'relay_permfail',
  ],
}
const USER_AGENT = 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko)'

const REFUSED = {
  bounce_class: '10',
  error_code: '550',
  raw_reason: '550 5.1.1 The email account that you tried to reach does not exist',
  reason: '550 5.1.1 The email account that you tried to reach does not exist',
}
const TRANSPORT = { delv_method: 'esmtp', ip_address: '192.0.2.25', sending_ip: '192.0.2.10' }

const FIELDS: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  injection: { sending_ip: TRANSPORT.sending_ip },
  delivery: { ...TRANSPORT, num_retries: '0', queue_time: '642' },
  bounce: { ...TRANSPORT, ...REFUSED, num_retries: '0' },
  out_of_band: { ...TRANSPORT, ...REFUSED },
  delay: {
    ...TRANSPORT,
    bounce_class: '21',
    error_code: '454',
    raw_reason: '454 4.4.4 [internal] no MX or A for domain',
    reason: '454 4.4.4 [internal] no MX or A for domain',
    num_retries: '1',
    queue_time: '1200161',
  },
  policy_rejection: {
    bounce_class: '25',
    error_code: '550',
    raw_reason: '550 5.7.1 Message violates the policy of the sender',
    reason: '550 5.7.1 Message violates the policy of the sender',
    remote_addr: '192.0.2.1',
    sending_ip: TRANSPORT.sending_ip,
  },
  spam_complaint: {
    delv_method: 'esmtp',
    fbtype: 'abuse',
    report_by: 'fbl.example.net',
    report_to: 'abuse.example.com',
    sending_ip: TRANSPORT.sending_ip,
    user_str: '',
  },
  generation_failure: {
    error_code: '554',
    raw_reason: '554 5.3.3 [internal] Error while rendering part html',
    reason: '554 5.3.3 [internal] Error while rendering part html',
    rcpt_subs: {},
  },
  generation_rejection: {
    bounce_class: '25',
    error_code: '554',
    raw_reason: '554 5.7.1 [internal] content rejected',
    reason: '554 5.7.1 [internal] content rejected',
    rcpt_subs: {},
  },
  list_unsubscribe: { mailfrom: 'reader@example.net', sending_ip: TRANSPORT.sending_ip },
  link_unsubscribe: {
    mailfrom: 'reader@example.net',
    sending_ip: TRANSPORT.sending_ip,
    user_agent: USER_AGENT,
    ip_address: '198.51.100.7',
  },
  open: { ...TRANSPORT, ip_address: '198.51.100.7', user_agent: USER_AGENT },
  initial_open: { ...TRANSPORT, ip_address: '198.51.100.7', user_agent: USER_AGENT },
  click: {
    ...TRANSPORT,
    ip_address: '198.51.100.7',
    user_agent: USER_AGENT,
    target_link_name: 'a link',
    target_link_url: 'https://example.com/',
  },
}

/** What the samples of a type leave out of what every event of a mail has. */
const LEFT_OUT: Readonly<Record<string, readonly string[]>> = {
  out_of_band: ['transmission_id', 'rcpt_meta', 'friendly_from', 'subject'],
  generation_failure: ['message_id', 'msg_from', 'subject'],
  generation_rejection: ['message_id', 'msg_from'],
}

export function sparkPostEvent(step: SparkPostStep, mail: SparkPostMail, nowMs: number): unknown {
  const { type, class: givenClass, ...changes } = typeof step === 'string' ? { type: step } : step
  const fields: Record<string, unknown> = {
    type,
    customer_id: '1',
    ...(mail.campaignId === undefined ? {} : { campaign_id: mail.campaignId }),
    event_id: newEventId(),
    friendly_from: mail.from.email,
    ip_pool: 'shared',
    message_id: mail.messageId,
    msg_from: `msprvs1=bounces-1@${domainOf(mail.from.email)}`,
    msg_size: '1337',
    rcpt_meta: mail.meta,
    rcpt_tags: mail.tags,
    rcpt_to: mail.to.toLowerCase(),
    raw_rcpt_to: mail.to,
    routing_domain: domainOf(mail.to),
    subaccount_id: '0',
    subject: mail.subject,
    template_id: `template_${mail.id}`,
    template_version: '0',
    timestamp: String(Math.floor(nowMs / 1000)),
    transmission_id: mail.id,
    ...FIELDS[type],
  }
  for (const name of LEFT_OUT[type] ?? []) delete fields[name]
  const merged = { ...fields, ...changes }
  const kept = Object.entries(merged).filter(([, value]) => value !== undefined)
  return {
    msys: { [String(givenClass ?? classOf(type))]: Object.fromEntries(kept) },
    cust: { id: '1' },
  }
}

/** A large integer as text. */
export function newEventId(): string {
  return (randomBytes(8).readBigUInt64BE() >> 4n).toString()
}

function classOf(type: string): string {
  const own = Object.entries(CLASSES).find(([, types]) => types.includes(type))
  return own?.[0] ?? 'message_event'
}
