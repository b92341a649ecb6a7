import { zeroTracking } from '@postrider/contract'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { formatMicros } from '../../platform/clock.ts'
import { type NewEvent, serializeEvent } from './event.ts'
import { readBody, shortenBody } from './short-body.ts'

const refId = '01JD4M8W6ZQ3V5T7X9Y2A4C6E8'
const eventAtMicros = 1_764_422_411_123_456n
const eventAt = formatMicros(eventAtMicros)
const row = { refId, eventAt }

const common = {
  ref_id: refId,
  mailer_id: 'ml_01JD4M8W6ZQ3V5T7X9Y2A4C6E9',
  email: ['ada@example.com'],
  custom_args: { order_id: 1234 },
  message_id: `<${refId}.0@example.com>`,
  thread_id: '',
}
const read = {
  ...zeroTracking,
  time: eventAt,
  ip: '192.0.2.7',
  user_agent:
    'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36',
  browser_name: 'Chrome',
  browser_version: '142.0.0.0',
  os: 'Windows 10',
  device_type: 'desktop',
  platform: 'Windows',
}
const quiet = { ...common, tracking: zeroTracking, failed_reason: '' }
const engaged = { ...common, tracking: read, failed_reason: '' }

const events: Record<NewEvent['event'], Pick<NewEvent, 'success' | 'details'>> = {
  MAIL_DELIVERED: { success: true, details: quiet },
  MAIL_OPENED: { success: true, details: engaged },
  MAIL_CLICKED: {
    success: true,
    details: { ...engaged, tracking: { ...read, url: 'https://example.com/?a=ä' } },
  },
  MAIL_UNSUBSCRIBED: {
    success: true,
    details: { ...engaged, tracking: { ...read, country: 'NL', city: 'Ede' } },
  },
  MAIL_BOUNCE: { success: false, details: { ...quiet, error_code: '550', num_retries: 1 } },
  MAIL_SPAM: { success: false, details: { ...quiet, custom_args: null } },
  MAIL_POLICY_REJECTION: { success: false, details: quiet },
  MAIL_GENERATION_FAILURE: { success: false, details: quiet },
  MAIL_GENERATION_REJECTION: { success: false, details: quiet },
  SMTP_ERROR: {
    success: false,
    details: { ...quiet, failed_reason: 'no such user', attempt: 1, max_attempts: 3 },
  },
  PHISHING: { success: false, details: { ...quiet, message_id: '' } },
  MAILER_DEACTIVATED: { success: false, details: { mailer_id: 'ml_1', config_type: 'smtp' } },
  DOMAIN_VERIFICATION: { details: { domain: 'example.com', verified: true } },
  INCOMING_EMAIL: {
    success: true,
    details: { inbound_id: 'in_1', text: 'Hello\u0001\n'.repeat(20) },
  },
  IMAP_ERROR: { success: false, details: { mailer_id: 'ml_1', failed_reason: 'closed' } },
}

function jsonOf(name: NewEvent['event']): string {
  const event = { tenantId: 'tn_a', refId, event: name, eventAtMicros, traceparent: '' }
  return serializeEvent({ ...event, ...events[name] }, eventAtMicros)
}

describe('the body of an event in the log', () => {
  it.each(Object.keys(events) as NewEvent['event'][])('gives each byte of %s back', (name) => {
    const json = jsonOf(name)
    expect(readBody({ ...shortenBody(json, row), ...row })).toBe(json)
  })

  it('is a quarter of the usual ones', () => {
    for (const name of ['MAIL_DELIVERED', 'MAIL_OPENED'] as const) {
      const json = jsonOf(name)
      const { body, octets } = shortenBody(json, row)
      expect(octets).toBe(Buffer.byteLength(json))
      expect(Buffer.byteLength(body)).toBeLessThan(octets / 3.5)
    }
  })

  // Events are read for years: this is what the characters of version 1 stand for.
  it('never changes what is stored', () => {
    expect(shortenBody(jsonOf('MAIL_DELIVERED'), row)).toMatchInlineSnapshot(`
      {
        "body": ""ml_01JD4M8W6ZQ3V5T7X9Y2A4C6E9"	"ada@example.com"
      {"order_id":1234}"<.0@example.com>"
      "}}",
        "octets": 531,
      }
    `)
    expect(shortenBody(jsonOf('MAIL_OPENED'), row)).toMatchInlineSnapshot(`
      {
        "body": ""ml_01JD4M8W6ZQ3V5T7X9Y2A4C6E9"	"ada@example.com"
      {"order_id":1234}"<.0@example.com>"
      192.0.2.7142Chrome142.0.0.0Windows 10desktopWindows"}}",
        "octets": 714,
      }
    `)
    expect(shortenBody(jsonOf('MAIL_CLICKED'), row)).toMatchInlineSnapshot(`
      {
        "body": ""ml_01JD4M8W6ZQ3V5T7X9Y2A4C6E9"	"ada@example.com"
      {"order_id":1234}"<.0@example.com>"
      192.0.2.7142Chrome142.0.0.0Windows 10desktopWindows","city":"","region":"","time_zone":"","bot":false,"url":"https://example.com/?a=ä"},"failed_reason":""}}",
        "octets": 749,
      }
    `)
    expect(shortenBody(jsonOf('MAIL_SPAM'), row)).toMatchInlineSnapshot(`
      {
        "body": "{"event":"MAIL_SPAM"ml_01JD4M8W6ZQ3V5T7X9Y2A4C6E9"	"ada@example.com""<.0@example.com>"
      "}}",
        "octets": 514,
      }
    `)
    const every = Array.from({ length: 28 }, (_, i) => String.fromCharCode(i + 4)).join('|')
    expect(
      readBody({ body: `\x01\x02|\x03|${every}`, octets: 1180, ...row }).split('|'),
    ).toMatchInlineSnapshot(`
      [
        "01JD4M8W6ZQ3V5T7X9Y2A4C6E8",
        "2025-11-29T13:20:11.123456Z",
        "{"event":"MAIL_DELIVERED","success":true,"details":{"webhook_id":"","ref_id":"",
        "{"event":"MAIL_OPENED","success":true,"details":{"webhook_id":"","ref_id":"",
        "{"event":"MAIL_CLICKED","success":true,"details":{"webhook_id":"","ref_id":"",
        "","success":false,"details":{"webhook_id":"","ref_id":"",
        "","mailer_id":",
        ","email":[",
        "],"custom_args":",
        "],"custom_args":null,"message_id":",
        ","message_id":",
        ","thread_id":"","tracking":{"time":"",
        "","ip":"","user_agent":"","browser_name":"","browser_version":"","os":"","device_type":"","platform":"","country":"","city":"","region":"","time_zone":"","bot":false},"failed_reason":"",
        "","ip":"",
        "","user_agent":"",
        "","browser_name":"",
        "","browser_version":"",
        "","os":"",
        "","device_type":"",
        "","platform":"",
        "","url":"",
        "","country":"","city":"","region":"","time_zone":"","bot":false},"failed_reason":"",
        "","country":"",
        "","event_at":"",
        "Mozilla/5.0 (",
        "Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/",
        " AppleWebKit/537.36 (KHTML, like Gecko) Chrome/",
        ".0.0.0 Safari/537.36",
        "Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko)",
        " like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko)",
      ]
    `)
  })

  it('leaves an address and a mailer as they are written, for filters', () => {
    const address = fc
      .tuple(fc.constantFrom(refId, 'ada', eventAt, '"Mozilla/5.0 ("', '"] , "'), fc.emailAddress())
      .map(([local, email]) => `${local}${email}`)
    fc.assert(
      fc.property(address, (email) => {
        const json = jsonOf('MAIL_OPENED').replace('"ada@example.com"', () => JSON.stringify(email))
        const { body } = shortenBody(json, row)
        expect(body).toContain(JSON.stringify(email))
        expect(body).toContain(`"${common.mailer_id}"`)
      }),
    )
  })

  it('gives each byte of any body back', () => {
    const pieces = fc.constantFrom(
      ...[jsonOf('MAIL_OPENED'), jsonOf('SMTP_ERROR'), '"', '\\', '\x01', '\x07', '\x1f', '\n'],
      ...[refId, eventAt, `"${refId}"`, `"${eventAt}"`, ',"email":["\\"', 'ä', '😀', '\ud800'],
      ...[
        '.0.0.0 Safari/537.36',
        '","ip":"',
        '],"custom_args":null',
        'Mozilla/5.0 (Windows NT 10.0; ',
      ],
    )
    const cut = fc
      .tuple(pieces, fc.nat(700), fc.nat(700))
      .map(([text, a, b]) => text.slice(a % 300, b))
    const body = fc
      .array(fc.oneof(pieces, cut, fc.string({ unit: 'binary' }), fc.json()), { maxLength: 20 })
      .map((parts) => parts.join('').toWellFormed())
    const beside = fc.record({
      refId: fc.constantFrom('', refId, 'a', '$&', '"'),
      eventAt: fc.constantFrom(
        eventAt,
        '+010000-01-01T00:00:00.000000Z',
        '0000-01-01T00:00:00.000000Z',
      ),
    })
    fc.assert(
      fc.property(body, beside, (json, of) => {
        const stored = shortenBody(json, of)
        expect(readBody({ ...stored, ...of })).toBe(json)
        expect(stored.body.length).toBeLessThanOrEqual(json.length)
      }),
      { numRuns: 300 },
    )
  })

  it('is refused when it is damaged, by the event that it is of', () => {
    const { body, octets } = shortenBody(jsonOf('MAIL_DELIVERED'), row)
    const of = `the stored body of an event of "${refId}" at ${eventAt}`
    const reading = (text: string) => () => readBody({ body: text, octets, ...row })
    expect(reading(body.slice(0, -1))).toThrow(
      `${of} is damaged: it has ${octets - 1} of ${octets}`,
    )
    expect(reading(`${body}\x00`)).toThrow(
      `${of} is damaged: it has a character that means nothing`,
    )
    expect(reading(`\x05${body}`)).toThrow(`${of} is of a version that this program does not know`)
  })
})
