import { deleteWebhookAnswer } from '@postrider/contract'
import { createWebhookReceiver, type WebhookReceiver } from '@postrider/testkit'
import { Check } from 'typebox/value'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createWebhookApi, type WebhookApi } from '../../../test/webhook-api.ts'

let api: WebhookApi
let receiver: WebhookReceiver
beforeAll(async () => {
  api = await createWebhookApi()
  receiver = await createWebhookReceiver()
})
const registration = () => ({
  webhook_url: `${receiver.origin}/hook`,
  event: 'EMAIL_EVENT',
  method: 'POST',
  webhook_options: { events: { delivery: true } },
})
beforeEach(() => api.register(registration()))
afterEach(() => api.clear())
afterAll(async () => {
  await api.close()
  await receiver.close()
})

const remove = (key?: string) => api.delete({ event: 'EMAIL_EVENT' }, key)
async function refusal(body: object | string, key?: string) {
  const answer = await api.delete(body, key)
  expect(await api.stored()).toBeDefined()
  return answer
}

describe('deleteWebhook: 200', () => {
  it('[4.2] says that the webhook was deleted, and the list is without it', async () => {
    const answer = await remove()
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual({ success: true, message: 'Webhook Deleted' })
    expect(Check(deleteWebhookAnswer, answer.body)).toBe(true)
    expect((await api.list()).body.webhooks).toEqual([])
  })

  it('wakes its stream at once to discard waiting events, whatever the back-off', async () => {
    const key = { tenantId: 'tn_a', webhookId: (await api.stored())?.webhook_id }
    await api.database.db.query(`update webhooks_stream set not_before = 'infinity'`)
    await remove()
    expect(api.woken).toMatchObject([key])
    const { rows } = await api.database.db.query(
      `select state from webhooks_stream where webhook_id = $1 and not_before < now()`,
      [key.webhookId],
    )
    expect(rows).toEqual([{ state: 'active' }])
  })

  it('wakes its stream also when it is paused', async () => {
    await api.database.db.query(`update webhooks_stream set paused_at = now()`)
    await remove()
    const { rows } = await api.database.db.query(`select state, paused_at from webhooks_stream`)
    expect(rows).toEqual([{ state: 'active', paused_at: null }])
  })

  it('frees the event type for a registration under a new id', async () => {
    const before = await api.stored()
    await remove()
    const answer = await api.register(registration())
    expect(answer.status).toBe(201)
    expect(answer.body.webhook_id).not.toBe(before?.webhook_id)
  })

  it('leaves the webhook of the other event type and of other tenants alone', async () => {
    await api.register({
      ...registration(),
      event: 'DOMAIN_VERIFICATION',
      webhook_options: undefined,
    })
    await api.register(registration(), 'b')
    await remove()
    expect(await api.stored()).toBeUndefined()
    expect(await api.stored('tn_a', 'DOMAIN_VERIFICATION')).toBeDefined()
    expect(await api.stored('tn_b')).toBeDefined()
  })

  it('accepts a key with the scope webhooks', async () => {
    expect((await remove('webhooks')).status).toBe(200)
  })

  it('succeeds for one of two concurrent deletions', async () => {
    const answers = await Promise.all([remove(), remove()])
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 404])
  })
})

describe('deleteWebhook: 400', () => {
  it.each([
    ['/event', {}],
    ['/event', { event: 'SMTP_ERROR' }],
    ['/event', { event: ['EMAIL_EVENT'] }],
    ['/webhook_id', { event: 'EMAIL_EVENT', webhook_id: 'wh_1' }],
  ])('names the invalid field: %s in %j', async (path, body) => {
    const answer = await refusal(body)
    expect(answer).toMatchObject({ status: 400, body: { code: 'validation_failed' } })
    expect(answer.body.errors?.map((error) => error.path)).toEqual([path])
  })

  it('refuses a body that is not JSON', async () => {
    expect(await refusal('x')).toMatchObject({ status: 400, body: { code: 'invalid_json' } })
  })
})

describe('deleteWebhook: 401', () => {
  it('refuses a request without a known key', async () => {
    expect((await refusal({ event: 'EMAIL_EVENT' }, '')).status).toBe(401)
    expect((await refusal({ event: 'EMAIL_EVENT' }, 'nobody')).status).toBe(401)
  })
})

describe('deleteWebhook: 403', () => {
  it.each(['reader', 'sender'])('refuses a key of another scope: %s', async (key) => {
    expect((await refusal({ event: 'EMAIL_EVENT' }, key)).status).toBe(403)
  })
})

describe('deleteWebhook: 404', () => {
  it('refuses an event type that is not registered', async () => {
    const answer = await refusal({ event: 'DOMAIN_VERIFICATION' })
    expect(answer).toMatchObject({
      status: 404,
      body: { code: 'webhook_not_found', message: 'Webhook Not Found' },
    })
  })

  it('refuses a webhook of another tenant', async () => {
    expect((await refusal({ event: 'EMAIL_EVENT' }, 'b')).status).toBe(404)
  })
})

describe('deleteWebhook: 415', () => {
  it('refuses another content type', async () => {
    const answer = await api.call('DELETE', '/v1/webhook/delete', {
      payload: '{"event":"EMAIL_EVENT"}',
      headers: { 'content-type': 'text/plain' },
    })
    expect(answer.status).toBe(415)
    expect(await api.stored()).toBeDefined()
  })
})
