import { Value } from 'typebox/value'
import { describe, expect, expectTypeOf, it } from 'vitest'
import {
  coreSubscriptionKeys,
  type EmailEvent,
  emailEvent,
  emailEventRequest,
  eventOfSubscriptionKey,
  isSuccessEvent,
  type MailDelivered,
  type MailerDeactivated,
  messageEventSchemas,
  type PostriderEvent,
  type Recorded,
  type SmtpError,
  subscriptionKeyOfEvent,
  subscriptionKeys,
  type Tracking,
  zeroTracking,
} from './events.ts'

const details = {
  ref_id: '01JD4M8W6ZQ3V5T7X9Y2A4C6E8',
  mailer_id: 'smtp_01JD4M8W6ZQ3V5T7X9Y2A4C6E8',
  email: ['ada@example.com'],
  custom_args: null,
  message_id: '<1@example.com>',
  thread_id: '',
  webhook_id: 'wh_01JD4M8W6ZQ3V5T7X9Y2A4C6E8',
  event_at: '2026-11-20T13:01:02.123456Z',
  tracking: zeroTracking,
  failed_reason: '',
}
const attempt = { attempt: 1, max_attempts: 5, retry_scheduled: true, provider_error: '450 later' }

describe('subscription keys', () => {
  it('[2.2] are twelve, of which ten are core', () => {
    expect(subscriptionKeys).toHaveLength(12)
    expect(coreSubscriptionKeys).toStrictEqual([
      'delivery',
      'open',
      'click',
      'bounce',
      'spam',
      'unsubscribe',
      'policy_rejection',
      'generation_failure',
      'generation_rejection',
      'smtp_error',
    ])
    expect(subscriptionKeys.slice(10)).toStrictEqual(['phishing', 'imap_error'])
  })

  it('[6.1] each switch one event, except imap_error, which is never consulted', () => {
    expect(Object.keys(eventOfSubscriptionKey)).toStrictEqual(subscriptionKeys.slice(0, 11))
    for (const [key, event] of Object.entries(eventOfSubscriptionKey)) {
      expect(subscriptionKeyOfEvent[event]).toBe(key)
    }
  })
})

describe('message events', () => {
  it('[2.3] have success true for exactly the four that succeed', () => {
    for (const schema of messageEventSchemas) {
      const event = schema.properties.event.const
      const extra = event === 'SMTP_ERROR' ? attempt : {}
      const value = { event, success: isSuccessEvent(event), details: { ...details, ...extra } }
      expect(Value.Check(emailEvent, value), event).toBe(true)
      expect(Value.Check(emailEvent, { ...value, success: !value.success }), event).toBe(false)
    }
    expect(
      messageEventSchemas
        .map((s) => s.properties.event.const)
        .filter(isSuccessEvent)
        .sort(),
    ).toStrictEqual(['MAIL_CLICKED', 'MAIL_DELIVERED', 'MAIL_OPENED', 'MAIL_UNSUBSCRIBED'])
  })

  it('[2.4] have every detail that is always present', () => {
    for (const name of Object.keys(details)) {
      const { [name as keyof typeof details]: _, ...rest } = details
      const value = { event: 'MAIL_DELIVERED', success: true, details: rest }
      expect(Value.Check(emailEvent, value), name).toBe(false)
    }
  })

  it('[2.4] carry attempt metadata on SMTP_ERROR only, where provider_error may be absent', () => {
    const { provider_error: _, ...withoutReply } = attempt
    const failed = (extra: object) => ({
      event: 'SMTP_ERROR',
      success: false,
      details: { ...details, ...extra },
    })
    expect(Value.Check(emailEvent, failed(withoutReply))).toBe(true)
    expect(Value.Check(emailEvent, failed({}))).toBe(false)
    expect(Value.Check(emailEvent, { ...failed(attempt), event: 'PHISHING' })).toBe(false)
    expect(Value.Check(emailEvent, failed({ ...attempt, error_code: '1' }))).toBe(false)
  })

  it('[2.4] carry error_code and num_retries on MAIL_BOUNCE, as strings', () => {
    const bounce = (extra: object) => ({
      event: 'MAIL_BOUNCE',
      success: false,
      details: { ...details, ...extra },
    })
    expect(Value.Check(emailEvent, bounce({}))).toBe(true)
    expect(Value.Check(emailEvent, bounce({ error_code: '550', num_retries: '2' }))).toBe(true)
    expect(Value.Check(emailEvent, bounce({ num_retries: 2 }))).toBe(false)
  })

  it('[6.2.1] are always an array, never an empty one', () => {
    const value = { event: 'MAIL_DELIVERED', success: true, details }
    expect(Value.Check(emailEventRequest, [value])).toBe(true)
    expect(Value.Check(emailEventRequest, [])).toBe(false)
    expect(Value.Check(emailEventRequest, value)).toBe(false)
  })
})

describe('zeroTracking', () => {
  it('[2.5] has every key but url, each empty', () => {
    expect(Object.keys(zeroTracking).sort()).toStrictEqual(
      [
        'time',
        'ip',
        'user_agent',
        'browser_name',
        'browser_version',
        'os',
        'device_type',
        'platform',
        'country',
        'city',
        'region',
        'time_zone',
        'bot',
      ].sort(),
    )
    const { bot, ...texts } = zeroTracking
    expect(bot).toBe(false)
    expect(new Set(Object.values(texts))).toStrictEqual(new Set(['']))
    expectTypeOf(zeroTracking).toExtend<Tracking>()
  })
})

describe('MAILER_DEACTIVATED', () => {
  it('[2.6] carries nothing of an email or a subscription', () => {
    const event = {
      event: 'MAILER_DEACTIVATED',
      success: false,
      details: {
        mailer_id: details.mailer_id,
        config_type: 'smtp',
        failed_reason: 'provider_auth_error',
      },
    }
    expect(Value.Check(emailEvent, event)).toBe(true)
    for (const name of ['tracking', 'ref_id', 'email', 'custom_args', 'event_at', 'webhook_id']) {
      const value = { ...event, details: { ...event.details, [name]: 'x' } }
      expect(Value.Check(emailEvent, value), name).toBe(false)
    }
  })
})

describe('event types', () => {
  it('are distinguished by `event`', () => {
    expectTypeOf<Extract<PostriderEvent, { event: 'SMTP_ERROR' }>>().toEqualTypeOf<SmtpError>()
    expectTypeOf<
      Extract<EmailEvent, { event: 'MAILER_DEACTIVATED' }>
    >().toEqualTypeOf<MailerDeactivated>()
    expectTypeOf<SmtpError['details']['retry_scheduled']>().toEqualTypeOf<boolean>()
  })

  it('are recorded without the subscription that will deliver them', () => {
    expectTypeOf<Recorded<MailDelivered>['details']>().not.toHaveProperty('webhook_id')
    expectTypeOf<Recorded<MailDelivered>['details']>().toHaveProperty('ref_id')
    expectTypeOf<Recorded<MailerDeactivated>>().toEqualTypeOf<MailerDeactivated>()
  })
})
