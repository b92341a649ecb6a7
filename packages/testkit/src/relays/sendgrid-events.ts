/** What SendGrid reports of a mail, in the form of its Event Webhook Reference: custom arguments lie among the fields. */
import { randomBytes } from 'node:crypto'
import type { SendGridMail } from './sendgrid-mail.ts'

/** An event, or an event with fields in place of the documented ones; one that is undefined is left out. */
export type SendGridStep = string | { readonly event: string; readonly [field: string]: unknown }

const USER_AGENT = 'Mozilla/4.0 (compatible; MSIE 6.1; Windows XP; .NET CLR 1.1.4322)'

const FIELDS: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  processed: {},
  delivered: { response: '250 OK', ip: '192.0.2.30', tls: 1 },
  deferred: { response: '450 4.2.0 try again later', attempt: '2' },
  bounce: {
    reason: '550 5.1.1 The email account that you tried to reach does not exist',
    status: '5.1.1',
    type: 'bounce',
    bounce_classification: 'Invalid Address',
    ip: '192.0.2.30',
    tls: 1,
  },
  dropped: { reason: 'Bounced Address', status: '5.0.0' },
  spamreport: {},
  unsubscribe: {},
  group_unsubscribe: {
    asm_group_id: 10,
    ip: '198.51.100.7',
    useragent: USER_AGENT,
    url: 'https://example.com/',
  },
  group_resubscribe: {
    asm_group_id: 10,
    ip: '198.51.100.7',
    useragent: USER_AGENT,
    url: 'https://example.com/',
  },
  open: { ip: '198.51.100.7', useragent: USER_AGENT, sg_machine_open: false },
  click: {
    ip: '198.51.100.7',
    useragent: USER_AGENT,
    url: 'https://example.com/',
    url_offset: { index: 0, type: 'html' },
  },
}

export function sendGridEvent(step: SendGridStep, mail: SendGridMail, nowMs: number): unknown {
  const { event, ...changes } = typeof step === 'string' ? { event: step } : step
  const fields: Record<string, unknown> = {
    // Its own names prevail over those of arguments.
    ...mail.meta,
    email: mail.to,
    timestamp: Math.floor(nowMs / 1000),
    'smtp-id': `<${mail.id}@geopod-ismtpd-1>`,
    event,
    ...(mail.categories.length === 0 ? {} : { category: mail.categories }),
    sg_event_id: newSendGridEventId(),
    sg_message_id: mail.messageId,
    ...FIELDS[event],
    ...changes,
  }
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))
}

export function newSendGridEventId(): string {
  return randomBytes(16).toString('base64url')
}

/** A batch as it is sent: not what a JSON writer makes of it again. */
export function writeSendGridBatch(events: readonly unknown[]): string {
  return `[${events.map((event) => JSON.stringify(event)).join(',\r\n')}]\r\n`
}

/** What «Test Your Integration» posts: one of each kind, of no mail that was ever sent. */
export function sendGridTestEvents(nowMs: number): unknown[] {
  const mail = {
    id: '14c5d75ce93.dfd.64b469',
    messageId: '14c5d75ce93.dfd.64b469.filter0001.16648.5515E0B88.0',
    to: 'example@example.com',
    meta: {},
    categories: ['cat facts'],
  } as unknown as SendGridMail
  return Object.keys(FIELDS).map((event) => sendGridEvent(event, mail, nowMs))
}
