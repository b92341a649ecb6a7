import { sendTestEventAnswer } from '@postrider/contract'
import { createWebhookReceiver, type WebhookReceiver } from '@postrider/testkit'
import { Check } from 'typebox/value'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createWebhookApi, testKeyRing, type WebhookApi } from '../../../test/webhook-api.ts'
import { createRateLimit } from '../../platform/limits/rate-limit.ts'
import { createSubscription } from '../subscriptions/create-subscription.ts'

describe('[contract 7.3] sendTestEvent', () => {
  let api: WebhookApi
  let receiver: WebhookReceiver
  beforeAll(async () => {
    api = await createWebhookApi()
  })
  afterAll(() => api.close())
  beforeEach(async () => {
    await api.clear()
    receiver = await createWebhookReceiver()
  })
  afterEach(() => receiver.close())

  async function register(change: object = {}): Promise<string> {
    const { body } = await api.register({
      webhook_url: `${receiver.origin}/hook`,
      event: 'EMAIL_EVENT',
      method: 'POST',
      headers: { 'X-Secret': 's3cret-value' },
      webhook_options: { events: { delivery: true } },
      ...change,
    })
    return String(body.webhook_id)
  }
  const send = (webhookId: string, event: string, key = 'a') =>
    api.call('POST', `/v1/webhook/${webhookId}/test`, { key, payload: { event } })
  const tested = async (webhookId: string, event: string) => {
    const { status, body } = await send(webhookId, event)
    expect([status, body, Check(sendTestEventAnswer, body)]).toEqual([200, body, true])
    return body.test as Record<string, unknown> & { request: { headers: string[]; body: string } }
  }
  const countRows = async () => {
    const tables = ['event', 'pending', 'open', 'delivery', 'attempt']
    const counts = tables.map((name) => `(select count(*) from webhooks_${name})`).join(' + ')
    const { rows } = await api.database.db.query<{ n: string }>(`select ${counts} as n`)
    return Number(rows[0]?.n)
  }

  it('makes the request of a delivery, with the headers of the webhook, and leaves no row', async () => {
    const webhookId = await register()
    receiver.setScript([{ status: 202, body: 'thanks s3cret-value' }])
    const test = await tested(webhookId, 'MAIL_DELIVERED')
    expect(test).toMatchObject({ accepted: true, status: 202, error: null })
    expect(test.duration_ms).toEqual(expect.any(Number))
    expect(test.timings).toMatchObject({ total_ms: expect.any(Number) })
    // What the receiver repeats of the secret is not shown.
    expect(JSON.stringify(test)).not.toContain('s3cret-value')
    const [request] = receiver.requests
    expect(request?.path).toBe('/hook')
    expect(request?.header('x-secret')).toBe('s3cret-value')
    expect(request?.header('traceparent')).toMatch(/^00-/)
    expect(test.request.body).toBe(request?.body.toString())
    expect(test.request.headers).toContain('X-Secret')
    expect(request?.json).toMatchObject([
      { event: 'MAIL_DELIVERED', success: true, details: { webhook_id: webhookId, test: true } },
    ])
    expect(await countRows()).toBe(0)
  })

  it('tells of a refusal, a redirect and a receiver that is away, as of a delivery', async () => {
    const webhookId = await register()
    receiver.setScript([500, { status: 302, headers: { location: 'https://example.com/' } }])
    expect(await tested(webhookId, 'MAIL_BOUNCE')).toMatchObject({ accepted: false, status: 500 })
    expect(await tested(webhookId, 'MAIL_BOUNCE')).toMatchObject({ accepted: false, status: 302 })
    await receiver.close()
    expect(await tested(webhookId, 'MAIL_BOUNCE')).toMatchObject({
      ...{ accepted: false, status: null, response: null },
      error: expect.stringMatching(/\w+: /),
    })
    const { rows } = await api.database.db.query('select fail_count, state from webhooks_stream')
    expect(rows).toEqual([{ fail_count: 0, state: 'idle' }])
  })

  it('is sent to a webhook that is paused or inactive, whatever its switches say', async () => {
    const webhookId = await register()
    await api.call('POST', `/v1/webhook/${webhookId}/pause`)
    expect(await tested(webhookId, 'MAIL_OPENED')).toMatchObject({ accepted: true })
    await api.update({ event: 'EMAIL_EVENT', active: false })
    expect(await tested(webhookId, 'PHISHING')).toMatchObject({ accepted: true })
  })

  it('is one object for a webhook of a mailbox or of domains', async () => {
    const domains = await register({ event: 'DOMAIN_VERIFICATION', webhook_options: undefined })
    await tested(domains, 'DOMAIN_VERIFICATION')
    const owner = 'imap_01JD4M8W6ZQ3V5T7X9Y2A4C6E8'
    const { webhookId } = await api.database.db.transaction((tx) =>
      createSubscription(tx, testKeyRing, {
        ...{ tenantId: 'tn_a', event: 'INCOMING', owner },
        ...{ url: receiver.origin, headers: [], toggles: undefined },
      }),
    )
    await tested(webhookId, 'INCOMING_EMAIL')
    expect(receiver.requests[1]?.json).toMatchObject({
      event: 'INCOMING_EMAIL',
      details: { mailer_id: owner, test: true },
    })
    expect(receiver.requests[0]?.json).toMatchObject({ event: 'DOMAIN_VERIFICATION' })
  })

  it('answers 400 to an event that the webhook does not take, and names those that it takes', async () => {
    const webhookId = await register()
    for (const event of ['INCOMING_EMAIL', 'DOMAIN_VERIFICATION', 'IMAP_ERROR'])
      expect(await send(webhookId, event)).toMatchObject({
        status: 400,
        body: {
          errors: [{ path: '/event', message: expect.stringContaining('MAIL_DELIVERED, ') }],
        },
      })
    for (const event of ['EMAIL_EVENT', ''])
      expect(await send(webhookId, event)).toMatchObject({
        status: 400,
        body: { errors: [{ path: '/event' }] },
      })
    expect(receiver.requests).toHaveLength(0)
  })

  it('answers 404 for a webhook of another tenant, and 403 to a key without the scope', async () => {
    const webhookId = await register()
    expect(await send(webhookId, 'MAIL_DELIVERED', 'b')).toMatchObject({
      status: 404,
      body: { code: 'webhook_not_found' },
    })
    expect((await send(webhookId, 'MAIL_DELIVERED', 'reader')).status).toBe(403)
    expect(receiver.requests).toHaveLength(0)
  })

  it('keeps the guard of addresses: one that is no longer allowed is not connected to', async () => {
    const webhookId = await register()
    await api.database.db.query(`update webhooks_subscription set url = 'https://10.1.2.3/'`)
    expect(await tested(webhookId, 'MAIL_DELIVERED')).toMatchObject({
      accepted: false,
      error: expect.stringContaining('address_refused'),
    })
  })

  it('answers 429 beyond its rate, and 409 while the service sends nothing', async () => {
    const limit = createRateLimit({ name: 'webhook-tests', usesMax: 1, windowS: 60 })
    for (const [change, status, code] of [
      [{ limit }, 429, 'rate_limited'],
      [{ isSendingPaused: true }, 409, 'conflict'],
    ] as const) {
      const other = await createWebhookApi({}, { tests: change })
      const registered = await other.register({
        webhook_url: receiver.origin,
        event: 'EMAIL_EVENT',
        method: 'POST',
        webhook_options: { events: { delivery: true } },
      })
      const path = `/v1/webhook/${registered.body.webhook_id}/test`
      const payload = { event: 'MAIL_DELIVERED' }
      await other.call('POST', path, { payload })
      expect(await other.call('POST', path, { payload })).toMatchObject({ status, body: { code } })
      await other.close()
    }
    expect(receiver.requests).toHaveLength(1)
  })
})
