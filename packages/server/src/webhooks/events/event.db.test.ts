import {
  domainVerification,
  emailEventRequest,
  imapError,
  messageEventSchemas,
  zeroTracking,
} from '@postrider/contract'
import fc from 'fast-check'
import { Check } from 'typebox/value'
import { describe, expect, it } from 'vitest'
import { newEvent } from '../../../test/webhook-dispatch.ts'
import { formatMicros } from '../../platform/clock.ts'
import { addressEvent, type NewEvent, serializeEvent, serializeRequest } from './event.ts'

const AT = 1_767_323_045_678_901n
const WEBHOOK = 'wh_01JZZZZZZZZZZZZZZZZZZZZZZZ'

/** Whatever a tenant may put into `custom_args`, the splice's own text included. */
const customArgs = fc.oneof(
  fc.constant(null),
  fc.dictionary(fc.string(), fc.jsonValue()),
  fc.constantFrom(
    { details: { webhook_id: '' } },
    { event: 'X', success: true, details: { webhook_id: '' } },
    { x: '"details":{"webhook_id":""' },
    { '"details":{"webhook_id":"': '' },
    { nul: '\0', lone: '\ud800', line: '\u2028' },
  ),
)

describe('an event as it is sent', () => {
  it('[2.4] is the recorded event with the id of the subscription and the time', () => {
    fc.assert(
      fc.property(customArgs, fc.string({ unit: 'binary' }), (args, failedReason) => {
        const details = {
          ...newEvent().details,
          custom_args: args,
          failed_reason: failedReason,
          tracking: zeroTracking,
        }
        const event = newEvent({ details })
        const sent = addressEvent(serializeEvent(event, AT), WEBHOOK)
        expect(JSON.parse(sent)).toStrictEqual(
          JSON.parse(
            JSON.stringify({
              event: 'MAIL_DELIVERED',
              success: true,
              details: { ...details, webhook_id: WEBHOOK, event_at: formatMicros(AT) },
            }),
          ),
        )
      }),
    )
  })

  it('can be stored by PostgreSQL without NUL and lone surrogates', () => {
    const details = { custom_args: { a: '\0', '\0b': '\udfff\ud800' } }
    const body = serializeEvent(newEvent({ details }), AT)
    expect(body.isWellFormed()).toBe(true)
    expect(body).not.toContain('\0')
  })

  it('[2.6, 2.7] matches its schema, also without id, time or success', () => {
    const sent = (change: Partial<NewEvent>) =>
      JSON.parse(addressEvent(serializeEvent({ ...newEvent(), ...change }, AT), WEBHOOK))
    for (const schema of messageEventSchemas) {
      const event = schema.properties.event.const
      const attempts = { attempt: 1, max_attempts: 3, retry_scheduled: true, provider_error: 'x' }
      const details = { ...newEvent().details, ...(event === 'SMTP_ERROR' ? attempts : {}) }
      const success = schema.properties.success.const
      expect(Check(schema, sent({ event, success, details }))).toBe(true)
    }
    const deactivated = {
      mailer_id: 'smtp_1',
      config_type: 'smtp',
      failed_reason: 'oauth_revoked',
      provider_error: 'revoked',
    }
    const event = 'MAILER_DEACTIVATED'
    expect(sent({ event, success: false, details: deactivated })).toStrictEqual({
      event,
      success: false,
      details: deactivated,
    })
    const { success: _, ...verification } = newEvent({
      event: 'DOMAIN_VERIFICATION',
      details: { domain: 'd.test', verified: true, mailer_id: 'domain_1', custom_args: null },
    })
    const verified = JSON.parse(addressEvent(serializeEvent(verification, AT), WEBHOOK))
    expect(Check(domainVerification, verified)).toBe(true)
    expect(verified.details.webhook_id).toBe(WEBHOOK)
    const failure = { mailer_id: 'imap_1', failed_reason: 'timed out' }
    const failed = sent({ event: 'IMAP_ERROR', success: false, details: failure, owner: 'imap_1' })
    expect(Check(imapError, failed)).toBe(true)
    expect(failed.details.event_at).toBe(formatMicros(AT))
    const mail = { mailer_id: 'imap_1', subject: 'hello' }
    const incoming = { event: 'INCOMING_EMAIL', success: true, details: mail } as const
    expect(sent({ ...incoming, owner: 'imap_1' })).toStrictEqual(incoming)
  })

  it('[2.6] is unchanged when it was recorded without webhook_id', () => {
    for (const body of [
      '{"event":"MAILER_DEACTIVATED","success":false,"details":{"mailer_id":"smtp_1"}}',
      '{"event":"IMAP_ERROR","success":false,"details":{"x":{"details":{"webhook_id":""}}}}',
    ])
      expect(addressEvent(body, WEBHOOK)).toBe(body)
  })

  it('[2.7] needs no success field for DOMAIN_VERIFICATION', () => {
    const body = '{"event":"DOMAIN_VERIFICATION","details":{"webhook_id":"","domain":"d.test"}}'
    expect(JSON.parse(addressEvent(body, WEBHOOK))).toEqual({
      event: 'DOMAIN_VERIFICATION',
      details: { webhook_id: WEBHOOK, domain: 'd.test' },
    })
  })
})

describe('a request body', () => {
  const body = serializeEvent(newEvent(), AT)

  it('[6.2.1] is an array of events that match their schema, also for one event', () => {
    for (const count of [1, 3]) {
      const sent = JSON.parse(serializeRequest('array', Array(count).fill({ body }), WEBHOOK))
      expect(sent).toHaveLength(count)
      expect(Check(emailEventRequest, sent)).toBe(true)
    }
  })

  it('[2.7] is one object in single mode', () => {
    expect(serializeRequest('single', [{ body }], WEBHOOK)).toBe(addressEvent(body, WEBHOOK))
  })
})
