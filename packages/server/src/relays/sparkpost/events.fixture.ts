/** Events in the forms that SparkPost documents and was seen to send; every value is made up. */
import { refId } from './mail.fixture.ts'

/** What all events of a message have. */
const MESSAGE = {
  campaign_id: 'spring',
  customer_id: '17',
  event_id: '92356927693813856',
  friendly_from: 'news@example.com',
  ip_pool: 'shared',
  message_id: '000443ee14578172be22',
  msg_from: 'msprvs1=19=bounces-1@example.com',
  rcpt_meta: { postrider_ref: `${refId}.3` },
  rcpt_tags: [],
  rcpt_to: 'ann@example.net',
  raw_rcpt_to: 'Ann@example.net',
  subaccount_id: '0',
  subject: 'Hello',
  template_id: 'template_65832150921904138',
  template_version: '0',
  timestamp: '1454442600',
  transmission_id: '65832150921904138',
}
const DELIVERY = {
  delv_method: 'esmtp',
  ip_address: '192.0.2.25',
  msg_size: '1337',
  queue_time: '1204',
  routing_domain: 'example.net',
  sending_ip: '192.0.2.10',
}
const REFUSED = {
  bounce_class: '10',
  error_code: '550',
  raw_reason: '550 5.1.1 <Ann@example.net>: no such user',
  reason: '550 5.1.1 <...@...>: no such user',
}

function event(className: string, type: string, fields: object = {}) {
  return { msys: { [className]: { type, ...MESSAGE, ...fields } } }
}

/** Without what the documents do not have for it. */
function without(names: readonly string[], fields: object): object {
  return Object.fromEntries(Object.entries(fields).filter(([name]) => !names.includes(name)))
}

export const EVENTS = {
  injection: event('message_event', 'injection', { msg_size: '1337', sending_ip: '192.0.2.10' }),
  delivery: event('message_event', 'delivery', { ...DELIVERY, num_retries: '1' }),
  delay: event('message_event', 'delay', {
    ...DELIVERY,
    bounce_class: '21',
    error_code: '454',
    num_retries: '1',
    raw_reason: '454 4.4.4 [internal] no MX or A for domain',
  }),
  bounce: event('message_event', 'bounce', { ...DELIVERY, ...REFUSED, num_retries: '2' }),
  outOfBand: {
    msys: {
      message_event: without(
        ['transmission_id', 'rcpt_meta', 'friendly_from', 'subject', 'rcpt_tags'],
        { type: 'out_of_band', ...MESSAGE, ...REFUSED, delv_method: 'esmtp' },
      ),
    },
    cust: { id: '17' },
  },
  spamComplaint: event('message_event', 'spam_complaint', {
    fbtype: 'abuse',
    report_by: 'fbl.example.net',
    report_to: 'abuse.example.com',
    user_str: '',
  }),
  policyRejection: event('message_event', 'policy_rejection', {
    bounce_class: '25',
    error_code: '550',
    raw_reason: '550 5.7.1 the content is not wanted',
    remote_addr: '192.0.2.1:4321',
  }),
  generationFailure: {
    msys: {
      // The documents have it as a `gen_event`.
      message_event: without(['message_id', 'subject'], {
        type: 'generation_failure',
        ...MESSAGE,
        event_id: '0a1b2c3d-0000-4000-8000-000000000001',
        error_code: '554',
        raw_reason: '554 5.3.3 [internal] Error while rendering part html: line 1',
        rcpt_subs: {},
        timestamp: '2018-10-11T23:24:45.123+00:00',
      }),
    },
  },
  generationRejection: event('gen_event', 'generation_rejection', {
    error_code: '554',
    raw_reason: '554 5.7.1 [internal] not generated',
    timestamp: 1454442600,
  }),
  listUnsubscribe: event('unsubscribe_event', 'list_unsubscribe', {
    mailfrom: 'ann@example.net',
    sending_ip: '192.0.2.10',
  }),
  linkUnsubscribe: event('unsubscribe_event', 'link_unsubscribe', {
    mailfrom: 'ann@example.net',
    sending_ip: '192.0.2.10',
    ip_address: '198.51.100.7',
    user_agent: 'Mozilla/5.0 (X11; Linux x86_64)',
  }),
} as const

/** Events of no consequence, and one that does not exist. */
export const OTHERS = [
  ['track_event', 'open'],
  ['track_event', 'initial_open'],
  ['track_event', 'click'],
  ['track_event', 'amp_open'],
  ['track_event', 'amp_initial_open'],
  ['track_event', 'amp_click'],
  ['relay_event', 'relay_injection'],
  ['relay_event', 'relay_rejection'],
  ['relay_event', 'relay_delivery'],
  ['relay_event', 'relay_tempfail'],
  ['relay_event', 'relay_permfail'],
  ['message_event', 'sms_status'],
  ['ab_test_event', 'ab_test_completed'],
  ['message_event', 'constructor'],
  ['message_event', 'teleported'],
].map(([className = '', type = '']) => ({ type, event: event(className, type) }))

/** A bounce with these fields in place of its own. */
export function bounce(fields: object, type = 'bounce') {
  return event('message_event', type, { ...REFUSED, ...fields })
}
