/** What a test event says: sound in every field, so that a receiver treats it as one that happened. */
import { zeroTracking } from '@postrider/contract'
import { isId, newId, newUlid } from '../../platform/ids.ts'
import type { EventName, NewEvent } from '../events/event.ts'

type Sample = Pick<NewEvent, 'event' | 'success' | 'attempt' | 'details' | 'refId'>

const RECIPIENT = 'test@example.com'
const TRACKED = {
  ...zeroTracking,
  ip: '192.0.2.1',
  user_agent: 'Postrider test event',
}

/** @param owner of an incoming webhook, its mailbox or route */
export function sampleEvent(event: EventName, owner: string, now: Date): Sample {
  const { success, refId = '', ...sample } = SAMPLES[event](owner, now)
  const details = { ...sample.details, test: true }
  return { event, refId, ...sample, details, ...(success === undefined ? {} : { success }) }
}

type Made = Omit<Sample, 'event' | 'refId'> & { readonly refId?: string }

const failed = (reason: string) => () => ofMessage(false, { failed_reason: reason })

const SAMPLES: Readonly<Record<EventName, (owner: string, now: Date) => Made>> = {
  MAIL_DELIVERED: () => ofMessage(true),
  MAIL_OPENED: (_, now) => ofMessage(true, { tracking: tracked(now) }),
  MAIL_CLICKED: (_, now) =>
    ofMessage(true, { tracking: { ...tracked(now), url: 'https://example.com/' } }),
  MAIL_UNSUBSCRIBED: (_, now) => ofMessage(true, { tracking: tracked(now) }),
  MAIL_BOUNCE: failed('550 5.1.1 No such user'),
  MAIL_SPAM: failed('The recipient reported the message as spam'),
  MAIL_POLICY_REJECTION: failed("The message is against the provider's policy"),
  MAIL_GENERATION_FAILURE: failed('The provider could not make the message'),
  MAIL_GENERATION_REJECTION: failed('The provider refused what the message holds'),
  PHISHING: () =>
    ofMessage(false, { failed_reason: 'The message was taken for phishing', message_id: '' }),
  SMTP_ERROR: () => ({
    ...ofMessage(false, {
      failed_reason: 'The mailbox is busy',
      ...{ attempt: 1, max_attempts: 5, retry_scheduled: true },
      provider_error: '450 4.2.1 Mailbox busy, try later',
    }),
    attempt: 1,
  }),
  MAILER_DEACTIVATED: (owner) => ({
    success: false,
    details: {
      mailer_id: mailerOf(owner) ?? newId('smtp'),
      config_type: mailerOf(owner) === undefined ? 'smtp' : 'imap',
      failed_reason: 'provider_auth_error',
      provider_error: '535 5.7.8 Authentication credentials invalid',
    },
  }),
  DOMAIN_VERIFICATION: () => ({
    details: {
      domain: 'example.com',
      verified: true,
      mailer_id: newId('domain'),
      custom_args: null,
    },
  }),
  IMAP_ERROR: (owner) => ({
    success: false,
    details: {
      mailer_id: mailerOf(owner) ?? newId('imap'),
      failed_reason: 'The mailbox could not be reached',
      provider_error: 'connect ECONNREFUSED',
    },
  }),
  INCOMING_EMAIL: incomingEmail,
}

function ofMessage(success: boolean, change: Readonly<Record<string, unknown>> = {}): Made {
  const refId = newUlid()
  return {
    success,
    refId,
    details: {
      ref_id: refId,
      mailer_id: newId('smtp'),
      email: [RECIPIENT],
      custom_args: null,
      message_id: `<${refId}@example.com>`,
      thread_id: '',
      tracking: zeroTracking,
      failed_reason: '',
      ...change,
    },
  }
}

function tracked(now: Date) {
  return { ...TRACKED, time: now.toISOString() }
}

function mailerOf(owner: string): string | undefined {
  return isId('imap', owner) ? owner : undefined
}

function incomingEmail(owner: string, now: Date): Made {
  const inboundId = newId('in')
  const mailerId = mailerOf(owner)
  const to = 'test@inbound.example.com'
  const place =
    mailerId === undefined
      ? { domain: 'inbound.example.com', username: 'test' }
      : { mailer_id: mailerId }
  const envelope = {
    from: RECIPIENT,
    to: [to],
    remote_ip: '192.0.2.1',
    helo: 'mail.example.com',
    tls: true,
  }
  return {
    success: true,
    refId: inboundId,
    details: {
      ...place,
      inbound_id: inboundId,
      raw_url: `https://mail.example.com/v1/inbound/messages/${inboundId}/raw`,
      message_id: `<${inboundId}@example.com>`,
      in_reply_to: '',
      references: [],
      thread_id: `${inboundId}@example.com`,
      from: { email: RECIPIENT, name: 'Test' },
      to: [{ email: to, name: '' }],
      cc: [],
      reply_to: [],
      subject: 'A test event',
      text: 'No such mail was received.\n',
      html: '',
      headers: [
        { name: 'From', value: `Test <${RECIPIENT}>` },
        { name: 'To', value: to },
        { name: 'Subject', value: 'A test event' },
      ],
      attachments: [],
      spf: { result: 'none' },
      dkim: [],
      dmarc: { result: 'none' },
      received_at: now.toISOString(),
      ...(mailerId === undefined ? { envelope } : { folder: 'INBOX' }),
    },
  }
}
