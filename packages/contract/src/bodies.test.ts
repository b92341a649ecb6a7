import type { TSchema } from 'typebox'
import { Value } from 'typebox/value'
import { describe, expect, expectTypeOf, it } from 'vitest'
import {
  type EventName,
  listWebhookDeliveriesQuery,
  type ReplayWebhookEventsBody,
  replayWebhookEventsBody,
} from './deliveries.ts'
import type { PostriderEvent } from './events.ts'
import { configureSmtpBody, type Mailer, updateSmtpBody } from './mailers.ts'
import { operations } from './operations.ts'
import { contentLengthMax, type SendEmailBody, sendEmailAnswer, sendEmailBody } from './sending.ts'
import { createApiKeyBody, createTenantBody } from './tenants.ts'
import {
  deleteWebhookBody,
  type RegisterWebhookBody,
  registerWebhookBody,
  updateWebhookBody,
  webhook,
} from './webhooks.ts'

const registration = {
  webhook_url: 'https://hooks.example.com/',
  event: 'EMAIL_EVENT',
  method: 'POST',
  headers: { 'X-Secret': 's' },
  webhook_options: { events: { delivery: true, imap_error: false } },
} satisfies RegisterWebhookBody

const selection = {
  start: '2026-11-20',
  end: '2026-11-20T18:00:00Z',
  event: 'IMAP_ERROR',
  ref_id: '01JD4M8W6ZQ3V5T7X9Y2A4C6E8',
} satisfies ReplayWebhookEventsBody

const smtp = {
  name: 'News',
  email: 'news@example.com',
  config_type: 'smtp',
  connection_type: 'basic',
  config: { host: 'smtp.example.com', port: 587, username: 'u', password: 'p', secure: 'Auto' },
  limits: { connections: 5, per_second: 10 },
  uncertain: 'at_most_once',
  verify: false,
}

const email = {
  from: { email: 'news@example.com', name: 'News' },
  to: [{ email: 'ada@example.com', template_data: { name: 'A' }, custom_args: { order: 1 } }],
  cc: [{ email: 'bob@example.com' }],
  bcc: [{ email: 'eve@example.com' }],
  subject: 'Hello',
  content: [{ type: 'text/plain', value: 'Hello' }],
  replyTo: { email: 'reply@example.com' },
  headers: { 'X-Order': '1' },
  attachments: [{ filename: 'a.txt', content: 'aGk=', type: 'text/plain', content_id: 'a' }],
  custom_args: { order: { id: 1, tags: [null, true] } },
  campaign_id: 'c',
  mailer_id: 'smtp_01JD4M8W6ZQ3V5T7X9Y2A4C6E8',
  settings: { max_attempts: 5, expires_in: '6h', open_tracking: false },
  template_data: { name: 'Ada' },
  send_at: '2026-11-20T18:00:00Z',
} satisfies SendEmailBody

const bodies: readonly (readonly [string, TSchema, Record<string, unknown>])[] = [
  ['registerWebhookBody', registerWebhookBody, registration],
  ['updateWebhookBody', updateWebhookBody, { ...registration, active: false }],
  ['deleteWebhookBody', deleteWebhookBody, { event: 'DOMAIN_VERIFICATION' }],
  ['listWebhookDeliveriesQuery', listWebhookDeliveriesQuery, { ...selection, status: 'parked' }],
  ['replayWebhookEventsBody', replayWebhookEventsBody, { ...selection, undelivered: true }],
  ['configureSmtpBody', configureSmtpBody, smtp],
  ['updateSmtpBody', updateSmtpBody, { mailer_id: 'smtp_1', config: { password: 'q' } }],
  ['sendEmailBody', sendEmailBody, email],
  ['createTenantBody', createTenantBody, { name: 'Acme' }],
  ['createApiKeyBody', createApiKeyBody, { name: 'ci', scopes: ['send'], expires_at: 'x' }],
]

/** Every object in a value, with a function that gives the whole with one object replaced. */
function* objectsIn(
  value: unknown,
  rebuild: (replacement: unknown) => unknown,
  path = '',
): Generator<{ path: string; object: object; rebuild: (replacement: unknown) => unknown }> {
  if (typeof value !== 'object' || value === null) return
  if (!Array.isArray(value)) yield { path, object: value, rebuild }
  for (const [key, child] of Object.entries(value)) {
    const replaceChild = (replacement: unknown) =>
      rebuild(
        Array.isArray(value)
          ? value.map((item, index) => (String(index) === key ? replacement : item))
          : { ...value, [key]: replacement },
      )
    yield* objectsIn(child, replaceChild, `${path}/${key}`)
  }
}

const openMaps = /^(\/to\/\d+)?\/(headers|custom_args|template_data)/

describe.each(bodies)('%s', (_, schema, body) => {
  it('accepts a full body', () => {
    expect(Value.Check(schema, body)).toBe(true)
  })

  it('refuses an unknown field at every level that is not a map of the caller', () => {
    for (const { path, object, rebuild } of objectsIn(body, (replacement) => replacement)) {
      if (openMaps.test(path)) continue
      expect(Value.Check(schema, rebuild({ ...object, surprise: 1 })), path).toBe(false)
    }
  })

  it('refuses a value of another type in place of every field', () => {
    for (const { path, object, rebuild } of objectsIn(body, (replacement) => replacement)) {
      if (/^(\/to\/\d+)?\/(custom_args|template_data)/.test(path)) continue
      for (const [key, value] of Object.entries(object)) {
        const other = typeof value === 'string' ? 5 : 'x'
        expect(Value.Check(schema, rebuild({ ...object, [key]: other })), `${path}/${key}`).toBe(
          false,
        )
      }
    }
  })

  it('has no default that a validator could fill in', () => {
    expect(JSON.stringify(schema)).not.toContain('"default"')
  })
})

describe('webhook bodies', () => {
  it('[4.1] accept POST only, and both event types', () => {
    expect(Value.Check(registerWebhookBody, { ...registration, method: 'PUT' })).toBe(false)
    expect(Value.Check(registerWebhookBody, { ...registration, method: 'post' })).toBe(false)
    expect(Value.Check(registerWebhookBody, { ...registration, event: 'IMAP_ERROR' })).toBe(false)
    expect(
      Value.Check(registerWebhookBody, { ...registration, event: 'DOMAIN_VERIFICATION' }),
    ).toBe(true)
  })

  it.each(['webhook_url', 'event', 'method'])('[4.1] require %s', (name) => {
    expect(Value.Check(registerWebhookBody, { ...registration, [name]: undefined })).toBe(false)
  })

  it('[4.2] require only event on update', () => {
    expect(Value.Check(updateWebhookBody, { event: 'EMAIL_EVENT' })).toBe(true)
    expect(Value.Check(updateWebhookBody, {})).toBe(false)
  })

  it('refuse a header whose name hides a value of another type behind a line break', () => {
    const headers = { 'X-A\nX-B': 5 }
    expect(Value.Check(registerWebhookBody, { ...registration, headers })).toBe(false)
  })

  it('[4.2] have no header values in the list of webhooks', () => {
    expect(webhook.properties).not.toHaveProperty('headers')
    expect(Object.keys(webhook.properties)).toStrictEqual([
      'webhook_id',
      'event',
      'url',
      'method',
      'active',
      'paused',
      'options',
      'headers_present',
      'signing',
      'created_at',
      'updated_at',
    ])
  })
})

describe('webhook deliveries', () => {
  it('can be filtered by every event type, and by no other', () => {
    expectTypeOf<EventName>().toEqualTypeOf<PostriderEvent['event']>()
    expect(Value.Check(listWebhookDeliveriesQuery, { event: 'MAILER_DEACTIVATED' })).toBe(true)
    expect(Value.Check(listWebhookDeliveriesQuery, { event: 'EMAIL_EVENT' })).toBe(false)
  })
})

describe('SMTP bodies', () => {
  const withConfig = (config: object) => ({ ...smtp, config: { ...smtp.config, ...config } })

  it('[4.3] accept the four secure modes and no other', () => {
    for (const secure of ['Auto', 'Tls', 'SSL', 'None']) {
      expect(Value.Check(configureSmtpBody, withConfig({ secure })), secure).toBe(true)
    }
    expect(Value.Check(configureSmtpBody, withConfig({ secure: 'tls' }))).toBe(false)
  })

  it.each([0, 65536, 1.5, '587'])('refuse port %s', (port) => {
    expect(Value.Check(configureSmtpBody, withConfig({ port }))).toBe(false)
  })

  it.each([{ connections: 0 }, { connections: 51 }, { per_day: 0 }, { per_minute: 0.5 }])(
    'refuse limits %o',
    (limits) => {
      expect(Value.Check(configureSmtpBody, { ...smtp, limits })).toBe(false)
    },
  )

  it('accept a server without login, both connection types and the synonym of smtp', () => {
    const { username: _, password: __, ...config } = smtp.config
    expect(Value.Check(configureSmtpBody, { ...smtp, config })).toBe(true)
    expect(Value.Check(configureSmtpBody, { ...smtp, connection_type: 'oauth' })).toBe(true)
    expect(Value.Check(configureSmtpBody, { ...smtp, config_type: 'basic_smtp' })).toBe(true)
    expect(Value.Check(configureSmtpBody, { ...smtp, config_type: 'imap' })).toBe(false)
  })

  it('never answer a secret', () => {
    expectTypeOf<Mailer['config']>().not.toHaveProperty('password')
  })
})

describe('sendEmailBody', () => {
  it.each(['from', 'to', 'subject', 'content'])('requires %s', (name) => {
    const { [name]: _, ...rest } = email as Record<string, unknown>
    expect(Value.Check(sendEmailBody, rest)).toBe(false)
  })

  it('requires no subject and no content with template_id', () => {
    const { subject: _, content: __, ...rest } = email
    expect(Value.Check(sendEmailBody, { ...rest, template_id: 'tpl_1' })).toBe(true)
    expect(Value.Check(sendEmailBody, { ...rest, template_version: 1 })).toBe(false)
  })

  it.each([
    ['no recipient', { to: [] }],
    ['no content', { content: [] }],
    ['content of a third type', { content: [{ type: 'text/x', value: '' }] }],
    ['max_attempts 0', { settings: { max_attempts: 0 } }],
    ['max_attempts 21', { settings: { max_attempts: 21 } }],
    ['custom_args that are a list', { custom_args: [] }],
    [
      'content of more than 5 Mi characters',
      { content: [{ type: 'text/plain', value: 'x'.repeat(contentLengthMax + 1) }] },
    ],
    ['a subject of 999 characters', { subject: 'x'.repeat(999) }],
    ['51 attachments', { attachments: Array(51).fill({ filename: 'a', content: '' }) }],
  ])('refuses %s', (_, change) => {
    expect(Value.Check(sendEmailBody, { ...email, ...change })).toBe(false)
  })
})

describe('sendEmailAnswer', () => {
  it('has the reference id and the status of each recipient', () => {
    const recipients = [{ email: 'ada@example.com', type: 'to', status: 'queued' }]
    const value = { success: true, message: 'Email accepted', ref_id: 'x', recipients }
    expect(Value.Check(sendEmailAnswer, value)).toBe(true)
    expect(Value.Check(sendEmailAnswer, { ...value, success: false })).toBe(false)
  })
})

describe('operations', () => {
  it('have one method and path each', () => {
    const routes = Object.values(operations).map(({ method, path }) => `${method} ${path}`)
    expect(new Set(routes).size).toBe(routes.length)
  })
})
