import { listWebhooksAnswer, subscriptionKeys } from '@postrider/contract'
import { createWebhookReceiver, type WebhookReceiver } from '@postrider/testkit'
import { Check } from 'typebox/value'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { createWebhookApi, type WebhookApi } from '../../../test/webhook-api.ts'

let api: WebhookApi
let receiver: WebhookReceiver
beforeAll(async () => {
  api = await createWebhookApi()
  receiver = await createWebhookReceiver()
})
afterEach(() => api.clear())
afterAll(async () => {
  await api.close()
  await receiver.close()
})

const email = () => ({
  webhook_url: `${receiver.origin}/hook`,
  event: 'EMAIL_EVENT',
  method: 'POST',
  headers: { 'X-Secret': 'canary', 'x-Other': 'canary' },
  webhook_options: { events: { open: true, imap_error: true } },
})
const domain = () => ({
  webhook_url: `${receiver.origin}/domains`,
  event: 'DOMAIN_VERIFICATION',
  method: 'POST',
})

describe('listWebhooks: 200', () => {
  it('answers an empty list when nothing is registered', async () => {
    const answer = await api.list()
    expect(answer).toMatchObject({ status: 200, body: { success: true, webhooks: [] } })
  })

  it('[4.2] shows every field of each webhook, newest first, and only names of headers', async () => {
    const first = await api.register(email())
    const second = await api.register(domain())
    const { status, body } = await api.list()
    expect(status).toBe(200)
    expect(Check(listWebhooksAnswer, body)).toBe(true)
    const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
    const events = Object.fromEntries(
      subscriptionKeys.map((key) => [key, key === 'open' || key === 'imap_error']),
    )
    expect(body.webhooks).toEqual([
      {
        webhook_id: second.body.webhook_id,
        event: 'DOMAIN_VERIFICATION',
        url: `${receiver.origin}/domains`,
        method: 'POST',
        active: true,
        headers_present: [],
        created_at: time,
        updated_at: time,
      },
      {
        webhook_id: first.body.webhook_id,
        event: 'EMAIL_EVENT',
        url: `${receiver.origin}/hook`,
        method: 'POST',
        active: true,
        options: { events },
        headers_present: ['X-Secret', 'x-Other'],
        created_at: time,
        updated_at: time,
      },
    ])
    expect(Object.keys(events)).toHaveLength(12)
    expect(JSON.stringify(body)).not.toContain('canary')
  })

  it('says of a webhook that it is paused', async () => {
    const { body } = await api.register(email())
    await api.register(domain())
    await api.database.db.query(
      `update webhooks_stream set paused_at = now() where webhook_id = $1`,
      [body.webhook_id],
    )
    const listed = await api.list()
    expect(Check(listWebhooksAnswer, listed.body)).toBe(true)
    expect(listed.body.webhooks).toMatchObject([{}, { paused: true, active: true }])
    expect(listed.body).not.toMatchObject({ webhooks: [{ paused: expect.anything() }, {}] })
  })

  it('leaves out webhooks of another tenant', async () => {
    await api.register(email())
    expect((await api.list('b')).body.webhooks).toEqual([])
  })

  it.each(['webhooks', 'reader'])('accepts a key with the scope %s', async (key) => {
    expect((await api.list(key)).status).toBe(200)
  })
})

describe('listWebhooks: 400', () => {
  it('refuses an unknown query parameter', async () => {
    const answer = await api.call('GET', '/v1/webhook?event=EMAIL_EVENT')
    expect(answer).toMatchObject({ status: 400, body: { errors: [{ path: '/event' }] } })
  })
})

describe('listWebhooks: 401', () => {
  it('refuses a request without a known key', async () => {
    expect((await api.list('')).status).toBe(401)
    expect((await api.list('nobody')).status).toBe(401)
  })
})

describe('listWebhooks: 403', () => {
  it('refuses a key of another scope', async () => {
    expect(await api.list('sender')).toMatchObject({ status: 403, body: { code: 'forbidden' } })
  })
})
