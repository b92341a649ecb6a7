import { Value } from 'typebox/value'
import { describe, expect, expectTypeOf, it } from 'vitest'
import { eventNames, schemaOf } from '../../test/event-schemas.ts'
import type { SmtpError } from './event-types.ts'
import { exampleEvent, exampleRequest } from './examples.ts'
import { parseWebhook } from './parse-webhook.ts'

describe('exampleEvent', () => {
  it.each([...schemaOf])('[6] makes a %s that matches its schema', (name, schema) => {
    const event = exampleEvent(name)
    expect([...Value.Errors(schema, event)]).toStrictEqual([])
    expect(event.event).toBe(name)
  })

  it.each(eventNames)('makes a %s that the parser accepts', (name) => {
    expect(parseWebhook(JSON.stringify(exampleEvent(name)))).toStrictEqual([exampleEvent(name)])
  })

  it('accepts other details, and leaves out undefined ones', () => {
    const { details } = exampleEvent('SMTP_ERROR', {
      attempt: 5,
      retry_scheduled: false,
      provider_error: undefined,
    })
    expect(details).toMatchObject({ attempt: 5, retry_scheduled: false, max_attempts: 5 })
    expect(details).not.toHaveProperty('provider_error')
  })

  it('makes an event of a mailbox with its mailer only, and no envelope', () => {
    const { details } = exampleEvent('INCOMING_EMAIL', { mailer_id: 'imap_1' })
    expect(details).toHaveProperty('mailer_id', 'imap_1')
    for (const name of ['domain', 'username', 'envelope']) expect(details).not.toHaveProperty(name)
    expect(parseWebhook(exampleEvent('INCOMING_EMAIL', { mailer_id: 'imap_1' }))).toHaveLength(1)
  })

  it('shares no object with the one before it', () => {
    exampleEvent('MAIL_CLICKED').details.tracking.url = 'changed'
    exampleEvent('MAIL_CLICKED').details.email.push('changed')
    expect(JSON.stringify(exampleEvent('MAIL_CLICKED'))).not.toContain('changed')
  })

  it('has the type of its event, and only details of that event', () => {
    expectTypeOf(exampleEvent('SMTP_ERROR')).toEqualTypeOf<SmtpError>()
    // @ts-expect-error a delivery has no attempt
    exampleEvent('MAIL_DELIVERED', { attempt: 1 })
    // @ts-expect-error an attempt is a number
    exampleEvent('SMTP_ERROR', { attempt: '1' })
  })
})

describe('exampleRequest', () => {
  it('[6.2.1 6.2.5 5.2] is a POST of an array with the registered headers', async () => {
    const events = [exampleEvent('MAIL_DELIVERED'), exampleEvent('MAIL_OPENED')]
    const request = exampleRequest(events, { headers: { 'X-Webhook-Secret': 'secret' } })
    expect(request.method).toBe('POST')
    expect(request.headers.get('content-type')).toBe('application/json')
    expect(request.headers.get('x-webhook-secret')).toBe('secret')
    expect(request.headers.get('traceparent')).toMatch(/^00-[0-9a-f]{32}-[0-9a-f]{16}-01$/)
    expect(await request.json()).toStrictEqual(events)
  })

  it('[2.7 6.3] is a single object for one event', async () => {
    const event = exampleEvent('DOMAIN_VERIFICATION')
    const request = exampleRequest(event, { url: 'https://a.example.com/b', traceparent: 'none' })
    expect(request.url).toBe('https://a.example.com/b')
    expect(request.headers.get('traceparent')).toBe('none')
    expect(await request.json()).toStrictEqual(event)
  })
})
